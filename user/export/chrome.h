/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files of the export to Chrome's trace events share this: a document that is being written.
 * A thread that is none, such as a CPU, has a number above those that the kernel gives.
 */
#ifndef CLEW_EXPORT_CHROME_H
#define CLEW_EXPORT_CHROME_H

#include "export/export.h"
#include "format/json.h"

/* Processes that are none, and their threads behind them. */
enum chrome_place {
	CHROME_CPUS = 1 << 22,
	CHROME_WHY = CHROME_CPUS + (1 << 17),
	CHROME_LOST = CHROME_WHY + (1 << 17),
	CHROME_DISKS = CHROME_LOST + 1, /* a process for each disk, from here on */
};

struct chrome {
	const struct clew_export *export;
	const struct clew_trace *trace;
	struct clew_json json;
	bool counting; /* nothing is written */
	size_t count;  /* events */
};

/* An event to be opened. `end`: CLEW_TIME_OPEN for a slice without an end. */
struct chrome_event {
	const char *name;
	const char *category;
	uint64_t start;
	uint64_t end;
	uint32_t pid;
	uint32_t tid;
};

/* Opens a slice and its arguments; false: it is only counted. */
bool chrome_open(struct chrome *it, const struct chrome_event *event);
void chrome_close(struct chrome *it);
/* Writes the begin or the end of a flow, which belongs to the slice that was written last. */
void chrome_flow(struct chrome *it, uint64_t number, bool ends, const char *type, uint64_t at,
		 uint32_t pid, uint32_t tid);
/* Names a process, or if `tid` is not 0 a thread. */
void chrome_name(struct chrome *it, uint32_t pid, uint32_t tid, const char *name);
/* The process of a task. */
static inline uint32_t chrome_pid(const struct clew_trace_task *task)
{
	return task->pid ? task->pid : task->tid;
}

/* ---- chrome_tasks.c: what threads did, and by whom they went on ---- */

int chrome_tasks(struct chrome *it);
/* Where arrows begin; these come before their ends, as both may be at one moment. */
int chrome_causes(struct chrome *it);
/* Where those end that end at no time in which a thread is ready. */
void chrome_effects(struct chrome *it);

/* ---- chrome_other.c: CPUs, requests, operations that are explained, losses ---- */

int chrome_other(struct chrome *it);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lanes of the timeline: each CPU, and each task that ran or waited. A lane is a sequence of
 * spans in order of time that do not overlap.
 *
 * The page's data has the lanes one after the other, each in columns: for each span its start
 * since the end of the one before, its length (both 4 bytes, little-endian, in units of
 * `unit` ns), its class, its text (2 bytes), and the number + 1 of another lane (2 bytes): the
 * task that ended a wait, or the task that a CPU ran; 0: none. Each byte of a column is a column
 * of its own ("byte planes").
 */
#ifndef CLEW_PAGE_LANES_H
#define CLEW_PAGE_LANES_H

#include "base/map.h"
#include "explain/chosen.h"
#include "page/packed.h"
#include "page/texts.h"

struct lane {
	uint32_t task; /* serial; CLEW_NO_TASK: a CPU */
	uint32_t job; /* number + 1 of the logical span that it is of instead of the task; 0 none */
	uint16_t cpu; /* of a CPU's lane */
	bool on_path; /* an explanation is about it */
	uint32_t spans; /* at most; after lanes_write() as many as there are */
};

struct lanes {
	const struct clew_trace *trace;
	uint64_t from, to, unit; /* ns */
	struct vector lanes;	 /* struct lane, CPUs first */
	struct map of_task;	 /* by serial, LANES_TASKS: the number of its lane; of spans, too */
	size_t cpus;		 /* lanes of CPUs */
	size_t left_out;	 /* tasks that ran and have no lane */
	uint64_t spans;		 /* written */
};

/* Keys of maps are serials of tasks, or numbers of logical spans. */
enum { LANES_TASKS, LANES_JOBS };

/*
 * Chooses lanes of at most `most` spans, about, for from..to: CPUs, the tasks of `paths`
 * (a map with keys as above) and its logical spans, then those with most spans. 0 or -ENOMEM.
 * lanes_done() frees them.
 */
int lanes_choose(struct lanes *lanes, const struct clew_trace *trace,
		 const struct clew_chosen *chosen, const struct map *paths, uint64_t from,
		 uint64_t to, uint64_t most);
void lanes_done(struct lanes *lanes);

const struct lane *lanes_at(const struct lanes *lanes, size_t number);
/* 1 + the number of a task's lane; 0: it has none. */
uint32_t lanes_of_task(const struct lanes *lanes, uint32_t serial);
/* The same of a logical span, by its number. */
uint32_t lanes_of_job(const struct lanes *lanes, uint32_t job);

/* Writes the spans of all lanes. 0 or -ENOMEM. */
int lanes_write(struct lanes *lanes, struct texts *texts, struct packed *packed,
		void (*progress)(void *context, double done), void *context);

#endif

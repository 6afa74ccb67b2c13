/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files of the export to CTF share this: a trace in the Common Trace Format 1.8, with the
 * names that LTTng gives to the kernel's events. It has a stream, which is a file, for each CPU.
 *
 * Times are ns of CLOCK_MONOTONIC. All streams cover the same time, from `begin` to `end`, because
 * readers look only at the time that all have in common.
 */
#ifndef CLEW_EXPORT_CTF_H
#define CLEW_EXPORT_CTF_H

#include "export/export.h"

#define CTF_UUID_SIZE 16
#define CTF_NO_TEXT   "-"
#define CTF_CALLS     1024 /* numbers of system calls that have events */

enum ctf_event {
	CTF_SCHED_SWITCH,
	CTF_SCHED_WAKING,
	CTF_SCHED_WAKEUP,
	CTF_SCHED_WAKEUP_NEW,
	CTF_SCHED_FORK,
	CTF_SCHED_EXIT,
	CTF_SCHED_FREE,
	CTF_IRQ_ENTRY,
	CTF_IRQ_EXIT,
	CTF_SOFTIRQ_ENTRY,
	CTF_SOFTIRQ_EXIT,
	CTF_TIMER_ENTRY,
	CTF_TIMER_EXIT,
	CTF_IPI_ENTRY,
	CTF_IPI_EXIT,
	CTF_BLOCK_INSERT,
	CTF_BLOCK_ISSUE,
	CTF_BLOCK_COMPLETE,
	CTF_STATEDUMP_START,
	CTF_STATEDUMP_PROCESS,
	CTF_STATEDUMP_DISK,
	CTF_STATEDUMP_END,
	CTF_CLEW_WAIT,
	CTF_FIRST_CALL, /* two for each system call: its entry and its exit */
};
#define CTF_EVENT_COUNT (CTF_FIRST_CALL + 2 * CTF_CALLS)

/* The value of a field: a number or, of a text, a string. A text that is NULL or empty is written
 * as CTF_NO_TEXT. */
struct ctf_value {
	int64_t number;
	const char *text;
};
#define CTF_NUMBER(value)                                                                          \
	{                                                                                          \
		.number = (int64_t)(value)                                                         \
	}
#define CTF_STRING(value)                                                                          \
	{                                                                                          \
		.text = (value)                                                                    \
	}

enum ctf_type {
	CTF_NAME = 1, /* 16 bytes, as the kernel has names of tasks */
	CTF_TEXT,
	CTF_I32,
	CTF_U32,
	CTF_I64,
	CTF_U64,
};

struct ctf_field {
	const char *name;
	enum ctf_type type; /* 0 ends a list */
};
#define CTF_FIELDS_MOST 12

/* The stream that is being written. */
struct ctf_stream {
	FILE *out; /* NULL: none is */
	uint16_t cpu;
	uint8_t *packet; /* its head, then its events */
	size_t used;	 /* bytes of it */
	uint64_t begin;	 /* of the packet */
	uint64_t last;	 /* time of the last event, or `begin` */
	uint64_t sequence;
	uint64_t discarded; /* events that are missing in the stream up to the packet's end */
};

struct ctf {
	const struct clew_export *export;
	const struct clew_trace *trace;
	uint8_t uuid[CTF_UUID_SIZE];
	uint64_t begin;
	uint64_t end;
	struct ctf_stream stream;
	bool called[CTF_CALLS]; /* the system call has events in the trace */
	/* CTF_CALL_* of each sleep. */
	uint8_t *calls;
};

/* ---- ctf_stream.c: streams, packets, and events in them ---- */

/** Begins the stream of a CPU. 0 or -errno. */
int ctf_stream_open(struct ctf *it, uint16_t cpu);
/** Ends it at the trace's end. 0 or -errno; without an open stream it does nothing. */
int ctf_stream_close(struct ctf *it);
/**
 * Writes an event, the fields of which have these values in order. Its time is not before that of
 * the one before it: one that is gets that one's.
 */
void ctf_put(struct ctf *it, unsigned event, uint64_t at, const struct ctf_value *values);
#define CTF_PUT(it, event, at, ...)                                                                \
	ctf_put(it, event, at, (const struct ctf_value[]){__VA_ARGS__ __VA_OPT__(, ){}})
/** Ends the packet at a moment. */
void ctf_cut(struct ctf *it, uint64_t at);

/* ---- ctf_metadata.c: what the streams hold ---- */

const struct ctf_field *ctf_fields(unsigned event);
/** Makes the trace's identity. */
void ctf_identify(struct ctf *it);
/** Writes the file "metadata" after all events. 0 or -errno. */
int ctf_metadata(const struct ctf *it);

/* ---- ctf_events.c: all streams ---- */

int ctf_events(struct ctf *it);

/* ---- ctf_tasks.c: tasks and disks as they were at the trace's begin; who began and ended ---- */

void ctf_statedump(struct ctf *it);
void ctf_fork(struct ctf *it, const struct clew_trace_task *task, uint64_t at);
void ctf_exit(struct ctf *it, const struct clew_trace_task *task, uint64_t at);
/** LTTng's number of a task's priority. */
int ctf_priority(const struct ctf *it, uint32_t serial, uint64_t at);

/* ---- ctf_calls.c: system calls, as far as waits in them show ---- */

#define CTF_CALL_BEGINS 0x01 /* the first wait of its call */
#define CTF_CALL_ENDS	0x02 /* the last wait of its call */

/** Finds out which waits begin and end calls. 0 or -ENOMEM. */
int ctf_calls_find(struct ctf *it);
/** The entry of the call that a task sleeps in when it leaves its CPU at the end of a run. */
void ctf_call_entry(struct ctf *it, const struct clew_run *run);
/** The exit of the call of the last sleep, when a task comes onto a CPU. */
void ctf_call_exit(struct ctf *it, const struct clew_run *run);
/** The arguments that readers ask for of a call. */
const struct ctf_field *ctf_call_fields(unsigned call, bool exit);

/* ---- ctf_wakes.c: waits, and who woke whom ---- */

/** The CPU that a wake is shown on. *ret_before: it comes before a switch at the same time. */
uint16_t ctf_wake_place(const struct ctf *it, const struct clew_sleep *sleep, bool *ret_before);
void ctf_wake(struct ctf *it, const struct clew_sleep *sleep, uint64_t at);
void ctf_wait(struct ctf *it, const struct clew_sleep *sleep, uint64_t at);

#endif

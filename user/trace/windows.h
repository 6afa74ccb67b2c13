/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A long capture in windows: each is looked at in a process of its own, so that memory does not
 * grow with the capture, and several CPUs have something to do.
 *
 * One process reads the whole capture and keeps only what tasks, files and others are called. Some
 * time before each window it forks: the new process knows what the builder knows by then, such as
 * since when each thread waits, reads on, and keeps what overlaps the window. It leaves its
 * findings in shared memory.
 *
 * A wait belongs to the window in which it ends, and is whole there, however long it was. Other
 * events are only known from some time before the window on.
 */
#ifndef CLEW_TRACE_WINDOWS_H
#define CLEW_TRACE_WINDOWS_H

#include "base/shared.h"
#include "trace/trace.h"

/* ns, CLOCK_MONOTONIC. */
struct clew_trace_window {
	uint64_t from;	/* what ends at this moment or later, */
	uint64_t to;	/* and before this one, belongs to the window; UINT64_MAX: the last one */
	uint64_t kept;	/* from here on the trace has everything, */
	uint64_t known; /* and from here on all runs: the same moment or an earlier one */
	bool alone;	/* it is all there is, and its trace is there until the answer is given */
};

struct clew_windows_taker {
	/*
	 * Looks at a window, in a process of its own unless it is alone: what it finds out is to be
	 * in `out` and begins at out->root. It must neither write to a stream nor exit. 0 or
	 * -errno. NULL: there are no windows, and only the trace of all names is made.
	 */
	int (*look)(void *context, const struct clew_trace *trace,
		    const struct clew_trace_window *window, struct shared *out);
	/* Adds what look() left of one window, in the calling process, in order of time. 0 or
	 * -errno. */
	int (*add)(void *context, const struct shared *found);
	/*
	 * Called for each finding, if not NULL. Before a window this is in the calling process.
	 * From the fork on it is in the window's process, which has a copy of `context`. `here`:
	 * the builder emitted the finding within the window; this holds in exactly one process.
	 * 0 or -errno.
	 */
	int (*tell)(void *context, const struct clew_trace *trace,
		    const struct clew_finding *finding, bool here);
	void *context;
	bool models;  /* it makes causal traces of windows, which take much more memory */
	bool samples; /* the trace of all names has all samples of what ran, too */
	/* It has all waits that separate operations, or are for answers, and for operations' kinds
	   it is as a trace in one piece (explain/kinds.h). Other waits are without meaning there.
	 */
	bool works;
};

struct clew_windows_options {
	size_t size;
	uint64_t records;    /* a window has about so many; 0: so many that two take about 1 GB */
	uint64_t works_most; /* so many waits that may separate operations are kept, 0: 2 million */
	unsigned processes;  /* at a time, beside the calling one; 0: two, or one on one CPU */
	uint32_t drop_types; /* as in clew_trace_options */
	void (*progress)(void *context, double done); /* may be NULL */
	void *progress_context;
};

/* The time until which a trace of all names has the waits that separate operations, ns: all more
 * were too many for memory. UINT64_MAX: it has them all. */
uint64_t clew_trace_works_until(const struct clew_trace *trace);

/* Has a part of a capture know from `works`, a trace of all names that has the waits that separate
 * operations, which of its waits are rests or in exchanges. 0 or -ENOMEM. */
int clew_trace_take_works(struct clew_trace *trace, const struct clew_trace *works);

/* Looks at a trace that was read in one piece: that is one window, in the calling process. tell()
 * is not called, as such a trace has all findings. 0 or -errno. */
int clew_windows_alone(const struct clew_trace *trace, const struct clew_windows_taker *taker);

/* True if a capture is so long that it is not to be read in one piece. `records`: as in struct
 * clew_windows_options; `models`: as in struct clew_windows_taker. */
bool clew_windows_pay(const struct clew_reader *reader, uint64_t records, bool models);

/* True if something that ended then (CLEW_TIME_OPEN: it did not) belongs to a window. */
static inline bool clew_window_counts(const struct clew_trace_window *window, uint64_t end)
{
	return end >= window->from && (end < window->to || window->to == UINT64_MAX);
}

/*
 * Looks at all windows of a capture that was opened and of which nothing was read yet. *ret_names
 * is a trace that has all names of the capture, but nothing that happened. `taker`: NULL if only
 * this is wanted. 0 or -errno; -ECHILD: a process was killed.
 */
int clew_windows_run(struct clew_reader *reader, const struct clew_windows_options *options,
		     const struct clew_windows_taker *taker, struct clew_trace **ret_names);

#endif

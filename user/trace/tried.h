/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attempts in vain: a thread tries something again and again, and sleeps by its own choice in
 * between. Such sleeps are waits for what it tries: for the lock on a file that another one has,
 * for somebody to listen where it connects, or, in a JVM, for the last thread to stop at a
 * safepoint.
 */
#ifndef CLEW_TRACE_TRIED_H
#define CLEW_TRACE_TRIED_H

#include "trace/trace.h"

enum clew_tried_what { CLEW_TRIED_LOCK, CLEW_TRIED_CONNECT, CLEW_TRIED_SAFEPOINT };

/* A series of sleeps, at least two. Each follows an attempt that failed, all of the same thing. */
struct clew_tried {
	enum clew_tried_what what;
	uint32_t task;
	uint32_t times; /* attempts that failed; more than one may precede a sleep */
	uint32_t sleeps;
	uint64_t from, to;	       /* from the first attempt to the end of the last sleep */
	const struct clew_failed *one; /* the first attempt; NULL for a safepoint */
	/* The one who had the lock at most of the attempts, who listened there later, or who did
	   not stop; CLEW_NO_TASK unknown. */
	uint32_t other;
	uint64_t stopped; /* for a safepoint: when that one stopped, ns */
};

/* The series that a sleep is a part of; NULL: none. */
const struct clew_tried *clew_trace_tried(const struct clew_trace *trace,
					  const struct clew_sleep *sleep);
/*
 * The task that kept a sleep's thread from what it tried: the one who had the lock at the attempt
 * before, who listened there later, or who did not stop. `ret_evidence`: OBSERVED if it still had
 * it at the next attempt, or for one who listened; else CANDIDATE. CLEW_NO_TASK: unknown, or the
 * sleep is in no series.
 */
uint32_t clew_trace_tried_other(const struct clew_trace *trace, const struct clew_sleep *sleep,
				uint8_t *ret_evidence);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The waits of a long capture that may be for locks, from all of its windows. */
#ifndef CLEW_CLI_WINDOWED_LOCK_WAITS_H
#define CLEW_CLI_WINDOWED_LOCK_WAITS_H

#include "base/vector.h"
#include "explain/latency_find.h"

struct lock_waits {
	struct vector windows; /* struct clew_trace_window */
	struct vector sleeps;  /* struct clew_sleep */
	struct vector spins;   /* struct clew_spin */
	bool timed;
	struct vector sleep_times; /* struct clew_lock_time: one for each sleep, */
	struct vector spin_times;  /* and for each spin, if `timed` */
	struct arena arena;	   /* what the sleeps point to */
};

/*
 * Gathers them, with their times if `timed`. *ret_names: a trace with the capture's names. Free
 * the result with lock_waits_done() in any case. Returns 0 or, after clew_fail(), an exit status.
 */
struct clew_reader;
int lock_waits_gather(const char *operand, struct clew_reader *reader, bool timed,
		      struct lock_waits *ret_waits, struct clew_trace **ret_names);
void lock_waits_done(struct lock_waits *waits);

struct clew_lock_waiting lock_waits_waiting(const struct lock_waits *waits);
struct clew_lock_times lock_waits_times(const struct lock_waits *waits);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The waits of a trace that may be for locks, gathered from all of its windows. */
#ifndef CLEW_EXPLAIN_LOCK_WAITS_H
#define CLEW_EXPLAIN_LOCK_WAITS_H

#include "base/vector.h"
#include "explain/latency_find.h"
#include "trace/windows.h"

struct lock_waits {
	struct vector windows;		/* struct clew_trace_window */
	struct clew_lock_waiting alone; /* those of a window that is alone, in its trace */
	struct vector sleeps;		/* struct clew_sleep */
	struct vector spins;		/* struct clew_spin */
	bool timed;
	struct vector sleep_times; /* struct clew_lock_time: one for each sleep, */
	struct vector spin_times;  /* and for each spin, if `timed` */
	struct arena arena;	   /* what the sleeps point to */
};

/* `timed`: with their times, unless a window is alone, whose trace has them. Free them with
 * lock_waits_done() in any case. */
void lock_waits_begin(struct lock_waits *waits, bool timed);
/* For clew_windows_run() and clew_windows_alone(). */
struct clew_windows_taker lock_waits_taker(struct lock_waits *waits);
void lock_waits_done(struct lock_waits *waits);

static inline bool lock_waits_alone(const struct lock_waits *waits)
{
	const struct clew_trace_window *window = waits->windows.data;

	return waits->windows.count == 1 && window->alone;
}

struct clew_lock_waiting lock_waits_waiting(const struct lock_waits *waits);
struct clew_lock_times lock_waits_times(const struct lock_waits *waits);

#endif

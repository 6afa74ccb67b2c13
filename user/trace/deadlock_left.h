/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The deadlocks of windows, which the trace of all names takes: each belongs to the window in
 * which a signal ended it, and one that nothing ended to the last window. The wait of a step has
 * neither links nor holders there.
 */
#ifndef CLEW_TRACE_DEADLOCK_LEFT_H
#define CLEW_TRACE_DEADLOCK_LEFT_H

#include "base/shared.h"
#include "trace/deadlock.h"
#include "trace/windows.h"

/* A task that is in a deadlock of the window, or waits for one. */
struct left_stuck {
	uint32_t task;	 /* serial */
	uint32_t number; /* of the deadlock, from 0 */
};

struct left_deadlocks {
	struct clew_deadlock *deadlocks;
	size_t count;
	struct left_stuck *stuck;
	size_t stuck_count;
};

/* Leaves a window's deadlocks in `out`. 0 or -ENOMEM. */
int trace_leave_deadlocks(const struct clew_trace *trace, const struct clew_trace_window *window,
			  struct shared *out, struct left_deadlocks *ret_left);
/* Takes those of the next window. 0 or -ENOMEM. */
int trace_take_deadlocks(struct clew_trace *names, const struct left_deadlocks *left);

#endif

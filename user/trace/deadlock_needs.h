/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tasks that may end the waits that are not over at a moment: internal to deadlock.c. */
#ifndef CLEW_TRACE_DEADLOCK_NEEDS_H
#define CLEW_TRACE_DEADLOCK_NEEDS_H

#include "base/map.h"
#include "trace/deadlock.h"

/* A task, or any thread of a process, that may end a wait. */
struct stuck_need {
	uint32_t serial;
	bool process;
	uint8_t role;	  /* enum clew_stuck_role */
	uint8_t evidence; /* enum clew_evidence */
};

/* The wait of a task and all that may end it: `count` needs; 0: it has no such wait, or not all of
 * them are known. */
struct stuck_wait {
	const struct clew_sleep *sleep;
	size_t first;
	size_t count;
};

struct stuck_needs {
	struct stuck_wait *waits; /* by the place of a task in the trace */
	struct stuck_need *needs;
	size_t count;
	size_t room;
};

/* The end of the trace, or the time of a pass. */
struct stuck_moment {
	const struct trace_pass *pass; /* whose records say what tasks sleep on */
	uint16_t number;	       /* its place in trace->passes */
	const struct map *users;       /* of each memory: the process, or UINT32_MAX for several */
};

/* map_done() in any case. 0 or -ENOMEM. */
int stuck_find_users(const struct clew_trace *trace, struct map *ret_users);
/* stuck_needs_done() in any case. 0 or -ENOMEM. */
int stuck_needs_find(const struct clew_trace *trace, const struct stuck_moment *moment,
		     struct stuck_needs *ret_needs);
void stuck_needs_done(struct stuck_needs *needs);

/* True if a task lives at the moment. */
bool stuck_lives(const struct stuck_moment *moment, const struct clew_trace_task *task);

/* The place of a task in the trace; SIZE_MAX: it has none. */
size_t stuck_place(const struct clew_trace *trace, uint32_t serial);

#endif

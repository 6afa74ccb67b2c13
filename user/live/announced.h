/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls that programs announce, from begin to end, as user/relate/activities.c has them for a
 * whole trace.
 *
 * Invariant: at most ANNOUNCED_MOST are open; beyond that all are forgotten.
 */
#ifndef CLEW_LIVE_ANNOUNCED_H
#define CLEW_LIVE_ANNOUNCED_H

#include "base/vector.h"
#include "builder/findings.h"

#define ANNOUNCED_MOST 65536u

struct announced_call {
	uint64_t begin, token;
	uint32_t task, process;
	bool is_async; /* its thread does other things meanwhile */
	char name[96]; /* INTERFACE.OPERATION; what does not fit is left out */
};

struct announced {
	struct vector calls; /* open ones, in order of begin */
};

void announced_init(struct announced *announced);
void announced_done(struct announced *announced);

/*
 * Takes an announcement of a task of that process. `ended` is called for each call that it ends,
 * which then began and ended in this order; the call is valid during that. 0, -ENOMEM, or what
 * `ended` returned below 0.
 */
int announced_take(struct announced *announced, const struct clew_announce *record,
		   uint32_t process,
		   int (*ended)(void *context, const struct announced_call *call, uint64_t end),
		   void *context);
/* The task has ended, and so have its calls, of which nothing is known. */
void announced_forget(struct announced *announced, uint32_t task);

#endif

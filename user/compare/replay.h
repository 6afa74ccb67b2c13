/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of threads in a causal trace, and how long they take in another run of it. */
#ifndef CLEW_COMPARE_REPLAY_H
#define CLEW_COMPARE_REPLAY_H

#include <clew/model.h>

#include "base/map.h"

/* The root spans of threads. */
struct replay_threads {
	const struct clew_model *model;
	struct map spans; /* a tid -> a root span, by number of those of that tid */
};

/* A moment of a thread: so far into an elementary span of it. */
struct replay_moment {
	uint32_t es;
	clew_time into;
};

/* An operation in the run that was recorded. */
struct replay_operation {
	uint32_t span; /* of its thread */
	struct replay_moment from, to;
};

/* replay_threads_done() in any case. 0 or -ENOMEM. */
int replay_threads_find(const struct clew_model *model, struct replay_threads *ret_threads);
void replay_threads_done(struct replay_threads *threads);
/*
 * Finds what a thread does in an interval, ns. An operation that begins or ends while its thread
 * waits begins behind that wait, or ends before it. False: no span of the thread has all of it, or
 * the thread does nothing then.
 */
bool replay_place(const struct replay_threads *threads, uint32_t tid, uint64_t from, uint64_t to,
		  struct replay_operation *ret_operation);
/* The time that it takes in that run, ns. */
clew_time replay_length(const struct clew_model *model, const struct replay_operation *operation);
/* The same in another run of the model, whose elementary spans have the same numbers. */
clew_time replay_length_in(const struct clew_model *model, const struct clew_model *run,
			   const struct replay_operation *operation);

#endif

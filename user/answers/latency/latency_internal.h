/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Groups of calls and of logical spans, which have each other as parents. */
#ifndef CLEW_ANSWERS_LATENCY_LATENCY_INTERNAL_H
#define CLEW_ANSWERS_LATENCY_LATENCY_INTERNAL_H

#include "answers/latency/latency.h"
#include "relate/relate.h"
#include "words/functions.h"
#include "words/remote.h"

/* A name with room for its texts. */
struct latency_name {
	struct clew_latency_name name;
	char place[4096 + 32];
	char number[16];
	char argument[CLEW_FUNCTION_TEXT + 32];
	char disk[CLEW_TEXT_SIZE];
	char peer[CLEW_REMOTE_NAME];
};

struct clew_latency_names {
	const struct clew_trace *trace;
	const struct clew_latency_options *options;
	struct clew_latency *latency;
	struct clew_latency_left_out *left_out;
	/* The task that is being read, its frames, and 1 + the group of each. */
	const struct clew_trace_task *task;
	const struct clew_trace_frame *frames;
	uint32_t *group_of;
	struct map calls; /* while it is recorded: parent's group and function -> group */
	/* Names of locks: the lock's address -> index, and a name's hash -> how many have it. */
	/* Logical spans; NULL: there are none. */
	struct clew_relations *relations;
	uint32_t *job_groups; /* by number: 1 + the group, 0 not placed yet */
	struct map lock_names, same_names;
	struct vector texts;	/* char *: of locks, and of classes of operations */
	struct map class_names; /* key of a class -> index */
};

/* ---- latency_frames.c ---- */

/* Adds what a task is at a moment, as far as it is known. */
void latency_take_properties(const struct clew_latency_names *names,
			     const struct clew_trace_task *task, uint64_t at,
			     struct latency_name *name);
/* The group of a frame, which its callers' groups are above. 0 or -ENOMEM. */
int latency_place_frame(struct clew_latency_names *names, const struct clew_trace_task *task,
			const struct clew_trace_frame *frame, uint32_t *ret_group);

/* True if a task ran a logical span at a moment, which it began at `since` or later: *ret_group is
 * the span's. */
bool latency_run_around(const struct clew_latency_names *names, uint32_t serial, uint64_t at,
			uint64_t since, uint32_t *ret_group);

/* ---- latency_jobs.c ---- */

/* Adds the logical spans of a trace, and gives them groups that calls can be below. 0 or -ENOMEM.
 */
int latency_jobs_gather(struct clew_latency_names *names);
void latency_jobs_done(struct clew_latency_names *names);

#endif

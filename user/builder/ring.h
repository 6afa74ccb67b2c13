/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * io_uring and libaio: submissions, completions and the waits for them.
 */
#ifndef CLEW_BUILDER_RING_H
#define CLEW_BUILDER_RING_H

#include "base/map.h"
#include "builder/findings.h"

struct clew_builder;
struct task;
struct wake;

struct ring_submission {
	uint64_t at;
	uint64_t ring;
	uint32_t task;
};

struct ring_completion {
	uint64_t at; /* when it was posted */
	uint64_t ring;
	uint32_t task; /* the task that posted it */
	struct ring_submission submission;
};

#define BUILD_RING_LOG 256u
struct ring_table {
	struct map submissions; /* (address of the request or user_data, ring) -> struct
				   ring_submission * */
	struct ring_completion log[BUILD_RING_LOG];
	uint32_t next;
	size_t memory;
};

int build_feed_ring(struct clew_builder *builder, const struct clew_ring *record);
/* The submission whose completion made this wake of `waiter`, which waits on `ring`; false: none is
 * known yet. */
bool build_ring_submission(const struct clew_builder *builder, const struct task *waiter,
			   uint64_t ring, const struct wake *wake, struct ring_submission *ret);
/* Keeps a sleep back until the woken task has posted its completions. */
int build_ring_keep(struct clew_builder *builder, struct task *task,
		    const struct clew_sleep *sleep);
/* Emits the sleep that is kept back for a task, if there is one. */
int build_ring_release(struct clew_builder *builder, struct task *task);
void build_rings_done(struct clew_builder *builder);
size_t build_rings_memory(const struct clew_builder *builder);

#endif

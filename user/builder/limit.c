/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bios that the I/O limit of a cgroup held back: whose they are, and since when.
 *
 * The submission of such a bio is not recorded. A task that waits for it has submitted it
 * before it fell asleep, so that the time of that sleep is the latest possible moment.
 */
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/task.h"
#include "builder/wake.h"

int build_feed_limit(struct clew_builder *builder, const struct clew_limit *record)
{
	struct block_limits *limits = &builder->blocks.limits;
	const uint32_t submitter =
		record->submitter ? build_task_by_tid(builder, record->submitter) : CLEW_NO_TASK;

	limits->latest[limits->next++ % BLOCK_LIMITS] = (struct block_limit){
		.bio = record->bio,
		.at = builder->now,
		.group = record->cgroup,
		.limited = record->limited,
		.submitter = submitter,
	};
	return 0;
}

void block_limit_take(struct clew_builder *builder, struct bio *bio)
{
	struct block_limits *limits = &builder->blocks.limits;

	for (unsigned i = 0; i < BLOCK_LIMITS; i++) {
		struct block_limit *limit = &limits->latest[i];
		const struct task *task;

		if (!limit->bio || limit->bio != bio->address)
			continue;
		limit->bio = 0;
		/* The records of one bio come together. */
		if (limit->at + BLOCK_LIMIT_NEAR < builder->now)
			continue;
		bio->released = builder->now;
		bio->group = limit->group;
		bio->limited = limit->limited;
		bio->task = limit->submitter;
		task = bio->task ? build_task_find(builder, bio->task) : NULL;
		if (task && task->state == TASK_SLEEPING)
			bio->queued = earlier(task->since, bio->released);
		return;
	}
}

void build_limit_awaited(struct clew_builder *builder, const struct wake *wake,
			 const struct clew_sleep *sleep)
{
	struct request *request;

	if (wake->cause.kind != CLEW_CAUSE_REQUEST || sleep->blind ||
	    !(sleep->flags & CLEW_WAIT_FLAG_IOWAIT))
		return;
	request = build_request_at(builder, wake->cause.object, wake->time);
	if (request && request->block.released && request->block.submitter == CLEW_NO_TASK &&
	    sleep->start < request->block.queued)
		request->block.queued = sleep->start;
}

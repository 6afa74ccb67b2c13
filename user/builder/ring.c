/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * io_uring: the submission that a wait on a ring was for. A completion is joined to its
 * submission by the request's address, else by the ring and user_data.
 *
 * The completion that ended a wait is posted by the waker just before the wake, or by
 * the woken task itself just after it. A wait whose completion is not known yet is
 * therefore kept back until its task posts one on that ring, or leaves the CPU.
 */
#include "builder/ring.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/task.h"
#include "builder/wake.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RING_MOST 262144u /* submissions remembered */
/* ns: how long before the wake its completion may be posted, as the poster may be preempted in
 * between; and how long after it. */
#define RING_BEFORE 100000000ull
#define RING_AFTER  100000ull

struct ring_wait {
	struct clew_sleep sleep;
	uint64_t ring;
	struct clew_link links[];
};

static uint32_t part_of(uint64_t ring)
{
	return (uint32_t)(ring * 0x9e3779b97f4a7c15ull >> 32);
}

static void forget_all(struct ring_table *table)
{
	for (size_t i = 0; i < table->submissions.capacity; i++)
		if (table->submissions.slots[i].used)
			free((void *)(uintptr_t)table->submissions.slots[i].value);
	map_done(&table->submissions);
	table->memory = 0;
}

static int remember(struct ring_table *table, uint64_t key, uint32_t part,
		    const struct ring_submission *submission)
{
	uint64_t *known = map_get(&table->submissions, key, part);
	struct ring_submission *copy;
	int r;

	if (known) {
		*(struct ring_submission *)(uintptr_t)*known = *submission;
		return 0;
	}
	if (table->submissions.count >= RING_MOST)
		forget_all(table);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *submission;
	r = map_set(&table->submissions, key, part, (uintptr_t)copy);
	if (r < 0)
		free(copy);
	else
		table->memory += sizeof(*copy);
	return r;
}

static const struct ring_submission *submission_of(const struct ring_table *table,
						   const struct clew_ring *record)
{
	const uint64_t *found =
		record->request ? map_get(&table->submissions, record->request, 0) : NULL;

	if (!found || ((const struct ring_submission *)(uintptr_t)*found)->ring != record->ring)
		found = map_get(&table->submissions, record->user_data, part_of(record->ring) | 1);
	return found ? (const struct ring_submission *)(uintptr_t)*found : NULL;
}

/* The task itself posted a completion on the ring that it had waited for. */
static int resolve_own(struct clew_builder *builder, struct task *task,
		       const struct ring_submission *submission)
{
	struct clew_sleep *sleep = &task->ring_wait->sleep;

	if (!build_dropped(builder, CLEW_EDGE_IO_URING)) {
		sleep->edge_type = CLEW_EDGE_IO_URING;
		sleep->edge_evidence = CLEW_EVIDENCE_EXACT;
		sleep->from = submission->task;
		sleep->from_at = submission->at;
	}
	return build_ring_release(builder, task);
}

int build_feed_ring(struct clew_builder *builder, const struct clew_ring *record)
{
	struct ring_table *table = &builder->rings;
	const struct ring_submission *known;
	struct task *task;
	int r;

	if (record->header.flags == CLEW_RING_SUBMIT) {
		struct ring_submission submission = {
			.at = builder->now, .ring = record->ring, .task = record->task};

		if (build_nobody(record->task))
			return 0;
		task = build_task_find(builder, record->task);
		if (task)
			task->ring_submitted = builder->now;
		r = record->request ? remember(table, record->request, 0, &submission) : 0;
		return r < 0 ? r
			     : remember(table, record->user_data, part_of(record->ring) | 1,
					&submission);
	}
	if (record->header.flags != CLEW_RING_COMPLETE)
		return 0;
	known = submission_of(table, record);
	if (!known)
		return 0;
	table->log[table->next++ % BUILD_RING_LOG] = (struct ring_completion){.at = builder->now,
									      .ring = record->ring,
									      .task = record->task,
									      .submission = *known};
	task = build_task_find(builder, record->task);
	if (task && task->ring_wait && task->ring_wait->ring == record->ring)
		return resolve_own(builder, task, known);
	return 0;
}

bool build_ring_submission(const struct clew_builder *builder, const struct task *waiter,
			   uint64_t ring, const struct wake *wake, struct ring_submission *ret)
{
	const struct ring_table *table = &builder->rings;
	/* The waiter saw what was complete before it came on its CPU, or before it
	 * submitted more: it waited for none of that. A worker may wake it for
	 * something else, as to make another worker. */
	uint64_t begun = later(waiter->switched_in, waiter->ring_submitted);
	bool found = false;

	if (wake->waker == CLEW_NO_TASK)
		return false;
	/* The newest completion before the wake, else the oldest one after it. */
	for (uint32_t i = 0; i < BUILD_RING_LOG && i < table->next; i++) {
		const struct ring_completion *completion =
			&table->log[(table->next - 1 - i) % BUILD_RING_LOG];

		if (completion->at > wake->time + RING_AFTER || completion->ring != ring ||
		    completion->task != wake->waker)
			continue;
		if (completion->at + RING_BEFORE < wake->time || completion->at < begun)
			break;
		*ret = completion->submission;
		found = true;
		if (completion->at <= wake->time)
			break;
	}
	return found;
}

int build_ring_keep(struct clew_builder *builder, struct task *task, const struct clew_sleep *sleep)
{
	size_t links = (size_t)sleep->link_count + sleep->and_count;
	struct ring_wait *wait;
	int r = build_ring_release(builder, task);

	if (r < 0)
		return r;
	wait = malloc(sizeof(*wait) + links * sizeof(wait->links[0]));
	if (!wait)
		return -ENOMEM;
	wait->sleep = *sleep;
	wait->ring = sleep->object.number;
	if (links)
		memcpy(wait->links, sleep->links, links * sizeof(wait->links[0]));
	wait->sleep.links = links ? wait->links : NULL;
	task->ring_wait = wait;
	return 0;
}

int build_ring_release(struct clew_builder *builder, struct task *task)
{
	struct ring_wait *wait = task->ring_wait;
	int r;

	if (!wait)
		return 0;
	task->ring_wait = NULL;
	r = build_send_sleep(builder, &wait->sleep);
	free(wait);
	return r;
}

void build_rings_done(struct clew_builder *builder)
{
	forget_all(&builder->rings);
}

size_t build_rings_memory(const struct clew_builder *builder)
{
	return builder->rings.memory + map_memory(&builder->rings.submissions);
}

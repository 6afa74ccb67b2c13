// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CPU quotas: until when a task was kept off the CPU as its group's was used up.
 * The first refill that left something over served whoever waited for it; after one
 * that left nothing some may still have had to wait, so that then the last one holds.
 *
 * A group's list has each task at most once for each time that it was stopped since
 * the last refill.
 */
#include <build/builder.h>
#include <errno.h>
#include <stdlib.h>

struct quota {
	uint64_t last;	       /* refill */
	struct vector waiting; /* uint32_t: tasks */
};

static struct quota *quota_of(struct clew_builder *builder, uint64_t group)
{
	uint64_t *known = map_get(&builder->quotas, group, 0);
	struct quota *quota;

	if (known)
		return (struct quota *)(uintptr_t)*known;
	quota = calloc(1, sizeof(*quota));
	if (quota)
		quota->waiting.item = sizeof(uint32_t);
	if (quota && map_set(&builder->quotas, group, 0, (uintptr_t)quota) < 0) {
		free(quota);
		quota = NULL;
	}
	return quota;
}

int build_quota_used_up(struct clew_builder *builder, struct task *task)
{
	struct quota *quota = quota_of(builder, task->wait.object);
	struct vector *waiting = quota ? &quota->waiting : NULL;

	task->throttled = true;
	task->refilled = 0;
	if (!waiting || vector_reserve(waiting, waiting->count + 1) < 0)
		return -ENOMEM;
	((uint32_t *)waiting->data)[waiting->count++] = task->serial;
	return 0;
}

int build_feed_refill(struct clew_builder *builder, const struct clew_refill *record)
{
	struct quota *quota = quota_of(builder, record->cgroup);
	uint32_t *waiting;
	size_t kept = 0;

	if (!quota)
		return -ENOMEM;
	waiting = quota->waiting.data;
	quota->last = builder->now;
	for (size_t i = 0; i < quota->waiting.count; i++) {
		struct task *task = build_task_find(builder, waiting[i]);

		if (!task || !task->throttled || task->wait.object != record->cgroup)
			continue;
		if (record->header.flags & CLEW_REFILL_ENOUGH)
			task->refilled = builder->now;
		else
			waiting[kept++] = waiting[i];
	}
	quota->waiting.count = kept;
	return 0;
}

uint64_t build_quota_end(struct clew_builder *builder, const struct task *task)
{
	const struct quota *quota = quota_of(builder, task->wait.object);

	if (task->refilled)
		return task->refilled;
	return quota && quota->last > task->since ? quota->last : builder->now;
}

void build_quotas_done(struct clew_builder *builder)
{
	for (size_t i = 0; i < builder->quotas.capacity; i++) {
		struct quota *quota = (struct quota *)(uintptr_t)builder->quotas.slots[i].value;

		if (!builder->quotas.slots[i].used)
			continue;
		vector_done(&quota->waiting);
		free(quota);
	}
	map_done(&builder->quotas);
}

size_t build_quotas_memory(const struct clew_builder *builder)
{
	return map_memory(&builder->quotas) + builder->quotas.count * sizeof(struct quota);
}

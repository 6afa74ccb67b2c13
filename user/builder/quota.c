/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPU quotas: until when a task was kept off the CPU because its group's quota was used
 * up. The first refill that left quota over served every task that waited. After a
 * refill that left nothing some tasks may still have had to wait, so that then the last
 * refill counts.
 *
 * A group's list may contain tasks that ran since. They are removed at each refill, and
 * before the list grows. A group is forgotten when none of its tasks waits and its quota was
 * not refilled for a while: groups come and go as containers do.
 */
#include "builder/quota.h"
#include "builder/builder.h"
#include "builder/task.h"
#include <errno.h>
#include <stdlib.h>

#define UNUSED	   60000000000ull /* ns without a refill */
#define QUOTAS_FEW 64		  /* are not worth a search */

struct waiting {
	uint64_t since;
	uint32_t task;
};

struct quota {
	uint64_t group;
	uint64_t since;	       /* it is known since then */
	uint64_t last;	       /* refill */
	struct vector waiting; /* struct waiting */
};

static struct quota *quota_find(const struct clew_builder *builder, uint64_t group)
{
	const uint64_t *known = map_get(&builder->quotas, group, 0);

	return known ? (struct quota *)(uintptr_t)*known : NULL;
}

/* The task of an entry if it still waits, else NULL. */
static struct task *still_waits(struct clew_builder *builder, const struct waiting *waiting,
				uint64_t group)
{
	struct task *task = build_task_find(builder, waiting->task);

	return task && task->throttled && task->since == waiting->since &&
			       task->wait.object == group
		       ? task
		       : NULL;
}

static bool is_unused(struct clew_builder *builder, const struct quota *quota)
{
	const struct waiting *waiting = quota->waiting.data;

	if (builder->now - later(quota->since, quota->last) < UNUSED)
		return false;
	for (size_t i = 0; i < quota->waiting.count; i++)
		if (still_waits(builder, &waiting[i], quota->group))
			return false;
	return true;
}

static void quota_free(struct quota *quota)
{
	vector_done(&quota->waiting);
	free(quota);
}

/* Forgets the quotas that are not used. 0 or -ENOMEM. */
static int forget_unused(struct clew_builder *builder)
{
	struct map kept = {0};
	int r = 0;

	for (size_t i = 0; i < builder->quotas.capacity && r >= 0; i++) {
		struct quota *quota = (struct quota *)(uintptr_t)builder->quotas.slots[i].value;

		if (builder->quotas.slots[i].used && !is_unused(builder, quota))
			r = map_set(&kept, quota->group, 0, (uintptr_t)quota);
	}
	if (r < 0) {
		map_done(&kept);
		return r;
	}
	for (size_t i = 0; i < builder->quotas.capacity; i++) {
		struct quota *quota = (struct quota *)(uintptr_t)builder->quotas.slots[i].value;

		if (builder->quotas.slots[i].used && !map_get(&kept, quota->group, 0))
			quota_free(quota);
	}
	map_done(&builder->quotas);
	builder->quotas = kept;
	builder->quotas_kept = kept.count;
	return 0;
}

/* Found or made; NULL: no memory. */
static struct quota *quota_get(struct clew_builder *builder, uint64_t group)
{
	struct quota *quota = quota_find(builder, group);

	if (quota)
		return quota;
	if (builder->quotas.count >= 2 * builder->quotas_kept + QUOTAS_FEW &&
	    forget_unused(builder) < 0)
		return NULL;
	quota = calloc(1, sizeof(*quota));
	if (!quota)
		return NULL;
	*quota = (struct quota){
		.group = group, .since = builder->now, .waiting.item = sizeof(struct waiting)};
	if (map_set(&builder->quotas, group, 0, (uintptr_t)quota) < 0) {
		free(quota);
		return NULL;
	}
	return quota;
}

int build_quota_used_up(struct clew_builder *builder, struct task *task)
{
	uint64_t group = task->wait.object;
	struct quota *quota = quota_get(builder, group);
	struct vector *list = quota ? &quota->waiting : NULL;
	struct waiting *waiting;
	size_t kept = 0;

	task->refilled = 0;
	if (!list)
		return -ENOMEM;
	if (list->count == list->capacity) {
		waiting = list->data;
		for (size_t i = 0; i < list->count; i++)
			if (still_waits(builder, &waiting[i], group))
				waiting[kept++] = waiting[i];
		list->count = kept;
		/* Room for twice as many, so that the list is not searched for each task. */
		if (vector_reserve(list, 2 * kept + 1) < 0)
			return -ENOMEM;
	}
	waiting = list->data;
	waiting[list->count++] = (struct waiting){.task = task->serial, .since = task->since};
	return 0;
}

int build_feed_refill(struct clew_builder *builder, const struct clew_refill *record)
{
	struct quota *quota = quota_get(builder, record->cgroup);
	struct waiting *waiting;
	size_t kept = 0;

	if (!quota)
		return -ENOMEM;
	waiting = quota->waiting.data;
	quota->last = builder->now;
	for (size_t i = 0; i < quota->waiting.count; i++) {
		struct task *task = still_waits(builder, &waiting[i], record->cgroup);

		if (!task)
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
	const struct quota *quota = quota_find(builder, task->wait.object);

	if (task->refilled)
		return task->refilled;
	return quota && quota->last > task->since ? quota->last : builder->now;
}

void build_quotas_done(struct clew_builder *builder)
{
	for (size_t i = 0; i < builder->quotas.capacity; i++) {
		struct quota *quota = (struct quota *)(uintptr_t)builder->quotas.slots[i].value;

		if (builder->quotas.slots[i].used)
			quota_free(quota);
	}
	map_done(&builder->quotas);
}

size_t build_quotas_memory(const struct clew_builder *builder)
{
	size_t bytes = map_memory(&builder->quotas) + builder->quotas.count * sizeof(struct quota);

	for (size_t i = 0; i < builder->quotas.capacity; i++)
		if (builder->quotas.slots[i].used)
			bytes += ((const struct quota *)(uintptr_t)builder->quotas.slots[i].value)
					 ->waiting.bytes;
	return bytes;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks that dirty much: the candidates for what others wait for when too much is dirty,
 * and those that start background writeback.
 */
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/task.h"
#include "builder/writeback.h"
#include <errno.h>

/* ns in which dirtied bytes lose half their weight. */
#define DIRTY_FADE 1000000000ull

/* The entry of a key in a vector, made if need be; NULL: no memory. */
void *writeback_entry(struct map *map, struct vector *vector, size_t size, uint64_t key)
{
	const uint64_t *known = map_get(map, key, 0);

	vector->item = size;
	if (!known) {
		if (vector_reserve(vector, vector->count + 1) < 0 ||
		    map_set(map, key, 0, vector->count) < 0)
			return NULL;
		vector->count++;
		known = map_get(map, key, 0);
	}
	return (char *)vector->data + *known * size;
}

const void *writeback_entry_find(const struct map *map, const struct vector *vector, uint64_t key)
{
	const uint64_t *known = map_get(map, key, 0);

	return known ? (const char *)vector->data + *known * vector->item : NULL;
}

static uint32_t disk_of(const struct clew_builder *builder, uint32_t device)
{
	const uint64_t *known = map_get(&builder->writebacks.disks, device, 0);

	return known ? (uint32_t)*known : device;
}

static uint64_t faded(const struct dirtier *dirtier, uint64_t at)
{
	uint64_t age = at > dirtier->at ? (at - dirtier->at) / DIRTY_FADE : 0;

	return age < 64 ? dirtier->bytes >> age : 0;
}

int build_dirtied(struct clew_builder *builder, const struct clew_extent *record)
{
	struct writeback_table *table = &builder->writebacks;
	struct dirty_system *system;
	struct dirtier *least;

	if (record->task == CLEW_NO_TASK)
		return 0;
	system = writeback_entry(&table->systems, &table->all_systems, sizeof(*system),
				 record->device);
	if (!system)
		return -ENOMEM;
	least = &system->dirtiers[0];
	for (unsigned i = 0; i < BUILD_DIRTIERS; i++) {
		struct dirtier *dirtier = &system->dirtiers[i];

		if (dirtier->task == record->task) {
			least = dirtier;
			break;
		}
		if (faded(dirtier, record->begin) < faded(least, record->begin))
			least = dirtier;
	}
	*least = (struct dirtier){
		.task = record->task,
		.bytes = (least->task == record->task ? faded(least, record->begin) : 0) +
			 record->bytes,
		.at = record->begin,
	};
	return 0;
}

/* Bytes that a task itself dirtied lately. */
static uint64_t own_weight(const struct clew_builder *builder, const struct task *task,
			   const struct dirty_system *system)
{
	for (unsigned i = 0; i < BUILD_DIRTIERS; i++)
		if (system->dirtiers[i].task == task->serial)
			return faded(&system->dirtiers[i], builder->now);
	return 0;
}

/* An edge from each other task that dirtied the file system lately. */
static int send_candidates(struct clew_builder *builder, const struct task *task,
			   const struct dirty_system *system, uint64_t own)
{
	int r = 0;

	for (unsigned i = 0; i < BUILD_DIRTIERS && r >= 0; i++) {
		const struct dirtier *dirtier = &system->dirtiers[i];
		struct clew_edge edge = {
			.from_at = earlier(dirtier->at, builder->now),
			.to_at = builder->now,
			.from = dirtier->task,
			.to = task->serial,
			.type = CLEW_EDGE_THROTTLE,
			.evidence = CLEW_EVIDENCE_CANDIDATE,
			.context = CLEW_WAKE_TIMER,
			.object = {.kind = CLEW_OBJECT_DEVICE,
				   .device = task->wait.device,
				   .descriptor = -1},
			.choice = builder->writebacks.choices,
			.weight = faded(dirtier, builder->now),
			.own = own,
		};

		if (dirtier->task != CLEW_NO_TASK && dirtier->task != task->serial &&
		    edge.weight > 0)
			r = build_send_edge(builder, &edge);
	}
	return r;
}

/* The file system that a task dirtied last. */
static const struct dirty_system *last_dirtied(const struct writeback_table *table,
					       const struct task *task)
{
	const struct dirty_system *all = table->all_systems.data, *last = NULL;
	uint64_t at = 0;

	for (size_t i = 0; i < table->all_systems.count; i++) {
		for (unsigned k = 0; k < BUILD_DIRTIERS; k++) {
			const struct dirtier *dirtier = &all[i].dirtiers[k];

			if (dirtier->task != task->serial || dirtier->at < at)
				continue;
			at = dirtier->at;
			last = &all[i];
		}
	}
	return last;
}

/* `slot` is one of writeback_table.systems. */
static bool is_of_disk(const struct clew_builder *builder, const struct map_slot *slot,
		       uint32_t disk)
{
	return slot->used && disk_of(builder, (uint32_t)slot->key) == disk;
}

int build_throttled(struct clew_builder *builder, const struct task *task)
{
	struct writeback_table *table = &builder->writebacks;
	const struct background *known =
		writeback_entry_find(&table->wakes, &table->all_wakes, task->wait.device);
	struct background *background = (struct background *)(uintptr_t)known;
	const struct dirty_system *all = table->all_systems.data;
	uint64_t own = 0;
	int r = 0;

	if (background && background->task == task->serial &&
	    background->at + WAKE_NEAR >= builder->now)
		background->throttled = true;
	if (build_dropped(builder, CLEW_EDGE_THROTTLE))
		return 0;
	builder->writebacks.choices++;
	/* Some file systems, like btrfs, are limited as a whole, not by disk. */
	if (!task->wait.device) {
		const struct dirty_system *system = last_dirtied(table, task);

		return system ? send_candidates(builder, task, system,
						own_weight(builder, task, system))
			      : 0;
	}
	for (size_t i = 0; i < table->systems.capacity; i++)
		if (is_of_disk(builder, &table->systems.slots[i], task->wait.device))
			own += own_weight(builder, task, &all[table->systems.slots[i].value]);
	for (size_t i = 0; i < table->systems.capacity && r >= 0; i++)
		if (is_of_disk(builder, &table->systems.slots[i], task->wait.device))
			r = send_candidates(builder, task, &all[table->systems.slots[i].value],
					    own);
	return r;
}

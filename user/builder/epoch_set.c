/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sets of tasks, each stored once: as its greatest task and the set without that task. Sets that
 * nothing refers to any more are freed when there are many (set_sweep.c); the others keep their
 * numbers.
 */
#include "builder/epoch.h"
#include <errno.h>
#include <stdlib.h>

#define SET_MOST 1024u /* the most tasks in a set; more are not added */

/* A number that no set has. UINT32_MAX: no memory. */
static uint32_t set_number(struct epoch_table *table)
{
	uint32_t free_set = table->set_free;

	if (free_set) {
		table->set_free = table->sets[free_set].parent;
		table->set_free_count--;
		return free_set;
	}
	if (table->set_count == table->set_capacity) {
		uint32_t capacity = table->set_capacity ? table->set_capacity * 2 : 64;
		struct task_set *sets = realloc(table->sets, capacity * sizeof(*sets));

		if (!sets)
			return UINT32_MAX;
		if (!table->set_capacity) {
			sets[0] = (struct task_set){0};
			table->set_count = 1;
		}
		table->sets = sets;
		table->set_capacity = capacity;
	}
	return table->set_count++;
}

static uint32_t set_node(struct epoch_table *table, uint32_t parent, uint32_t task)
{
	const uint64_t *known = map_get(&table->set_nodes, parent, task);
	uint32_t set;

	if (known)
		return (uint32_t)*known;
	set = set_number(table);
	if (set == UINT32_MAX)
		return set;
	table->sets[set] = (struct task_set){.parent = parent,
					     .task = task,
					     .count = parent ? table->sets[parent].count + 1 : 1};
	return map_set(&table->set_nodes, parent, task, set) < 0 ? UINT32_MAX : set;
}

bool epoch_set_has(const struct epoch_table *table, uint32_t set, uint32_t task)
{
	for (; set; set = table->sets[set].parent)
		if (table->sets[set].task <= task)
			return table->sets[set].task == task;
	return false;
}

uint32_t epoch_set_tasks(const struct epoch_table *table, uint32_t set, uint32_t *tasks)
{
	uint32_t count = set ? table->sets[set].count : 0;

	for (uint32_t i = count; i > 0; i--, set = table->sets[set].parent)
		tasks[i - 1] = table->sets[set].task;
	return count;
}

/* Rebuilds the set with `task` under the greater ones. */
static uint32_t set_insert(struct epoch_table *table, uint32_t set, uint32_t task)
{
	uint32_t below;

	if (!set || table->sets[set].task < task)
		return set_node(table, set, task);
	below = set_insert(table, table->sets[set].parent, task);
	return below == UINT32_MAX ? below : set_node(table, below, table->sets[set].task);
}

uint32_t epoch_set_with(struct epoch_table *table, uint32_t set, uint32_t task)
{
	const uint64_t *known;
	uint32_t sum;

	if (epoch_set_has(table, set, task))
		return set;
	if (set && table->sets[set].count >= SET_MOST) {
		table->given_up++;
		return set;
	}
	known = map_get(&table->set_sums, set, task);
	if (known)
		return (uint32_t)*known;
	sum = set_insert(table, set, task);
	if (sum == UINT32_MAX || map_set(&table->set_sums, set, task, sum) < 0)
		return UINT32_MAX;
	return sum;
}

uint32_t epoch_set_without(struct epoch_table *table, uint32_t set, uint32_t other)
{
	uint32_t rest = 0;

	for (; set && rest != UINT32_MAX; set = table->sets[set].parent)
		if (!epoch_set_has(table, other, table->sets[set].task))
			rest = epoch_set_with(table, rest, table->sets[set].task);
	return rest;
}

uint32_t epoch_set_union(struct epoch_table *table, uint32_t set, uint32_t other)
{
	for (; other && set != UINT32_MAX; other = table->sets[other].parent)
		set = epoch_set_with(table, set, table->sets[other].task);
	return set;
}

/* ---- sweeping ---- */

static bool is_kept(const uint64_t *keep, uint32_t set)
{
	return keep[set / 64] & 1ull << set % 64;
}

void epoch_sets_keep(const struct epoch_table *table, uint64_t *keep, uint32_t set)
{
	/* If a set is kept, so are its parents. A free slot has no tasks, and is not kept. */
	for (; set && set < table->set_count && table->sets[set].count && !is_kept(keep, set);
	     set = table->sets[set].parent)
		keep[set / 64] |= 1ull << set % 64;
}

int epoch_sets_sweep(struct epoch_table *table, const uint64_t *keep)
{
	struct map nodes = {0};
	uint32_t kept = 0;

	for (uint32_t set = 1; set < table->set_count; set++) {
		const struct task_set *one = &table->sets[set];

		if (!is_kept(keep, set))
			continue;
		kept++;
		if (map_set(&nodes, one->parent, one->task, set) < 0) {
			map_done(&nodes);
			return -ENOMEM;
		}
	}
	table->set_free = 0;
	for (uint32_t set = table->set_count; set-- > 1;)
		if (!is_kept(keep, set)) {
			table->sets[set] = (struct task_set){.parent = table->set_free};
			table->set_free = set;
		}
	table->set_kept = kept;
	table->set_free_count = table->set_count ? table->set_count - 1 - kept : 0;
	map_done(&table->set_nodes);
	map_done(&table->set_sums);
	table->set_nodes = nodes;
	return 0;
}

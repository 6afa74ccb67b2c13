// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Drag. Of an ES x it takes the least slack among the others a with
 * earliest_start(a) < end(x) and latest_finish(a) > start(x). The ESs are gone through
 * by start, the last one first, after all were entered whose latest finish lies behind
 * it; they are entered in order of their earliest start, of which those before end(x)
 * are a prefix. Least slacks of prefixes come from a tree of sixteens.
 */
#include "big.h"
#include "slack_internal.h"

/* AHEAD: so many steps before something is needed it is fetched from memory. */
enum { FAN_BITS = 4, FAN = 1 << FAN_BITS, LEVELS = 8, AHEAD = 16 };

/* Of a row: its slack, and how many earliest starts come before its own. */
struct ranked {
	clew_time slack;
	uint32_t rank;
};

struct tree {
	clew_time *levels[LEVELS]; /* [0]: by rank; above each the least of sixteen below */
	unsigned count;
	clew_time *memory;
};

static int tree_new(struct tree *tree, uint32_t count)
{
	size_t total = 0, at = 0, sizes[LEVELS], size = count;

	tree->count = 0;
	do {
		size = (size + FAN - 1) / FAN * FAN;
		sizes[tree->count++] = size;
		total += size;
		size /= FAN;
	} while (size > 1);
	tree->memory = big_alloc(total, sizeof(*tree->memory));
	if (!tree->memory)
		return -ENOMEM;
	for (size_t i = 0; i < total; i++)
		tree->memory[i] = INT64_MAX;
	for (unsigned level = 0; level < tree->count; level++) {
		tree->levels[level] = tree->memory + at;
		at += sizes[level];
	}
	return 0;
}

static void tree_enter(struct tree *tree, uint32_t rank, clew_time slack)
{
	for (unsigned level = 0; level < tree->count && slack < tree->levels[level][rank]; level++, rank >>= FAN_BITS)
		tree->levels[level][rank] = slack;
}

static clew_time least_of(const clew_time *items, uint32_t first, uint32_t end, clew_time least)
{
	for (uint32_t i = first; i < end; i++)
		least = items[i] < least ? items[i] : least;
	return least;
}

/* The least of ranks first..end-1. */
static clew_time tree_least(const struct tree *tree, uint32_t first, uint32_t end)
{
	clew_time least = INT64_MAX;

	for (unsigned level = 0; first < end; level++) {
		const clew_time *items = tree->levels[level];
		uint32_t above = (first + FAN - 1) >> FAN_BITS, above_end = end >> FAN_BITS;

		if (above >= above_end)
			return least_of(items, first, end, least);
		least = least_of(items, first, above << FAN_BITS, least);
		least = least_of(items, above_end << FAN_BITS, end, least);
		first = above;
		end = above_end;
		if (level + 1 == tree->count)
			return least_of(items, first << FAN_BITS, end << FAN_BITS, least);
	}
	return least;
}

/* How many of the sorted starts lie before a moment. `near`: the answer is probably not far from it. */
static uint32_t count_before(const clew_time *starts, uint32_t count, clew_time at, uint32_t near)
{
	uint32_t low = near, high = near, step = 1;

	while (low && starts[low - 1] >= at) {
		high = low - 1;
		low = low > step ? low - step : 0;
		step *= 2;
	}
	for (step = 1; high < count && starts[high] < at; step *= 2) {
		low = high + 1;
		high = count - high > step ? high + step : count;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (starts[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int slack_drag(const struct clew_model *model, struct clew_slack *slack, const uint32_t *by_start, struct sort_key *keys,
	       struct sort_key *spare)
{
	uint32_t count = slack->count, entered = count, near = count;
	struct ranked *ranked = big_alloc(count, sizeof(*ranked));
	clew_time *starts = big_alloc(count, sizeof(*starts));
	struct clew_slack_row *rows = slack->rows;
	struct tree tree = {.memory = NULL};

	if (!ranked || !starts || tree_new(&tree, count + 1) < 0) {
		free(ranked);
		free(starts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){.key = time_key(rows[i].earliest_start), .index = i};
	sort_keys(keys, spare, count);
	for (uint32_t i = 0; i < count; i++) {
		if (count - i > AHEAD)
			__builtin_prefetch(&ranked[keys[i + AHEAD].index], 1);
		ranked[keys[i].index].rank = i;
		starts[i] = key_time(keys[i].key);
	}
	for (uint32_t i = 0; i < count; i++) {
		keys[i] = (struct sort_key){.key = time_key(rows[i].latest_finish), .index = i};
		ranked[i].slack = clew_slack_of(model, &rows[i]);
	}
	sort_keys(keys, spare, count);

	for (uint32_t i = count; i--;) {
		struct clew_slack_row *row = &rows[by_start[i]];
		const struct clew_es *es = &model->es[row->es];
		const struct ranked *own = &ranked[by_start[i]];
		uint32_t end;
		clew_time least;

		if (i >= AHEAD) {
			__builtin_prefetch(&ranked[by_start[i - AHEAD]]);
			__builtin_prefetch(&rows[by_start[i - AHEAD]], 1);
		}
		for (; entered && key_time(keys[entered - 1].key) > es->start; entered--) {
			const struct ranked *other = &ranked[keys[entered - 1].index];

			if (entered > AHEAD)
				__builtin_prefetch(&ranked[keys[entered - 1 - AHEAD].index]);

			tree_enter(&tree, other->rank, other->slack);
		}
		if (es->end == es->start)
			continue;
		end = near = count_before(starts, count, es->end, near);
		least = tree_least(&tree, 0, end);
		if (least == own->slack) {
			clew_time above = own->rank < end ? tree_least(&tree, own->rank + 1, end) : INT64_MAX;

			least = tree_least(&tree, 0, own->rank < end ? own->rank : end);
			least = above < least ? above : least;
		}
		row->drag = least < es->end - es->start ? least : es->end - es->start;
	}
	free(tree.memory);
	free(starts);
	free(ranked);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drag. The drag of an ES x takes the least slack among the others a with earliest_start(a) <
 * end(x) and latest_finish(a) > start(x). The ESs are gone through
 * by start, the last one first, after all were entered whose latest finish lies behind
 * it; in order of their earliest start, those before end(x) are a prefix. Least slacks of
 * prefixes come from a tree of sixteens; x itself is always among them, so that the second
 * least counts where the least may be its own.
 */
#include "analyse/slack/internal.h"
#include "base/big.h"

/* AHEAD: so many steps before something is needed it is fetched from memory. */
enum { FAN_BITS = 4, FAN = 1 << FAN_BITS, LEVELS = 8, AHEAD = 16 };

/* For each row: its slack, and how many earliest starts come before its own. */
struct ranked {
	clew_time slack;
	uint32_t rank;
};

/* The two least slacks of what was entered; INT64_MAX: there is none. */
struct two_least {
	clew_time first, second;
};

/*
 * Each item has those of its own place and of the places before it in its sixteen.
 * The sixteens of a level are the places of the next one.
 */
struct tree {
	struct two_least *levels[LEVELS];
	unsigned count;
};

/* In memory that was there for something else. One place more than there are, so that the highest
 * level is never asked for all of its own.
 */
static void tree_begin(struct tree *tree, struct sort_key *memory, uint32_t count)
{
	struct two_least *items = (struct two_least *)memory;
	size_t at = 0, size = (size_t)count + 1;

	tree->count = 0;
	do {
		size = (size + FAN - 1) / FAN * FAN;
		tree->levels[tree->count++] = items + at;
		at += size;
		size /= FAN;
	} while (size > 1);
	for (size_t i = 0; i < at; i++)
		items[i] = (struct two_least){INT64_MAX, INT64_MAX};
}

static inline void take(struct two_least *least, clew_time slack)
{
	if (slack < least->first) {
		least->second = least->first;
		least->first = slack;
	} else if (slack < least->second) {
		least->second = slack;
	}
}

/* Where it is not among the two least, it is not further on either. */
static void tree_enter(struct tree *tree, uint32_t rank, clew_time slack)
{
	for (unsigned level = 0; level < tree->count; level++, rank >>= FAN_BITS) {
		struct two_least *items = tree->levels[level];

		for (uint32_t i = rank; i <= (rank | (FAN - 1)); i++) {
			if (slack >= items[i].second)
				return;
			take(&items[i], slack);
		}
	}
}

/* The two least of the ranks before `end`. */
static inline struct two_least tree_least(const struct tree *tree, uint32_t end)
{
	struct two_least least = {INT64_MAX, INT64_MAX};

	for (unsigned level = 0; end && level < tree->count; level++, end >>= FAN_BITS) {
		const struct two_least *item = &tree->levels[level][end - 1];

		if (!(end & (FAN - 1)))
			continue;
		take(&least, item->first);
		take(&least, item->second);
	}
	return least;
}

/* The number of sorted starts before a moment. `near`: the answer is probably not far from
 * it. */
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

int slack_drag(const struct clew_model *model, struct clew_slack *slack, const uint32_t *by_start,
	       struct sort_key *keys, struct sort_key *spare)
{
	uint32_t count = slack->count, entered = count, near = count;
	struct ranked *ranked = big_alloc(count, sizeof(*ranked));
	clew_time *starts = big_alloc(count, sizeof(*starts));
	struct clew_slack_row *rows = slack->rows;
	struct tree tree;

	if (!ranked || !starts) {
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
	tree_begin(&tree, spare, count);

	for (uint32_t i = count; i--;) {
		struct clew_slack_row *row = &rows[by_start[i]];
		const struct clew_es *es = &model->es[row->es];
		struct two_least least;
		clew_time drag;

		if (i >= 2 * AHEAD) {
			__builtin_prefetch(&ranked[by_start[i - AHEAD]]);
			__builtin_prefetch(&rows[by_start[i - 2 * AHEAD]], 1);
			__builtin_prefetch(&model->es[rows[by_start[i - AHEAD]].es]);
		}
		for (; entered && key_time(keys[entered - 1].key) > es->start; entered--) {
			const struct ranked *other = &ranked[keys[entered - 1].index];

			if (entered > 2 * AHEAD) {
				__builtin_prefetch(&ranked[keys[entered - 1 - 2 * AHEAD].index]);
				__builtin_prefetch(
					&tree.levels[0]
						    [ranked[keys[entered - 1 - AHEAD].index].rank],
					1);
			}
			tree_enter(&tree, other->rank, other->slack);
		}
		if (es->end == es->start)
			continue;
		near = count_before(starts, count, es->end, near);
		least = tree_least(&tree, near);
		drag = least.first == ranked[by_start[i]].slack ? least.second : least.first;
		row->drag = drag < es->end - es->start ? drag : es->end - es->start;
	}
	free(starts);
	free(ranked);
	return 0;
}

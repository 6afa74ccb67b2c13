/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides the time of classes into blocks.
 *
 * A block is at least twenty mean operations long, so that what makes neighbours alike lies within
 * blocks and not between them, and so long that a capture has at most a hundred.
 */
#include "compare/blocks.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_LENGTH 20	 /* mean operations */
#define MOST_BLOCKS  100 /* of a capture */

static int by_class(const void *left, const void *right)
{
	const struct compare_operation *a = left, *b = right;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	if (a->capture != b->capture)
		return a->capture < b->capture ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->first_share < b->first_share ? -1 : a->first_share > b->first_share;
}

void blocks_sort(const struct compare *compare)
{
	if (compare->operations.count)
		qsort(compare->operations.data, compare->operations.count, compare->operations.item,
		      by_class);
}

/* The operations of one capture, by begin, and how long their blocks are. */
struct grid {
	const struct compare_operation *operations;
	size_t count;
	uint64_t length; /* ns */
};

static struct grid grid_of(const struct compare_operation *operations, size_t count, double mean,
			   unsigned most)
{
	uint64_t span = operations[count - 1].from - operations[0].from,
		 least = (uint64_t)(LEAST_LENGTH * mean) + 1, length = span / most + 1;

	return (struct grid){.operations = operations,
			     .count = count,
			     .length = length > least ? length : least};
}

static uint64_t block_at(const struct grid *grid, size_t i)
{
	if (grid->operations[i].block != CLEW_NO_NUMBER)
		return grid->operations[i].block;
	return (grid->operations[i].from - grid->operations[0].from) / grid->length;
}

/* The operations from `first` on that are of the same capture. */
static size_t capture_end(const struct compare_operation *operations, size_t count, size_t first)
{
	size_t end = first;

	while (end < count && operations[end].capture == operations[first].capture)
		end++;
	return end;
}

static double mean_of(const struct compare_operation *operations, size_t count)
{
	double ns = 0, all = 0;

	for (size_t i = 0; i < count; i++) {
		ns += (double)operations[i].ns;
		all += (double)operations[i].count;
	}
	return all > 0 ? ns / all : 0;
}

int blocks_make(const struct class_operations *all, struct class_blocks *ret_blocks)
{
	double mean = mean_of(all->operations, all->count);
	struct class_blocks blocks = {
		.capture = calloc(all->count + 1, sizeof(*blocks.capture)),
		.operations = calloc(all->count + 1, sizeof(*blocks.operations)),
		.block_of = calloc(all->count + 1, sizeof(*blocks.block_of)),
	};

	*ret_blocks = blocks;
	if (!blocks.capture || !blocks.operations || !blocks.block_of)
		return -ENOMEM;
	for (size_t first = 0, end; first < all->count; first = end) {
		struct grid grid;
		uint64_t last = UINT64_MAX;

		end = capture_end(all->operations, all->count, first);
		grid = grid_of(all->operations + first, end - first, mean, MOST_BLOCKS);
		for (size_t i = first; i < end; i++) {
			uint64_t block = block_at(&grid, i - first);

			if (block != last)
				blocks.capture[blocks.count++] = blocks.captures;
			last = block;
			blocks.operations[blocks.count - 1] += all->operations[i].count;
			blocks.block_of[i] = (uint32_t)blocks.count - 1;
		}
		blocks.captures++;
	}
	*ret_blocks = blocks;
	return 0;
}

void blocks_done(struct class_blocks *blocks)
{
	free(blocks->capture);
	free(blocks->operations);
	free(blocks->block_of);
	*blocks = (struct class_blocks){};
}

/* ---- halves ---- */

static void halve_class(struct compare_operation *operations, size_t count)
{
	double mean = mean_of(operations, count);

	for (size_t first = 0, end; first < count; first = end) {
		struct grid grid;

		end = capture_end(operations, count, first);
		grid = grid_of(operations + first, end - first, mean, 2 * MOST_BLOCKS);
		for (size_t i = first; i < end; i++) {
			operations[i].block = (uint32_t)block_at(&grid, i - first);
			operations[i].side = operations[i].block % 2;
		}
	}
}

void compare_halve(struct compare *compare)
{
	struct compare_operation *all = compare->operations.data;

	blocks_sort(compare);
	for (size_t first = 0, end; first < compare->operations.count; first = end) {
		for (end = first;
		     end < compare->operations.count && all[end].class == all[first].class;)
			end++;
		halve_class(all + first, end - first);
	}
	compare->loads[COMPARE_AFTER] = compare->loads[COMPARE_BEFORE];
	compare->captures[COMPARE_AFTER] = compare->captures[COMPARE_BEFORE];
}

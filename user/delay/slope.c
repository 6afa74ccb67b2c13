/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A line through blocks by least squares, and its bootstrap. */
#include "delay/slope.h"

#include <errno.h>
#include <stdlib.h>

#define DRAWS 2000

/* The sums of a line through points: x is what was added to an operation, y how long it took. */
struct line {
	double weight, x, y, xx, xy;
};

static void line_add(struct line *line, const struct clew_delay_block *block)
{
	const double weight = (double)block->operations, x = (double)block->added / weight,
		     y = (double)block->ns / weight;

	line->weight += weight;
	line->x += weight * x;
	line->y += weight * y;
	line->xx += weight * x * x;
	line->xy += weight * x * y;
}

/* False: all points have one x. */
static bool line_slope(const struct line *line, double *ret_slope)
{
	const double spread = line->xx - line->x * line->x / line->weight;

	if (!(spread > 1e-9 * line->xx))
		return false;
	*ret_slope = (line->xy - line->x * line->y / line->weight) / spread;
	return true;
}

static int by_value(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool draw(const struct clew_delay_block **usable, size_t count, uint64_t *state,
		 double *ret_slope)
{
	struct line line = {};

	for (size_t i = 0; i < count; i++)
		line_add(&line, usable[next_random(state) % count]);
	return line_slope(&line, ret_slope);
}

static void find_interval(const struct clew_delay_block **usable, size_t count, double *drawn,
			  struct slope *slope)
{
	uint64_t state = 88172645463325252ull;
	size_t found = 0;

	for (size_t i = 0; i < DRAWS; i++)
		found += draw(usable, count, &state, &drawn[found]);
	qsort(drawn, found, sizeof(*drawn), by_value);
	slope->low = drawn[found / 40];
	slope->high = drawn[found - 1 - found / 40];
	slope->known = found > DRAWS / 2;
}

int slope_of(const struct clew_delay_block *blocks, size_t count, struct slope *ret_slope)
{
	const struct clew_delay_block **usable = calloc(count + 1, sizeof(*usable));
	double *drawn = calloc(DRAWS, sizeof(*drawn));
	size_t used = 0, longer = 0;
	struct line line = {};

	*ret_slope = (struct slope){};
	for (size_t i = 0; usable && i < count; i++) {
		if (!blocks[i].operations)
			continue;
		usable[used++] = &blocks[i];
		longer += blocks[i].delayed > 0;
		line_add(&line, &blocks[i]);
	}
	if (usable && drawn && longer >= SLOPE_LEAST && used - longer >= SLOPE_LEAST &&
	    line_slope(&line, &ret_slope->value))
		find_interval(usable, used, drawn, ret_slope);
	free(usable);
	free(drawn);
	return usable && drawn ? 0 : -ENOMEM;
}

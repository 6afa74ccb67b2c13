/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A line through blocks by least squares, the ratio of two kinds of blocks, and their bootstrap. */
#include "delay/slope.h"

#include <errno.h>
#include <math.h>
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

/* The figure of some blocks; false: they have none. */
typedef bool figure(const struct clew_delay_block *const *blocks, size_t count, double *ret_value);

static bool slope_figure(const struct clew_delay_block *const *blocks, size_t count,
			 double *ret_value)
{
	struct line line = {};

	for (size_t i = 0; i < count; i++)
		line_add(&line, blocks[i]);
	return line_slope(&line, ret_value);
}

static bool ratio_figure(const struct clew_delay_block *const *blocks, size_t count,
			 double *ret_value)
{
	double ns[2] = {}, operations[2] = {};

	for (size_t i = 0; i < count; i++) {
		ns[blocks[i]->delay > 0] += (double)blocks[i]->ns;
		operations[blocks[i]->delay > 0] += (double)blocks[i]->operations;
	}
	if (!(ns[0] > 0) || !(operations[1] > 0))
		return false;
	*ret_value = ns[1] / operations[1] / (ns[0] / operations[0]);
	return true;
}

/* Draws as many blocks as there are. */
static bool draw(const struct clew_delay_block *const *usable, size_t count, figure *figure_of,
		 const struct clew_delay_block **room, uint64_t *state, double *ret_value)
{
	for (size_t i = 0; i < count; i++)
		room[i] = usable[next_random(state) % count];
	return figure_of(room, count, ret_value);
}

/* Draws of n blocks vary less than samples would, and as a normal distribution does: an interval is
 * widened to that of Student's t with n - 2 degrees of freedom, by its expansion. */
static double widening(size_t count)
{
	const double n = (double)count, freedom = n - 2, normal = 1.959964;

	return sqrt(n / (n - 1)) * (1 + (2.37 / freedom + 2.8 / (freedom * freedom)) / normal);
}

static void find_interval(const struct clew_delay_block *const *usable, size_t count,
			  figure *figure_of, const struct clew_delay_block **room, double *drawn,
			  struct slope *slope)
{
	uint64_t state = 88172645463325252ull;
	size_t found = 0;

	for (size_t i = 0; i < DRAWS; i++)
		found += draw(usable, count, figure_of, room, &state, &drawn[found]);
	if (!found)
		return;
	qsort(drawn, found, sizeof(*drawn), by_value);
	slope->low = slope->value - widening(count) * (slope->value - drawn[found / 40]);
	slope->high =
		slope->value + widening(count) * (drawn[found - 1 - found / 40] - slope->value);
	slope->known = found > DRAWS / 2;
}

static int find(const struct clew_delay_block *blocks, size_t count, figure *figure_of,
		struct slope *ret_slope)
{
	const struct clew_delay_block **usable = calloc(2 * count + 1, sizeof(*usable));
	double *drawn = calloc(DRAWS, sizeof(*drawn));
	size_t used = 0, changed = 0;

	*ret_slope = (struct slope){};
	for (size_t i = 0; usable && i < count; i++) {
		if (!blocks[i].operations)
			continue;
		usable[used++] = &blocks[i];
		changed += figure_of == slope_figure ? blocks[i].delayed > 0 : blocks[i].delay > 0;
	}
	if (usable && drawn && changed >= SLOPE_LEAST && used - changed >= SLOPE_LEAST &&
	    figure_of(usable, used, &ret_slope->value))
		find_interval(usable, used, figure_of, usable + count, drawn, ret_slope);
	free(usable);
	free(drawn);
	return usable && drawn ? 0 : -ENOMEM;
}

int slope_of(const struct clew_delay_block *blocks, size_t count, struct slope *ret_slope)
{
	return find(blocks, count, slope_figure, ret_slope);
}

int slope_ratio(const struct clew_delay_block *blocks, size_t count, struct slope *ret_ratio)
{
	return find(blocks, count, ratio_figure, ret_ratio);
}

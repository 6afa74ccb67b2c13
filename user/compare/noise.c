/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Draws blocks with repetition (bootstrap), and judges many differences together.
 *
 * With n things to draw from, draws vary less than samples would, by (n - 1) / n, and their ends
 * are those of a normal distribution. Both matter where n is the number of captures: the
 * intervals are widened to those of Student's t with Welch's degrees of freedom.
 */
#include "compare/noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define COVERED	   0.95
#define NORMAL_END 1.959963985 /* of the normal distribution, for COVERED */
#define DISCOVERY  0.05

static uint64_t draw_word(uint64_t *state)
{
	uint64_t word = (*state += UINT64_C(0x9e3779b97f4a7c15));

	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

static uint32_t draw_below(uint64_t *state, uint32_t count)
{
	return (uint32_t)((draw_word(state) >> 32) * count >> 32);
}

/* ---- Student's t ---- */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), result;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	result = d;
	for (int m = 1; m < 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
		       odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

		d = 1 + even * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + even / c;
		c = fabs(c) < tiny ? tiny : c;
		result *= c * d;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + odd / c;
		c = fabs(c) < tiny ? tiny : c;
		step = c * d;
		result *= step;
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return result;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The probability of a t that is at least as far from 0. */
static double both_tails(double t, double freedom)
{
	return beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

static double end_of_t(double freedom)
{
	double low = 0, high = 1e3;

	while (high - low > 1e-6) {
		double middle = (low + high) / 2;

		if (both_tails(middle, freedom) > 1 - COVERED)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- draws ---- */

bool noise_draws_captures(const struct noise_side *before, const struct noise_side *after)
{
	return before->captures >= NOISE_LEAST_CAPTURES && after->captures >= NOISE_LEAST_CAPTURES;
}

/* The first block of each capture, and behind the last one their number. */
static void find_captures(const struct noise_side *side, size_t *first)
{
	size_t block = 0;

	for (uint32_t capture = 0; capture <= side->captures; capture++) {
		while (block < side->blocks && side->capture[block] < capture)
			block++;
		first[capture] = block;
	}
}

/* Draws as many blocks as there are from first..end. */
static void draw_blocks(uint64_t *state, size_t first, size_t end, uint32_t *weights)
{
	for (size_t i = first; i < end; i++)
		weights[first + draw_below(state, (uint32_t)(end - first))]++;
}

static void weigh(const struct noise_side *side, const size_t *first, bool captures,
		  uint64_t *state, uint32_t *weights)
{
	for (size_t block = 0; block < side->blocks; block++)
		weights[block] = 0;
	if (!captures) {
		draw_blocks(state, 0, side->blocks, weights);
		return;
	}
	for (uint32_t i = 0; i < side->captures; i++) {
		uint32_t capture = draw_below(state, side->captures);

		draw_blocks(state, first[capture], first[capture + 1], weights);
	}
}

/* The mean of each column over the weighted operations; weights NULL: each block once. */
static void find_means(const struct noise_side *side, size_t columns, const uint32_t *weights,
		       double *ret_means)
{
	double operations = 0;

	for (size_t column = 0; column < columns; column++)
		ret_means[column] = 0;
	for (size_t block = 0; block < side->blocks; block++) {
		const double *sums = side->sums + block * columns;
		double weight = weights ? weights[block] : 1;

		if (weight == 0)
			continue;
		operations += weight * (double)side->operations[block];
		for (size_t column = 0; column < columns; column++)
			ret_means[column] += weight * sums[column];
	}
	for (size_t column = 0; column < columns && operations > 0; column++)
		ret_means[column] /= operations;
}

/* Means of all draws: draw by draw, one for each column. */
static int draw_means(const struct noise_side *side, size_t columns, bool captures, uint64_t *state,
		      double *ret_means)
{
	size_t *first = calloc((size_t)side->captures + 1, sizeof(*first));
	uint32_t *weights = calloc(side->blocks + 1, sizeof(*weights));
	int r = first && weights ? 0 : -ENOMEM;

	if (r == 0)
		find_captures(side, first);
	for (size_t draw = 0; draw < NOISE_DRAWS && r == 0; draw++) {
		weigh(side, first, captures, state, weights);
		find_means(side, columns, weights, ret_means + draw * columns);
	}
	free(first);
	free(weights);
	return r;
}

static double variance_of(const double *means, size_t columns, size_t column)
{
	double sum = 0, squares = 0, mean;

	for (size_t draw = 0; draw < NOISE_DRAWS; draw++)
		sum += means[draw * columns + column];
	mean = sum / NOISE_DRAWS;
	for (size_t draw = 0; draw < NOISE_DRAWS; draw++) {
		double off = means[draw * columns + column] - mean;

		squares += off * off;
	}
	return squares / (NOISE_DRAWS - 1);
}

static int by_number(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void sort_ends(double *numbers, double *ret_low, double *ret_high)
{
	size_t end = (size_t)(NOISE_DRAWS * (1 - COVERED) / 2);

	qsort(numbers, NOISE_DRAWS, sizeof(*numbers), by_number);
	*ret_low = numbers[end];
	*ret_high = numbers[NOISE_DRAWS - 1 - end];
}

/* The draws of both sides, and what they are of. */
struct draws {
	const double *before, *after;
	double drawn[2]; /* captures or blocks of a side */
	size_t columns;
	double *room; /* NOISE_DRAWS numbers */
};

static void find_interval(const struct draws *draws, size_t column, double mean_before,
			  struct noise_difference *it)
{
	double before = variance_of(draws->before, draws->columns, column),
	       after = variance_of(draws->after, draws->columns, column),
	       more_before = draws->drawn[0] / (draws->drawn[0] - 1) * before,
	       more_after = draws->drawn[1] / (draws->drawn[1] - 1) * after,
	       drawn = sqrt(before + after), error = sqrt(more_before + more_after), freedom, wide,
	       mean_after = mean_before + it->change;

	for (size_t draw = 0; draw < NOISE_DRAWS; draw++)
		draws->room[draw] = draws->after[draw * draws->columns + column] -
				    draws->before[draw * draws->columns + column];
	sort_ends(draws->room, &it->low, &it->high);
	/* Below what a double holds of a mean nothing varies. */
	if (error <= 1e-12 * (mean_before + mean_after)) {
		it->p = it->change == 0 ? 1 : 0;
		wide = 1;
	} else {
		freedom = error * error * error * error /
			  (more_before * more_before / (draws->drawn[0] - 1) +
			   more_after * more_after / (draws->drawn[1] - 1));
		it->p = both_tails(it->change / error, freedom);
		wide = end_of_t(freedom) / NORMAL_END * error / drawn;
	}
	it->low = it->change - wide * (it->change - it->low);
	it->high = it->change + wide * (it->high - it->change);
	it->ratio_low = it->ratio_high = NAN;
	if (column || mean_before <= 0)
		return;
	for (size_t draw = 0; draw < NOISE_DRAWS; draw++)
		draws->room[draw] = draws->after[draw * draws->columns + column] /
				    draws->before[draw * draws->columns + column];
	sort_ends(draws->room, &it->ratio_low, &it->ratio_high);
	mean_after /= mean_before;
	it->ratio_low = mean_after - wide * (mean_after - it->ratio_low);
	it->ratio_high = mean_after + wide * (it->ratio_high - mean_after);
}

int noise_differences(const struct noise_side *before, const struct noise_side *after,
		      size_t columns, struct noise_difference *ret_differences)
{
	bool captures = noise_draws_captures(before, after);
	double *means = calloc(2 * columns + 1, sizeof(*means)),
	       *drawn_before = calloc(NOISE_DRAWS * columns + 1, sizeof(*drawn_before)),
	       *drawn_after = calloc(NOISE_DRAWS * columns + 1, sizeof(*drawn_after)),
	       *room = calloc(NOISE_DRAWS, sizeof(*room));
	const struct draws draws = {
		.before = drawn_before,
		.after = drawn_after,
		.drawn = {captures ? before->captures : (double)before->blocks,
			  captures ? after->captures : (double)after->blocks},
		.columns = columns,
		.room = room,
	};
	uint64_t state = 1;
	int r = means && drawn_before && drawn_after && room ? 0 : -ENOMEM;

	if (r == 0)
		r = draw_means(before, columns, captures, &state, drawn_before);
	if (r == 0)
		r = draw_means(after, columns, captures, &state, drawn_after);
	if (r == 0) {
		find_means(before, columns, NULL, means);
		find_means(after, columns, NULL, means + columns);
	}
	for (size_t column = 0; column < columns && r == 0; column++) {
		ret_differences[column] = (struct noise_difference){
			.change = means[columns + column] - means[column]};
		find_interval(&draws, column, means[column], &ret_differences[column]);
	}
	free(means);
	free(drawn_before);
	free(drawn_after);
	free(room);
	return r;
}

/* ---- many differences ---- */

static int by_p(const void *left, const void *right)
{
	const struct noise_difference *a = *(struct noise_difference *const *)left,
				      *b = *(struct noise_difference *const *)right;

	return (a->p > b->p) - (a->p < b->p);
}

void noise_judge(struct noise_difference **differences, size_t count)
{
	size_t found = 0;

	if (count)
		qsort(differences, count, sizeof(*differences), by_p);
	for (size_t i = 0; i < count; i++)
		if (differences[i]->p <= DISCOVERY * (double)(i + 1) / (double)count)
			found = i + 1;
	for (size_t i = 0; i < count; i++)
		differences[i]->beyond =
			i < found && (differences[i]->low > 0 || differences[i]->high < 0);
}

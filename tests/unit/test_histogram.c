/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms against the sorted values themselves. */
#include "base/histogram.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"

#define MOST 3000

/* Each magnitude is equally likely. */
static uint64_t draw_value(unsigned bits)
{
	return draw_word() >> (64 - 1 - draw_word() % bits);
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void assert_percentiles(const struct histogram *histogram, uint64_t *values, size_t count)
{
	static const double shares[] = {0, .01, .05, .1, .25, .5, .75, .9, .95, .99, .999, 1};
	double error = pow(10, -(double)histogram->digits), last = 0;

	qsort(values, count, sizeof(*values), by_value);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		size_t rank = (size_t)ceil(shares[i] * (double)count);
		double wanted = (double)values[rank ? rank - 1 : 0],
		       found = (double)histogram_percentile(histogram, shares[i]);

		assert_true(found >= wanted && found - wanted <= wanted * error);
		assert_true(found >= last);
		last = found;
	}
	assert_int_equal(histogram->least, values[0]);
	assert_int_equal(histogram->greatest, values[count - 1]);
}

static void percentiles(void **unused)
{
	uint64_t values[MOST];

	(void)unused;
	for (unsigned digits = HISTOGRAM_LEAST_DIGITS; digits <= HISTOGRAM_MOST_DIGITS; digits++) {
		for (unsigned bits = 1; bits <= 50; bits += 7) {
			struct histogram histogram = histogram_new(digits);
			size_t count = 1 + draw_word() % MOST;
			double mean = 0, squares = 0;
			uint64_t sum = 0;

			for (size_t i = 0; i < count; i++) {
				values[i] = draw_value(bits);
				sum += values[i];
				assert_int_equal(histogram_add(&histogram, values[i]), 0);
			}
			mean = (double)sum / (double)count;
			for (size_t i = 0; i < count; i++)
				squares += ((double)values[i] - mean) * ((double)values[i] - mean);
			assert_int_equal(histogram.count, count);
			assert_int_equal(histogram.sum, sum);
			assert_true(fabs(histogram_mean(&histogram) - mean) <= mean * 1e-9);
			assert_true(fabs(histogram_deviation(&histogram) -
					 sqrt(squares / (double)count)) <= mean * 1e-6);
			assert_percentiles(&histogram, values, count);
			histogram_done(&histogram);
		}
	}
}

static uint64_t count_at(const struct histogram *histogram, size_t place)
{
	size_t chunk = place / HISTOGRAM_CHUNK;

	return chunk < histogram->chunk_count && histogram->chunks[chunk]
		       ? histogram->chunks[chunk][place % HISTOGRAM_CHUNK]
		       : 0;
}

static void assert_same(const struct histogram *a, const struct histogram *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->sum, b->sum);
	assert_int_equal(a->least, b->least);
	assert_int_equal(a->greatest, b->greatest);
	assert_true(histogram_mean(a) == histogram_mean(b));
	assert_true(histogram_deviation(a) == histogram_deviation(b));
	for (size_t i = 0;
	     i < a->chunk_count * HISTOGRAM_CHUNK || i < b->chunk_count * HISTOGRAM_CHUNK; i++)
		assert_int_equal(count_at(a, i), count_at(b, i));
}

/* (a + b) + c is a + (b + c) is all values in one. */
static void merging(void **unused)
{
	struct histogram parts[3], all = histogram_new(3), left = histogram_new(3),
				   right = histogram_new(3), empty = histogram_new(3);

	(void)unused;
	for (size_t k = 0; k < 3; k++) {
		parts[k] = histogram_new(3);
		for (size_t i = 0; i < 500 * k + 1; i++) {
			uint64_t value = draw_value(20 + 12 * (unsigned)k);

			assert_int_equal(histogram_add(&parts[k], value), 0);
			assert_int_equal(histogram_add(&all, value), 0);
		}
	}
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(histogram_merge(&left, &parts[k]), 0);
		assert_int_equal(histogram_merge(&right, &parts[2 - k]), 0);
	}
	assert_int_equal(histogram_merge(&left, &empty), 0);
	assert_same(&left, &all);
	assert_same(&right, &all);
	for (size_t k = 0; k < 3; k++)
		histogram_done(&parts[k]);
	histogram_done(&all);
	histogram_done(&left);
	histogram_done(&right);
}

static void extremes(void **unused)
{
	struct histogram histogram = histogram_new(3);

	(void)unused;
	assert_int_equal(histogram_percentile(&histogram, .5), 0);
	assert_true(histogram_deviation(&histogram) == 0);
	assert_int_equal(histogram_add(&histogram, 0), 0);
	assert_int_equal(histogram_percentile(&histogram, .5), 0);
	assert_int_equal(histogram_add(&histogram, UINT64_MAX), 0);
	assert_int_equal(histogram_percentile(&histogram, 1), UINT64_MAX);
	assert_int_equal(histogram.greatest, UINT64_MAX);
	histogram_done(&histogram);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles),
		cmocka_unit_test(merging),
		cmocka_unit_test(extremes),
	};

	random_state = 88172645463325252ull;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

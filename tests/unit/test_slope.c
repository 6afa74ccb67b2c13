/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slopes and ratios of blocks that are drawn: the truth is in 19 of 20 intervals, or nearly so, and
 * too few blocks say nothing.
 */
#include "delay/slope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"

#define BLOCKS 40
#define ROUNDS 1000
#define LEAST  930 /* of them have the truth in their interval */
#define MEAN   1000000.0

/* A number around 0 of deviation 1: a sum of twelve even ones. */
static double draw_normal(void)
{
	double sum = -6;

	for (unsigned i = 0; i < 12; i++)
		sum += (double)(draw_word() >> 11) / 9007199254740992.0;
	return sum;
}

/* Every second block has a change: calls that take 300 us or 1 ms longer. Operations grow by
 * `slope` times that, or take `ratio` times as long. Blocks differ by a tenth of the mean. */
static void draw_blocks(struct clew_delay_block *blocks, double slope, double ratio)
{
	memset(blocks, 0, BLOCKS * sizeof(*blocks));
	for (unsigned i = 0; i < BLOCKS; i++) {
		double mean = MEAN * (1 + .1 * draw_normal());

		blocks[i].operations = 20 + draw(60);
		if (i % 2) {
			blocks[i].delay = i % 4 == 1 ? 300000 : 1000000;
			blocks[i].delayed = blocks[i].operations;
			blocks[i].added = blocks[i].delayed * blocks[i].delay;
			mean = mean * ratio + slope * (double)blocks[i].delay;
		}
		blocks[i].ns = (uint64_t)(mean * (double)blocks[i].operations);
	}
}

static unsigned count_right(int (*find)(const struct clew_delay_block *, size_t, struct slope *),
			    double slope, double ratio, double truth)
{
	struct clew_delay_block blocks[BLOCKS];
	unsigned right = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct slope found;

		draw_blocks(blocks, slope, ratio);
		assert_int_equal(find(blocks, BLOCKS, &found), 0);
		assert_true(found.known);
		right += found.low <= truth && truth <= found.high;
	}
	return right;
}

static void test_slope(void **unused)
{
	static const double slopes[] = {0, 1, 3};

	(void)unused;
	for (unsigned i = 0; i < sizeof(slopes) / sizeof(slopes[0]); i++) {
		unsigned right = count_right(slope_of, slopes[i], 1, slopes[i]);

		printf("# a slope of %.0f: in %u of %u intervals\n", slopes[i], right, ROUNDS);
		assert_true(right >= LEAST);
	}
}

static void test_ratio(void **unused)
{
	unsigned right = count_right(slope_ratio, 0, 2, 2);

	(void)unused;
	printf("# a ratio of 2: in %u of %u intervals\n", right, ROUNDS);
	assert_true(right >= LEAST);
}

/* An interval that is far off has the truth in none. */
static void test_wrong(void **unused)
{
	(void)unused;
	assert_true(count_right(slope_of, 1, 1, 1.5) < ROUNDS / 4);
	assert_true(count_right(slope_ratio, 0, 2, 2.5) < ROUNDS / 4);
}

static void test_few(void **unused)
{
	struct clew_delay_block blocks[BLOCKS];
	struct slope found;

	(void)unused;
	draw_blocks(blocks, 1, 1);
	assert_int_equal(slope_of(blocks, 2 * SLOPE_LEAST - 1, &found), 0);
	assert_false(found.known);
	assert_int_equal(slope_of(blocks, 2 * SLOPE_LEAST, &found), 0);
	assert_true(found.known);
	/* No call was delayed. */
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i].delayed = blocks[i].added = 0;
	assert_int_equal(slope_of(blocks, BLOCKS, &found), 0);
	assert_false(found.known);
	assert_int_equal(slope_ratio(blocks, BLOCKS, &found), 0);
	assert_true(found.known);
	assert_int_equal(slope_of(blocks, 0, &found), 0);
	assert_false(found.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slope),
		cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_few),
	};

	random_state = 0x510e;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

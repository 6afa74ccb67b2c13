/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judging of differences: sides that are drawn alike seldom differ, also if captures differ from
 * each other by more than blocks do; and what was added is found, about as large as it is.
 */
#include "compare/noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "compare/normal.h"
#include "draw.h"

#define COLUMNS	    6
#define MOST_BLOCKS 200
#define ROUNDS	    100

/* A side that is drawn. Times are 1 ms an operation in each column, on average. */
struct drawn {
	struct noise_side side;
	uint32_t capture[MOST_BLOCKS];
	uint64_t operations[MOST_BLOCKS];
	double sums[MOST_BLOCKS * COLUMNS];
};

static double draw_even(void)
{
	return (double)(draw_word() >> 11) / 9007199254740992.0;
}

/* A number around 0 of deviation 1: a sum of twelve even ones. */
static double draw_normal(void)
{
	double sum = -6;

	for (unsigned i = 0; i < 12; i++)
		sum += draw_even();
	return sum;
}

/* `between`: the deviation of captures, of the mean; `more`: ns an operation in column 1. */
static void draw_side(struct drawn *drawn, uint32_t captures, size_t blocks, double between,
		      double more)
{
	drawn->side = (struct noise_side){.blocks = blocks,
					  .captures = captures,
					  .capture = drawn->capture,
					  .operations = drawn->operations,
					  .sums = drawn->sums};
	for (uint32_t capture = 0, block = 0; capture < captures; capture++) {
		double mean = 1e6 * (1 + between * draw_normal());

		for (size_t i = 0; i < blocks / captures; i++, block++) {
			drawn->capture[block] = capture;
			drawn->operations[block] = 10 + draw_word() % 30;
			drawn->sums[block * COLUMNS] = 0;
			for (size_t column = 1; column < COLUMNS; column++) {
				double each =
					mean * (1 + 0.2 * draw_normal()) + (column == 1 ? more : 0);

				drawn->sums[block * COLUMNS + column] =
					each * (double)drawn->operations[block];
				drawn->sums[block * COLUMNS] +=
					drawn->sums[block * COLUMNS + column];
			}
		}
	}
	drawn->side.blocks = blocks / captures * captures;
}

/* The columns that are beyond noise, as bits. */
static unsigned judge(const struct drawn *before, const struct drawn *after,
		      struct noise_difference *differences)
{
	struct noise_difference *all[COLUMNS];
	unsigned beyond = 0;

	assert_int_equal(noise_differences(&before->side, &after->side, COLUMNS, differences), 0);
	for (size_t i = 0; i < COLUMNS; i++)
		all[i] = &differences[i];
	noise_judge(all, COLUMNS);
	for (size_t i = 0; i < COLUMNS; i++)
		beyond |= (unsigned)differences[i].beyond << i;
	return beyond;
}

/* Counts the rounds in which sides differ. *ret_added: those in which column 1 did. */
static unsigned count(uint32_t captures, size_t blocks, double between, double more,
		      unsigned *ret_added)
{
	static struct drawn before, after;
	struct noise_difference differences[COLUMNS];
	unsigned any = 0;

	*ret_added = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned beyond;

		draw_side(&before, captures, blocks, between, 0);
		draw_side(&after, captures, blocks, between, more);
		beyond = judge(&before, &after, differences);
		any += beyond != 0;
		*ret_added += beyond >> 1 & 1;
	}
	return any;
}

static void test_alike(void **unused)
{
	unsigned added;

	(void)unused;
	assert_in_range(count(1, 60, 0, 0, &added), 0, 10);
	assert_in_range(count(5, 150, 0, 0, &added), 0, 10);
	assert_in_range(count(5, 150, 0.1, 0, &added), 0, 10);
	assert_in_range(count(3, 150, 0.1, 0, &added), 0, 10);
}

static void test_added(void **unused)
{
	unsigned added;

	(void)unused;
	assert_in_range(count(1, 100, 0, 2e5, &added), 95, ROUNDS);
	assert_in_range(added, 95, ROUNDS);
	count(5, 150, 0, 2e5, &added);
	assert_in_range(added, 95, ROUNDS);
	/* One of five captures is ten times as slow: it is not said that all are. */
	count(5, 150, 0.5, 2e5, &added);
	assert_in_range(added, 0, 10);
}

/* Intervals have what was added, in 95 of 100 rounds on average. */
static void test_interval(void **unused)
{
	static struct drawn before, after;
	struct noise_difference differences[COLUMNS];
	unsigned inside = 0;

	(void)unused;
	for (unsigned round = 0; round < ROUNDS; round++) {
		draw_side(&before, 4, 120, 0.05, 0);
		draw_side(&after, 4, 120, 0.05, 1e5);
		judge(&before, &after, differences);
		inside += differences[1].low <= 1e5 && differences[1].high >= 1e5;
		assert_true(differences[1].low <= differences[1].change);
		assert_true(differences[1].high >= differences[1].change);
	}
	assert_in_range(inside, 88, ROUNDS);
}

static void test_constant(void **unused)
{
	static struct drawn before, after;
	struct noise_difference differences[COLUMNS];

	(void)unused;
	draw_side(&before, 1, 40, 0, 0);
	draw_side(&after, 1, 40, 0, 0);
	for (size_t i = 0; i < 40u * COLUMNS; i++) {
		before.sums[i] = 5e5 * (double)before.operations[i / COLUMNS];
		after.sums[i] =
			(i % COLUMNS == 2 ? 6e5 : 5e5) * (double)after.operations[i / COLUMNS];
	}
	assert_int_equal(judge(&before, &after, differences), 1 << 2);
	assert_true(differences[2].p == 0 && fabs(differences[2].low - 1e5) < 1);
	assert_true(differences[3].p == 1);
}

static void assert_normal(const char *text, bool numbered, const char *expected)
{
	char buffer[128];

	snprintf(buffer, sizeof(buffer), "%s", text);
	normal_text(buffer, numbered);
	assert_string_equal(buffer, expected);
}

static void test_names(void **unused)
{
	(void)unused;
	assert_normal("futex 0x7f3bdd671498", false, "futex *");
	assert_normal("pipe:[7]", false, "pipe:[*]");
	assert_normal("/tmp/x.12345/page2", false, "/tmp/x.*/page2");
	assert_normal("requests of a to 127.0.0.1:8080", false, "requests of a to 127.0.0.1:8080");
	assert_normal("requests of a to 127.0.0.1:40123", false, "requests of a to 127.0.0.1:*");
	assert_normal("[::1]:5432", false, "[::1]:5432");
	assert_normal("mmap_lock of worker-12", true, "mmap_lock of worker-*");
	assert_normal("mmap_lock of worker-12", false, "mmap_lock of worker-12");
	assert_normal("", false, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alike),	 cmocka_unit_test(test_added),
		cmocka_unit_test(test_interval), cmocka_unit_test(test_constant),
		cmocka_unit_test(test_names),
	};

	random_state = 0x51;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

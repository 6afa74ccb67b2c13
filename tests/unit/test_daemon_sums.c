/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of the daemon: they are bounded, lose no time, and never fall. */
#include "daemon/sums.h"
#include "daemon/turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MINUTE 60000000000ull

static uint64_t all_blamed(const struct sums *sums)
{
	uint64_t all = 0;

	for (size_t i = 0; i < sums->pair_count; i++)
		all += sums->pairs[i].ns;
	return all;
}

static void test_groups(void **state)
{
	struct sums sums;
	char path[32];

	(void)state;
	assert_int_equal(sums_init(&sums), 0);
	for (unsigned i = 1; i < 3 * SUMS_GROUPS_MOST; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		assert_int_equal(sums_group_of(&sums, i, path),
				 i < SUMS_GROUPS_MOST ? i : SUMS_OTHER);
	}
	assert_int_equal(sums_group_of(&sums, 7, NULL), 7);
	assert_int_equal(sums_group_of(&sums, 5000, NULL), SUMS_OTHER);
	sums_done(&sums);
	/* A group that was made again has the old one's sums. */
	assert_int_equal(sums_init(&sums), 0);
	assert_int_equal(sums_group_of(&sums, 1, "/a"), 1);
	assert_int_equal(sums_group_of(&sums, 2, "/a"), 1);
	sums_done(&sums);
}

static void test_pairs(void **state)
{
	struct sums sums;
	uint64_t known = 0;

	(void)state;
	assert_int_equal(sums_init(&sums), 0);
	for (unsigned i = 0; i < 10000; i++) {
		struct sums_pair charge = {.victim = (uint32_t)(rand() % 40),
					   .antagonist = (uint32_t)(rand() % 40),
					   .kind = (unsigned)rand() % (CLEW_SEGMENT_RUNQUEUE + 1),
					   .ns = (uint64_t)rand() % 1000,
					   .grown = i * MINUTE};

		known += charge.ns;
		sums_blame(&sums, &charge);
		assert_true(sums.pair_count <= sizeof(sums.pairs) / sizeof(sums.pairs[0]));
		assert_int_equal(all_blamed(&sums), known);
	}
	sums_done(&sums);
	/* A pair that grew lately stays; others are added to "other" then. */
	assert_int_equal(sums_init(&sums), 0);
	for (uint32_t i = 1; i <= SUMS_PAIRS_MOST + 5; i++)
		sums_blame(&sums, &(struct sums_pair){.victim = i, .antagonist = i, .ns = 1});
	assert_int_equal(sums.pair_count, SUMS_PAIRS_MOST + 1);
	assert_int_equal(sums.pairs[SUMS_PAIRS_MOST].ns, 5);
	sums_blame(&sums, &(struct sums_pair){
				  .victim = 99, .antagonist = 99, .ns = 1, .grown = 11 * MINUTE});
	assert_int_equal(sums.pairs[0].victim, 99);
	assert_int_equal(sums.pairs[SUMS_PAIRS_MOST].ns, 6);
	sums_done(&sums);
}

static void charge(void *context, uint32_t group, uint64_t ns)
{
	((uint64_t *)context)[group] += ns;
}

static void test_turns(void **state)
{
	struct turns turns = {};
	uint64_t charged[3] = {};

	(void)state;
	turns_between(&turns, 3, 0, 100, charge, charged);
	for (uint64_t i = 0; i < 2 * TURNS_MOST; i++)
		assert_int_equal(
			turns_add(&turns, 3, (struct turn){10 * i, 10 * i + 8, i % 2 ? 1 : 2}), 0);
	turns_between(&turns, 3, 10 * (2 * TURNS_MOST - 2) + 3, 10 * (2 * TURNS_MOST - 1) + 2,
		      charge, charged);
	assert_true(charged[0] == 0 && charged[1] == 2 && charged[2] == 5);
	/* What lies back too far is charged to nobody. */
	turns_between(&turns, 3, 0, 10 * TURNS_MOST, charge, charged);
	assert_true(charged[1] == 2 && charged[2] == 5);
	turns_done(&turns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

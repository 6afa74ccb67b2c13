/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of the daemon: they are bounded, lose no time, and never fall. */
#include "daemon/served.h"
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
	/* A run that has left the ring is charged to nobody. */
	turns_between(&turns, 3, 0, 10 * TURNS_MOST, charge, charged);
	assert_true(charged[1] == 2 && charged[2] == 5);
	turns_done(&turns);
}

#define REQUESTS 3000u
#define GROUPS	 4u
#define DISK	 8u

static void charge_wait(void *context, const struct served_wait *wait, uint32_t group, uint64_t ns)
{
	((uint64_t *)context)[wait->group * GROUPS + group] += ns;
}

/* Requests of random length, up to 16 at once; they are numbered as they end. */
static void make_requests(struct served_request *requests)
{
	uint64_t now = 1000, under_way[16] = {};

	for (unsigned i = 0; i < 16; i++)
		under_way[i] = 1 + (uint64_t)rand() % 900;
	for (unsigned i = 0; i < REQUESTS; i++) {
		unsigned slot = (unsigned)rand() % 16;

		now += 1 + (uint64_t)rand() % 50;
		requests[i] = (struct served_request){.queued = under_way[slot],
						      .end = now,
						      .task = 1 + slot,
						      .group = slot % GROUPS};
		under_way[slot] = now + (uint64_t)rand() % 20;
	}
}

/* The expected charge, by brute force: each group is charged up to the last moment at which it had
 * a request ahead. */
static void add_expected(const struct served_request *requests, const struct served_wait *wait,
			 uint64_t *sums)
{
	for (uint32_t group = 0; group < GROUPS; group++) {
		uint64_t until = wait->from;

		for (unsigned i = 0; i < REQUESTS; i++)
			if (requests[i].group == group && requests[i].task != wait->task &&
			    requests[i].queued < wait->queued && requests[i].end > until)
				until = requests[i].end < wait->to ? requests[i].end : wait->to;
		sums[wait->group * GROUPS + group] += until - wait->from;
	}
}

static void test_served(void **state)
{
	static struct served_request requests[REQUESTS];
	uint64_t charged[GROUPS * GROUPS] = {}, expected[GROUPS * GROUPS] = {};
	struct served served = {.charge = charge_wait, .context = charged};

	(void)state;
	make_requests(requests);
	for (unsigned i = 0; i < REQUESTS; i++) {
		const struct served_request *own = &requests[i];
		const struct served_wait wait = {.from = own->queued + (uint64_t)rand() % 30,
						 .to = own->end,
						 .queued = own->queued,
						 .task = own->task,
						 .group = own->group};

		assert_int_equal(served_add(&served, DISK, own), 0);
		/* Another disk's are nobody's. */
		assert_int_equal(served_add(&served, DISK + 1, own), 0);
		if (i % 5 || wait.from >= wait.to)
			continue;
		served_await(&served, DISK, &wait);
		served_await(&served, DISK + 2, &wait);
		add_expected(requests, &wait, expected);
	}
	served_step(&served, requests[REQUESTS - 1].end + 2 * SERVED_GRACE);
	for (unsigned i = 0; i < GROUPS * GROUPS; i++) {
		assert_int_equal(charged[i], expected[i]);
		assert_true(charged[i] > 0);
	}
	served_done(&served);
}

/* A request that has left the ring is charged to nobody, and memory is bounded. */
static void test_served_bounds(void **state)
{
	uint64_t charged[GROUPS * GROUPS] = {};
	struct served served = {.charge = charge_wait, .context = charged};
	const struct served_wait wait = {
		.from = 10, .to = UINT32_MAX, .queued = 5, .task = 9, .group = 1};

	(void)state;
	for (uint32_t i = 0; i < 2 * SERVED_DISKS; i++)
		assert_int_equal(
			served_add(&served, i,
				   &(struct served_request){.queued = 1, .end = 20, .group = 2}),
			0);
	assert_int_equal(served.count, SERVED_DISKS);
	for (uint32_t i = 0; i < 3 * SERVED_WAITS; i++)
		served_await(&served, DISK, &wait);
	assert_int_equal(charged[GROUPS + 2], 10 * 2 * SERVED_WAITS);
	for (uint32_t i = 0; i < SERVED_REQUESTS; i++)
		assert_int_equal(served_add(&served, DISK + 1,
					    &(struct served_request){
						    .queued = 30 + i, .end = 40 + i, .group = 2}),
				 0);
	served_await(&served, DISK + 1, &wait);
	served_step(&served, UINT32_MAX + 2 * SERVED_GRACE);
	assert_int_equal(charged[GROUPS + 2], 10 * 3 * SERVED_WAITS);
	served_done(&served);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),	      cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_turns),	      cmocka_unit_test(test_served),
		cmocka_unit_test(test_served_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

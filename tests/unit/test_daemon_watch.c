/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A watch beside a builder: what goes on and what has ended is counted, without clew's own. */
#include "daemon/watch.h"
#include "synthetic.h"

#define OTHERS 1u /* that slept already when recording began */
#define OWN    2u
#define LATER  3u

static void get_account(void *context, const struct account *account, const struct clew_rule *rules,
			const struct clew_rule_counts *counts, size_t count)
{
	(void)rules;
	(void)counts;
	(void)count;
	*(const struct account **)context = account;
}

static void begin(struct synthetic *s)
{
	const struct clew_wait wait = wait_on(SYS_read, CLEW_OBJECT_PIPE, 9);

	identify(s, (struct identity){.task = OTHERS});
	identify(s, (struct identity){.task = OWN, .flags = CLEW_TASK_SELF});
	identify(s, (struct identity){.task = LATER});
	found_asleep(s, START + 10, OTHERS, wait);
	found_asleep(s, START + 10, OWN, wait);
	sleeps(s, START + 5000, 0, LATER, wait);
}

static void test_own(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	const uint64_t end = START + 4 * CLEW_STEP;
	const struct account *account;
	const struct ongoing_kind *open;
	struct clew_finding_taker taker;
	struct clew_builder *builder;
	struct clew_watch *watch;
	struct synthetic s = {};

	(void)state;
	assert_int_equal(clew_watch_new(&watch), 0);
	taker = clew_watch_taker(watch);
	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	clew_watch_read(watch, get_account, &account);
	open = &account->ongoing.kinds[CLEW_WAIT_PIPE];
	begin(&s);
	synthetic_flush(builder, &s);
	assert_int_equal(clew_builder_advance(builder, 2 * CLEW_STEP), 0);
	assert_int_equal(open->count, 2);
	/* The oldest is from before the recording, and began with it. */
	assert_int_equal(account->ongoing.at - open->longest, START);
	comes(&s, end, 0, LATER, (struct woken){.at = end - 100, .by = 77});
	comes(&s, end, 1, OWN, (struct woken){.at = end - 100, .by = 77});
	synthetic_flush(builder, &s);
	/* They are counted once a second. */
	assert_int_equal(clew_builder_advance(builder, 5 * CLEW_STEP), 0);
	assert_int_equal(open->count, 2);
	assert_int_equal(clew_builder_advance(builder, 20 * CLEW_STEP), 0);
	assert_int_equal(open->count, 1);
	assert_int_equal(account->lengths.kinds[CLEW_WAIT_PIPE].count, 1);
	assert_int_equal(account->lengths.kinds[CLEW_WAIT_PIPE].ns, end - 100 - START - 5000);
	assert_int_equal(account->lengths.kinds[CLEW_SEGMENT_RUNQUEUE].count, 1);
	assert_int_equal(account->lengths.kinds[CLEW_SEGMENT_RUNQUEUE].ns, 100);
	assert_int_equal(clew_builder_finish(builder, 21 * CLEW_STEP), 0);
	/* A wait that is open at the end counts nowhere. */
	assert_int_equal(account->lengths.kinds[CLEW_WAIT_PIPE].count, 1);
	clew_builder_free(builder);
	clew_watch_free(watch);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_own)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

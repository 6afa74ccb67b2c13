/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sets of writers over a long time: those in use keep their numbers and tasks, the others
 * are freed, and a builder does not grow with the number of tasks that ever wrote.
 */
#include "page_records.h"

#include "builder/builder.h"
#include "builder/pages.h"

#define MANY 1200000u /* more sets than a builder had room for before they were freed */

static void assert_pair(const struct epoch_table *table, uint32_t set, uint32_t one, uint32_t two)
{
	uint32_t tasks[2];

	assert_int_equal(table->sets[set].count, 2);
	epoch_set_tasks(table, set, tasks);
	assert_int_equal(tasks[0], one);
	assert_int_equal(tasks[1], two);
}

static uint32_t make_pair(struct epoch_table *table, uint32_t one, uint32_t two)
{
	uint32_t set = epoch_set_with(table, epoch_set_with(table, 0, two), one);

	assert_int_not_equal(set, UINT32_MAX);
	return set;
}

static void sweep(struct epoch_table *table, const uint32_t *kept, size_t count)
{
	uint64_t *keep = calloc(table->set_count / 64 + 1, sizeof(*keep));

	assert_non_null(keep);
	for (size_t i = 0; i < count; i++)
		epoch_sets_keep(table, keep, kept[i]);
	assert_int_equal(epoch_sets_sweep(table, keep), 0);
	free(keep);
}

static void kept_and_freed(void **state)
{
	struct epoch_table table = {0};
	uint32_t kept[100], before;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t set = make_pair(&table, 2 * i + 1, 2 * i + 2);

		if (i % 100 == 0)
			kept[i / 100] = set;
	}
	before = table.set_count;
	for (unsigned turn = 0; turn < 3; turn++) {
		sweep(&table, kept, 100);
		/* A pair, and the set of its lesser task. */
		assert_int_equal(table.set_kept, 200);
		assert_int_equal(table.set_count - 1 - table.set_free_count, 200);
		for (uint32_t i = 0; i < 100; i++) {
			assert_pair(&table, kept[i], 200 * i + 1, 200 * i + 2);
			assert_int_equal(make_pair(&table, 200 * i + 1, 200 * i + 2), kept[i]);
		}
		/* Others come into the places that are free. */
		for (uint32_t i = 0; i < 3000; i++)
			make_pair(&table, 100000 * (turn + 1) + i, 1000000 + i);
		assert_int_equal(table.set_count, before);
	}
	epoch_done(&table);
}

struct last {
	uint32_t writers[4], count;
};

static int take_pages(void *context, struct clew_finding finding)
{
	struct last *last = context;

	last->count = finding.pages->writer_count;
	for (uint32_t i = 0; i < last->count && i < 4; i++)
		last->writers[i] = finding.pages->writers[i];
	return 0;
}

/* Two tasks write to a page that stays dirty while many others come and go. */
static void many_writers(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct last last = {0};
	struct clew_finding_taker taker = {.wants = CLEW_FINDING_BIT(CLEW_FINDING_PAGES),
					   .take = take_pages,
					   .context = &last};
	struct clew_builder *builder;
	struct synthetic s = {0};
	uint64_t at = START + 5000;
	size_t most = 0;

	(void)state;
	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	threads(&s, 9);
	writes(&s, START + 2000, 1, FILE_A, 0, 1);
	rewrites(&s, START + 3000, 2, FILE_A, 0, 1);
	for (uint32_t i = 0; i < MANY; i++, at += MS) {
		writes(&s, at, 100 + i, FILE_B, i % 7, 1);
		if (i % 3 == 2)
			touch(&s, at + 100, at + 120, CLEW_EXTENT_DROP, 100 + i, FILE_B, 0, 7);
		synthetic_flush(builder, &s);
		if (build_pages_memory(builder) > most)
			most = build_pages_memory(builder);
	}
	writes_out(&s, at, 0x100, FLUSH, 800, FILE_A, 0, 1);
	synthetic_flush(builder, &s);
	assert_int_equal(clew_builder_finish(builder, at + 10000 * MS), 0);
	assert_int_equal(last.count, 2);
	assert_int_equal(last.writers[0], 1);
	assert_int_equal(last.writers[1], 2);
	assert_in_range(most, 1, 100 << 20);
	clew_builder_free(builder);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_and_freed),
		cmocka_unit_test(many_writers),
	};

	return cmocka_run_group_tests_name("build_sets", tests, NULL, NULL);
}

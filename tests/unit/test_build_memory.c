/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A builder with a limit of memory: whatever tasks write, it stays within, it never fails,
 * and what it forgets is what was used least recently.
 */
#include "page_records.h"

#include "builder/builder.h"
#include "builder/pages.h"

#define MEMORY_MOST (1u << 20)
#define WRITES	    400000u
#define FIRST_FILE  1000u

/* Files of the last finding of each kind that the test asks about. */
struct last {
	uint64_t inode;
	uint32_t writer;
	bool known;
};

static int take_pages(void *context, struct clew_finding finding)
{
	struct last *last = context;

	last->inode = finding.pages->inode;
	last->known = finding.pages->known && finding.pages->writer_count;
	last->writer = last->known ? finding.pages->writers[0] : 0;
	return 0;
}

/* Writes pages of a file out, and lets their writers become known. */
static void write_out(struct clew_builder *builder, struct synthetic *s, uint64_t *at,
		      uint64_t inode)
{
	writes_out(s, *at, 0x100, FLUSH, 800, inode, 0, 1);
	*at += 5000 * MS;
	synthetic_flush(builder, s);
	assert_int_equal(clew_builder_advance(builder, *at), 0);
}

static void within_limit(void **state)
{
	struct clew_builder_options options = {
		.size = sizeof(options), .start = START, .memory_most = MEMORY_MOST};
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
	/* Each write is a file's first, by a task of its own, and stays dirty. */
	for (uint32_t i = 0; i < WRITES; i++, at += 10 * MS) {
		writes(&s, at, 100 + i, FIRST_FILE + i, 0, 1);
		synthetic_flush(builder, &s);
		if (i % 100 == 0 && build_pages_memory(builder) > most)
			most = build_pages_memory(builder);
	}
	assert_in_range(most, MEMORY_MOST / 4, MEMORY_MOST + MEMORY_MOST / 10);
	assert_in_range(clew_builder_forgotten(builder).pages, WRITES / 2, WRITES);
	at += 5000 * MS;
	write_out(builder, &s, &at, FIRST_FILE + WRITES - 1);
	assert_int_equal(last.inode, FIRST_FILE + WRITES - 1);
	assert_true(last.known);
	assert_int_equal(last.writer, 100 + WRITES - 1);
	write_out(builder, &s, &at, FIRST_FILE);
	assert_int_equal(last.inode, FIRST_FILE);
	assert_false(last.known);
	assert_int_equal(clew_builder_finish(builder, at), 0);
	clew_builder_free(builder);
	synthetic_done(&s);
}

/* A file that is written to again and again stays, although it came first. */
static void used_again(void **state)
{
	struct clew_builder_options options = {
		.size = sizeof(options), .start = START, .memory_most = MEMORY_MOST};
	struct last last = {0};
	struct clew_finding_taker taker = {.wants = CLEW_FINDING_BIT(CLEW_FINDING_PAGES),
					   .take = take_pages,
					   .context = &last};
	struct clew_builder *builder;
	struct synthetic s = {0};
	uint64_t at = START + 5000;

	(void)state;
	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	threads(&s, 9);
	writes(&s, START + 2000, 1, FILE_A, 0, 1);
	for (uint32_t i = 0; i < WRITES / 10; i++, at += 10 * MS) {
		writes(&s, at, 100 + i, FIRST_FILE + i, 0, 1);
		if (i % 500 == 0)
			rewrites(&s, at + 1000, 1, FILE_A, 0, 1);
		synthetic_flush(builder, &s);
	}
	assert_true(clew_builder_forgotten(builder).pages > 0);
	at += 5000 * MS;
	write_out(builder, &s, &at, FILE_A);
	assert_int_equal(last.inode, FILE_A);
	assert_true(last.known);
	assert_int_equal(last.writer, 1);
	clew_builder_free(builder);
	synthetic_done(&s);
}

/* Without a limit nothing of this is forgotten. */
static void without_limit(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct last last = {0};
	struct clew_finding_taker taker = {.wants = CLEW_FINDING_BIT(CLEW_FINDING_PAGES),
					   .take = take_pages,
					   .context = &last};
	struct clew_builder *builder;
	struct synthetic s = {0};
	uint64_t at = START + 5000;

	(void)state;
	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	threads(&s, 9);
	for (uint32_t i = 0; i < WRITES / 10; i++, at += 10 * MS) {
		writes(&s, at, 100 + i, FIRST_FILE + i, 0, 1);
		synthetic_flush(builder, &s);
	}
	assert_int_equal(clew_builder_forgotten(builder).pages, 0);
	assert_true(build_pages_memory(builder) > 2 * MEMORY_MOST);
	at += 5000 * MS;
	write_out(builder, &s, &at, FIRST_FILE);
	assert_true(last.known);
	assert_int_equal(last.writer, 100);
	clew_builder_free(builder);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_limit),
		cmocka_unit_test(used_again),
		cmocka_unit_test(without_limit),
	};

	return cmocka_run_group_tests_name("build_memory", tests, NULL, NULL);
}

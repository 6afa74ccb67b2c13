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

/* A builder of pages, and the time of the next write. */
struct writing {
	struct clew_builder *builder;
	struct synthetic s;
	struct last last;
	uint64_t at;
};

static void writing_begin(struct writing *writing, size_t memory_most)
{
	struct clew_builder_options options = {
		.size = sizeof(options), .start = START, .memory_most = memory_most};
	struct clew_finding_taker taker = {.wants = CLEW_FINDING_BIT(CLEW_FINDING_PAGES),
					   .take = take_pages,
					   .context = &writing->last};

	*writing = (struct writing){.at = START + 5000};
	assert_int_equal(clew_builder_new(&options, &taker, 1, &writing->builder), 0);
	threads(&writing->s, 9);
}

static void writing_end(struct writing *writing)
{
	assert_int_equal(clew_builder_finish(writing->builder, writing->at), 0);
	clew_builder_free(writing->builder);
	synthetic_done(&writing->s);
}

/* A file's first write, by a task of its own; it stays dirty. */
static void write_file(struct writing *writing, uint32_t number)
{
	writes(&writing->s, writing->at, 100 + number, FIRST_FILE + number, 0, 1);
	synthetic_flush(writing->builder, &writing->s);
	writing->at += 10 * MS;
}

/* Writes pages of a file out, lets their writers become known, and compares. `writer`: 0 if it
 * is to be forgotten. */
static void write_out(struct writing *writing, uint64_t inode, uint32_t writer)
{
	writing->at += 5000 * MS;
	writes_out(&writing->s, writing->at, 0x100, FLUSH, 800, inode, 0, 1);
	writing->at += 5000 * MS;
	synthetic_flush(writing->builder, &writing->s);
	assert_int_equal(clew_builder_advance(writing->builder, writing->at), 0);
	assert_int_equal(writing->last.inode, inode);
	assert_int_equal(writing->last.known, writer != 0);
	assert_int_equal(writing->last.writer, writer);
}

static void within_limit(void **state)
{
	struct writing writing;
	size_t most = 0;

	(void)state;
	writing_begin(&writing, MEMORY_MOST);
	for (uint32_t i = 0; i < WRITES; i++) {
		write_file(&writing, i);
		if (i % 100 == 0 && build_pages_memory(writing.builder) > most)
			most = build_pages_memory(writing.builder);
	}
	assert_in_range(most, MEMORY_MOST / 4, MEMORY_MOST + MEMORY_MOST / 10);
	assert_in_range(clew_builder_forgotten(writing.builder).pages, WRITES / 2, WRITES);
	write_out(&writing, FIRST_FILE + WRITES - 1, 100 + WRITES - 1);
	write_out(&writing, FIRST_FILE, 0);
	writing_end(&writing);
}

/* A file that is written to again and again stays, although it came first. */
static void used_again(void **state)
{
	struct writing writing;

	(void)state;
	writing_begin(&writing, MEMORY_MOST);
	writes(&writing.s, START + 2000, 1, FILE_A, 0, 1);
	for (uint32_t i = 0; i < WRITES / 10; i++) {
		write_file(&writing, i);
		if (i % 500 == 0)
			rewrites(&writing.s, writing.at - 5 * MS, 1, FILE_A, 0, 1);
	}
	assert_true(clew_builder_forgotten(writing.builder).pages > 0);
	write_out(&writing, FILE_A, 1);
	writing_end(&writing);
}

/* Without a limit nothing of this is forgotten. */
static void without_limit(void **state)
{
	struct writing writing;

	(void)state;
	writing_begin(&writing, 0);
	for (uint32_t i = 0; i < WRITES / 10; i++)
		write_file(&writing, i);
	assert_int_equal(clew_builder_forgotten(writing.builder).pages, 0);
	assert_true(build_pages_memory(writing.builder) > 2 * MEMORY_MOST);
	write_out(&writing, FIRST_FILE, 100);
	writing_end(&writing);
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests the writers of a request's pages: epochs of pages with synthetic records.
 */
#include "page_records.h"

static void test_all_writers(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 4);
	rewrites(&s, 3000, 3, FILE_A, 1, 1);
	rewrites(&s, 4000, 2, FILE_A, 1, 2);
	writes(&s, 5000, 4, FILE_B, 7, 1);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 4);
	/* A page that is written anew belongs to the next pass alone. */
	writes(&s, 20000, 5, FILE_A, 1, 1);
	writes_out(&s, 30000, 0x100, FLUSH, 808, FILE_A, 1, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(page_count(trace, 0), 4);
	assert_writers(trace, 0, 0, 0, 1, "1");
	assert_writers(trace, 0, 1, 1, 1, "1 2 3");
	assert_writers(trace, 0, 2, 2, 1, "1 2");
	assert_writers(trace, 0, 3, 3, 1, "1");
	assert_int_equal(extent_of(trace, 0, 2)->sector, 816);
	assert_int_equal(extent_of(trace, 0, 2)->dirtied, 2001);
	assert_writers(trace, 1, 0, 1, 1, "5");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A second write of a task to pages that it made dirty counts as asked for, and changes no
 * page, wherever it was. */
static void test_again(void **state)
{
	struct synthetic s = {0};
	const struct clew_touch *touches;
	struct clew_trace *trace;
	uint64_t asked = 0;
	size_t count;

	(void)state;
	threads(&s, 9);
	EXTENT(&s, 2020, CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN, .begin = 2000, .inode = FILE_A,
	       .offset = 0, .bytes = PAGE, .device = SYSTEM, .task = 1);
	writes(&s, 2500, 2, FILE_A, 1, 1);
	/* Its bytes, put together, reach over the page of another. */
	EXTENT(&s, 3020, CLEW_EXTENT_AGAIN, .begin = 3000, .inode = FILE_A, .offset = 100,
	       .bytes = 2 * PAGE - 100, .device = SYSTEM, .task = 1);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 2);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 1, "1");
	assert_writers(trace, 0, 1, 1, 1, "2");
	touches = clew_trace_touches(trace, &count);
	for (size_t i = 0; i < count; i++)
		asked += touches[i].task == 1 && touches[i].event == CLEW_TOUCH_WRITE
				 ? touches[i].bytes
				 : 0;
	assert_int_equal(asked, 3 * PAGE - 100);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* One record tells what a call wrote, and that it made the pages of that dirty. */
static void test_part_of_page(void **state)
{
	struct synthetic s = {0};
	const struct clew_touch *touches;
	struct clew_trace *trace;
	size_t count;

	(void)state;
	threads(&s, 9);
	EXTENT(&s, 2020, CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN, .begin = 2000, .inode = FILE_A,
	       .offset = PAGE - 10, .bytes = 30, .device = SYSTEM, .task = 1);
	EXTENT(&s, 3020, CLEW_EXTENT_WRITE, .begin = 3000, .inode = FILE_A, .offset = PAGE + 20,
	       .bytes = 10, .device = SYSTEM, .task = 2);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 2);
	/* On its way to the disk a page is written to again. */
	writes(&s, 15000, 4, FILE_A, 2, 1);
	bio(&s, 20000, 0x200, FLUSH, 816, FILE_A, 2, 1);
	EXTENT(&s, 20120, CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN, .begin = 20100, .inode = FILE_A,
	       .offset = 2 * PAGE + 1, .bytes = 1, .device = SYSTEM, .task = 3);
	issue(&s, 20200, 0x201, 0x200, 816, 1);
	complete(&s, 21000, 0x201, 816, 1);
	writes_out(&s, 30000, 0x300, FLUSH, 816, FILE_A, 2, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 1, "1");
	assert_writers(trace, 0, 1, 1, 1, "1 2");
	assert_writers(trace, 1, 0, 2, 1, "4 3!");
	assert_writers(trace, 2, 0, 2, 1, "3");
	touches = clew_trace_touches(trace, &count);
	assert_true(count >= 2);
	for (size_t i = 0; i < count; i++) {
		if (touches[i].begin == 2000 && touches[i].event == CLEW_TOUCH_DIRTY) {
			assert_int_equal(touches[i].offset, 0);
			assert_int_equal(touches[i].bytes, 2 * PAGE);
		} else if (touches[i].begin == 2000) {
			assert_int_equal(touches[i].event, CLEW_TOUCH_WRITE);
			assert_int_equal(touches[i].bytes, 30);
		}
	}
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void test_on_its_way(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 3);
	bio(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 3);
	issue(&s, 10100, 0x101, 0x100, 800, 3);
	writes(&s, 10500, 2, FILE_A, 1, 1);
	complete(&s, 11000, 0x101, 800, 3);
	writes(&s, 12000, 3, FILE_A, 2, 1);
	writes_out(&s, 20000, 0x200, FLUSH, 808, FILE_A, 1, 2);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 1, "1");
	assert_writers(trace, 0, 1, 1, 1, "1 2!");
	assert_writers(trace, 0, 2, 2, 1, "1");
	assert_writers(trace, 1, 0, 1, 1, "2");
	assert_writers(trace, 1, 1, 2, 1, "3");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A row of writes begins before the landing and is told after it: of its first page alone it is
 * known that it was on its way. */
static void test_row_across_landing(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	for (uint64_t at = 10000, told = 10900; at <= 70000; at += 20000, told += 20500) {
		const uint64_t page = at / 1000 * 64 - 2;

		writes(&s, at - 8000, 1, FILE_A, page, 4);
		bio(&s, at, 0x100, FLUSH, 800, FILE_A, page, 4);
		issue(&s, at + 100, 0x101, 0x100, 800, 4);
		complete(&s, at + 1000, 0x101, 800, 4);
		/* Two writers, the first one's row is told in time. */
		touch(&s, at + 300, at + 310, CLEW_EXTENT_WRITE, 3, FILE_A, page + 2, 1);
		touch(&s, at + 301, at + 311, CLEW_EXTENT_DIRTY, 3, FILE_A, page + 2, 1);
		touch(&s, at + 500, told, CLEW_EXTENT_WRITE, 2, FILE_A, page, 4);
		touch(&s, at + 501, told + 1, CLEW_EXTENT_DIRTY, 2, FILE_A, page, 2);
		touch(&s, at + 502, told + 2, CLEW_EXTENT_DIRTY, 2, FILE_A, page + 3, 1);
		writes_out(&s, at + 5000, 0x200, FLUSH, 800, FILE_A, page, 4);
	}
	trace = synthetic_trace(&s, 100000, 0);
	assert_writers(trace, 0, 0, 638, 2, "1 2!");
	assert_writers(trace, 0, 1, 640, 1, "1 2! 3!");
	assert_writers(trace, 0, 2, 641, 1, "1 2!");
	for (unsigned lap = 1; lap < 4; lap++) {
		const uint64_t page = (10 + lap * 20) * 64 - 2;

		assert_writers(trace, 2 * lap, 0, page, 1, "1 2!");
		assert_writers(trace, 2 * lap, 1, page + 1, 1, "1");
		assert_writers(trace, 2 * lap, 2, page + 2, 1, "1 3!");
		assert_writers(trace, 2 * lap, 3, page + 3, 1, "1");
		assert_writers(trace, 2 * lap + 1, 0, page, 2, "2");
		assert_writers(trace, 2 * lap + 1, 1, page + 2, 1, "2 3");
		assert_writers(trace, 2 * lap + 1, 2, page + 3, 1, "2");
	}
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Two such rows, and one between that is told in time: who is not known to have written in time is
 * in no set, whoever wrote last. */
static void test_rows_across_landing(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 640, 4);
	bio(&s, 10000, 0x100, FLUSH, 800, FILE_A, 640, 4);
	issue(&s, 10100, 0x101, 0x100, 800, 4);
	complete(&s, 11000, 0x101, 800, 4);
	touch(&s, 10300, 11300, CLEW_EXTENT_WRITE, 2, FILE_A, 640, 4);
	touch(&s, 10301, 11301, CLEW_EXTENT_DIRTY, 2, FILE_A, 640, 4);
	touch(&s, 10500, 11500, CLEW_EXTENT_WRITE, 3, FILE_A, 640, 3);
	touch(&s, 10700, 10710, CLEW_EXTENT_WRITE, 4, FILE_A, 642, 1);
	/* An earlier writer stays. */
	touch(&s, 10800, 10810, CLEW_EXTENT_WRITE, 4, FILE_A, 641, 1);
	touch(&s, 10900, 11900, CLEW_EXTENT_WRITE, 4, FILE_A, 640, 2);
	writes_out(&s, 15000, 0x200, FLUSH, 800, FILE_A, 640, 4);
	trace = synthetic_trace(&s, 100000, 0);
	assert_writers(trace, 0, 0, 640, 1, "1 2! 3! 4!");
	assert_writers(trace, 0, 1, 641, 2, "1 4!");
	assert_writers(trace, 0, 2, 643, 1, "1");
	assert_writers(trace, 1, 0, 640, 3, "2 3 4");
	assert_writers(trace, 1, 1, 643, 1, "2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* The page counts as clean some time before its bio is queued. */
static void test_between_clean_and_bio(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 2);
	writes(&s, 9900, 2, FILE_A, 1, 1);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 2);
	writes_out(&s, 20000, 0x100, FLUSH, 808, FILE_A, 1, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 1, "1");
	assert_writers(trace, 0, 1, 1, 1, "1 2!");
	assert_writers(trace, 1, 0, 1, 1, "2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A row of writes begins before the bio is queued, and touches the page after it. */
static void test_row_across_bio(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 20);
	bio(&s, 10000, 0x100, FLUSH, 800, FILE_A, 15, 1);
	issue(&s, 10100, 0x101, 0x100, 800, 1);
	complete(&s, 10500, 0x101, 800, 1);
	touch(&s, 9000, 12000, CLEW_EXTENT_WRITE, 2, FILE_A, 0, 20);
	touch(&s, 11000, 12001, CLEW_EXTENT_DIRTY, 2, FILE_A, 15, 1);
	writes_out(&s, 20000, 0x200, FLUSH, 680, FILE_A, 0, 20);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 15, 1, "1");
	assert_writers(trace, 1, 0, 0, 15, "1 2");
	assert_writers(trace, 1, 1, 15, 1, "2");
	assert_writers(trace, 1, 2, 16, 4, "1 2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Told long after the bio that carries the page, in order of `begin` all the same. */
static void test_told_late(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 1);
	touch(&s, 5000, 300 * MS, CLEW_EXTENT_DIRTY, 1, FILE_A, 0, 1);
	touch(&s, 6000, 300 * MS, CLEW_EXTENT_WRITE, 2, FILE_A, 0, 1);
	touch(&s, 4999, 300 * MS, CLEW_EXTENT_WRITE, 1, FILE_A, 0, 1);
	trace = synthetic_trace(&s, 400 * MS, 0);
	assert_writers(trace, 0, 0, 0, 1, "1 2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void test_dropped(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 300);
	touch(&s, 3000, 3010, CLEW_EXTENT_DROP, 1, FILE_A, 100, 200);
	writes(&s, 4000, 2, FILE_A, 100, 1);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 99, 3);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(page_count(trace, 0), 3);
	assert_writers(trace, 0, 0, 99, 1, "1");
	assert_writers(trace, 0, 1, 100, 1, "2");
	assert_writers(trace, 0, 2, 101, 1, "?");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A large folio is dirtied by one and the same again, soon after a bio took other pages of it: what
 * he writes is of the second time. */
static void test_dirty_again(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	rewrites(&s, 2000, 1, FILE_A, 8, 4);
	bio(&s, 2500, 0x100, FLUSH, 864, FILE_A, 8, 4);
	issue(&s, 2600, 0x101, 0x100, 864, 4);
	touch(&s, 2001, 2900, CLEW_EXTENT_DIRTY, 1, FILE_A, 0, 16);
	touch(&s, 2800, 3100, CLEW_EXTENT_WRITE, 1, FILE_A, 5, 1);
	complete(&s, 3200, 0x101, 864, 4);
	touch(&s, 2801, 3300, CLEW_EXTENT_DIRTY, 1, FILE_A, 0, 16);
	rewrites(&s, 4000, 1, FILE_A, 5, 1);
	writes_out(&s, 10000, 0x200, FLUSH, 840, FILE_A, 5, 1);
	writes(&s, 20000, 2, FILE_A, 5, 1);
	writes_out(&s, 30000, 0x100, FLUSH, 840, FILE_A, 5, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 8, 4, "1");
	assert_writers(trace, 1, 0, 5, 1, "1");
	assert_writers(trace, 2, 0, 5, 1, "2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A hole that ends within a large folio: what is there afterwards is of those who write it anew. */
static void test_cleared(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 8);
	touch(&s, 3000, 3010, CLEW_EXTENT_CLEAR, 2, FILE_A, 5, 3);
	rewrites(&s, 4000, 3, FILE_A, 5, 1);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 6);
	/* Dirty as a whole once more, while of the cleared pages none was on its way. */
	touch(&s, 20000, 20020, CLEW_EXTENT_DIRTY, 4, FILE_A, 0, 8);
	rewrites(&s, 20001, 4, FILE_A, 6, 1);
	writes_out(&s, 30000, 0x100, FLUSH, 848, FILE_A, 6, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(page_count(trace, 0), 2);
	assert_writers(trace, 0, 0, 0, 5, "1");
	assert_writers(trace, 0, 1, 5, 1, "3");
	assert_int_equal(page_count(trace, 1), 1);
	assert_writers(trace, 1, 0, 6, 1, "4");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A large folio becomes dirty as a whole, and only what was written of it goes to the disk. */
static void test_large_folio(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	rewrites(&s, 2000, 1, FILE_A, 5, 1);
	touch(&s, 2001, 2030, CLEW_EXTENT_DIRTY, 1, FILE_A, 0, 16);
	rewrites(&s, 3000, 2, FILE_A, 6, 1);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 5, 2);
	rewrites(&s, 20000, 3, FILE_A, 7, 1);
	touch(&s, 20001, 20030, CLEW_EXTENT_DIRTY, 3, FILE_A, 0, 16);
	writes_out(&s, 30000, 0x100, FLUSH, 816, FILE_A, 7, 1);
	/* Through a mapping nobody is known to have touched the rest, and all of it goes. */
	touch(&s, 40000, 40010, CLEW_EXTENT_STORE, 4, FILE_B, 3, 1);
	touch(&s, 40001, 40020, CLEW_EXTENT_DIRTY, 4, FILE_B, 0, 8);
	writes_out(&s, 50000, 0x100, FLUSH, 1600, FILE_B, 0, 8);
	trace = synthetic_trace(&s, 60000, 0);
	assert_writers(trace, 0, 0, 5, 1, "1");
	assert_writers(trace, 0, 1, 6, 1, "2");
	assert_writers(trace, 1, 0, 7, 1, "3");
	assert_writers(trace, 2, 0, 0, 8, "4");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A folio that was dirty once does not become so in each write until that is told. */
static void test_dirty_once(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	touch(&s, 2000, 9900, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, 1, FILE_A, 0, 16);
	touch(&s, 2500, 2600, CLEW_EXTENT_WRITE, 1, FILE_A, 1, 12);
	/* The bio's pages have left the folio before this, and are dirty again before the bio. */
	touch(&s, 9000, 13000, CLEW_EXTENT_WRITE, 1, FILE_A, 0, 2);
	touch(&s, 9900, 21000, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, 1, FILE_A, 0, 16);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 1, 12);
	touch(&s, 15000, 16000, CLEW_EXTENT_WRITE, 1, FILE_A, 0, 4);
	writes_out(&s, 20000, 0x100, FLUSH, 792, FILE_A, 0, 4);
	touch(&s, 21000, 31000, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, 2, FILE_A, 0, 16);
	touch(&s, 22000, 23000, CLEW_EXTENT_WRITE, 3, FILE_A, 0, 1);
	writes_out(&s, 30000, 0x100, FLUSH, 792, FILE_A, 0, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 1, 12, "1");
	assert_writers(trace, 1, 0, 0, 4, "1");
	assert_writers(trace, 2, 0, 0, 1, "3");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A row of writes is told in two parts where its last copy made the folio dirty that those before
 * were in too. */
static void test_row_in_parts(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	touch(&s, 2000, 2600, CLEW_EXTENT_WRITE, 1, FILE_A, 0, 16);
	touch(&s, 2001, 2610, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, 1, FILE_A, 0, 16);
	touch(&s, 9000, 9900, CLEW_EXTENT_WRITE, 2, FILE_A, 5, 3);
	touch(&s, 9900, 12000, CLEW_EXTENT_WRITE, 2, FILE_A, 8, 2);
	touch(&s, 9900, 12001, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, 2, FILE_A, 0, 16);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 16);
	writes_out(&s, 20000, 0x100, FLUSH, 864, FILE_A, 8, 2);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 5, "1");
	assert_writers(trace, 0, 1, 5, 3, "1 2");
	assert_writers(trace, 0, 2, 8, 2, "1 2!");
	assert_writers(trace, 1, 0, 8, 2, "2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* One request out of two bios, one of which carries two files and was split off another. */
static void test_many_files(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 4);
	writes(&s, 3000, 2, FILE_B, 10, 4);
	writes(&s, 4000, 3, 502, 0, 1);
	BIO(&s, 10000, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = FILE_A, .index = 0,
	    .file_device = SYSTEM, .bytes = 8 * 4096, .contiguous = 4 * 4096, .device = DISK,
	    .operation = WRITE, .task = FLUSH);
	PAGES(&s, 10000, .bio = 0x100, .inode = FILE_B, .offset = 10 * PAGE, .bytes = 4 * 4096,
	      .at = 4 * 4096, .device = SYSTEM);
	BIO(&s, 10010, CLEW_BIO_SPLIT, .bio = 0x110, .parent = 0x100, .sector = 800,
	    .bytes = 6 * 4096, .device = DISK, .operation = WRITE, .task = FLUSH);
	BIO(&s, 10020, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 848, .bytes = 2 * 4096,
	    .device = DISK, .operation = WRITE, .task = FLUSH);
	bio(&s, 10030, 0x120, FLUSH, 864, 502, 0, 1);
	issue(&s, 10100, 0x101, 0x110, 800, 6);
	issue(&s, 10101, 0x102, 0x100, 848, 3);
	complete(&s, 11000, 0x101, 800, 6);
	complete(&s, 11001, 0x102, 848, 3);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 4, "1");
	assert_writers(trace, 0, 1, 10, 2, "2");
	assert_int_equal(extent_of(trace, 0, 1)->sector, 832);
	assert_writers(trace, 1, 0, 12, 2, "2");
	assert_int_equal(extent_of(trace, 1, 0)->sector, 848);
	assert_writers(trace, 1, 1, 0, 1, "3");
	assert_int_equal(extent_of(trace, 1, 1)->inode, 502);
	assert_int_equal(extent_of(trace, 1, 1)->sector, 864);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A writer that may be wrong is left out. */
static void test_loss(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 2);
	gap(&s, 0, 3000, 4000);
	writes(&s, 5000, 2, FILE_A, 1, 1);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 2);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 1, "?");
	assert_writers(trace, 0, 1, 1, 1, "2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A part of a page, or a copy for another disk, goes with what went before. */
static void test_twice_in_one_pass(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 1);
	bio(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 1);
	bio(&s, 10001, 0x200, FLUSH, 4800, FILE_A, 0, 1);
	issue(&s, 10100, 0x101, 0x100, 800, 1);
	issue(&s, 10101, 0x201, 0x200, 4800, 1);
	complete(&s, 11000, 0x101, 800, 1);
	complete(&s, 12000, 0x201, 4800, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_writers(trace, 0, 0, 0, 1, "1");
	assert_writers(trace, 1, 0, 0, 1, "1");
	clew_trace_free(trace);
	synthetic_done(&s);
}

static uint64_t dirtied_by(const struct clew_trace *trace, uint32_t task)
{
	size_t count;
	const struct clew_touch *touches = clew_trace_touches(trace, &count);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += touches[i].task == task && touches[i].event == CLEW_TOUCH_DIRTY
				 ? touches[i].bytes
				 : 0;
	return bytes;
}

/* The pages of a large folio that are written to become dirty, each once until a bio takes it. */
static void test_dirtied_bytes(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	touch(&s, 2000, 2010, CLEW_EXTENT_WRITE, 1, FILE_A, 3, 2);
	touch(&s, 2001, 2011, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, 1, FILE_A, 0, 512);
	touch(&s, 3000, 3010, CLEW_EXTENT_WRITE, 1, FILE_A, 4, 2);
	touch(&s, 4000, 4010, CLEW_EXTENT_STORE, 2, FILE_A, 100, 1);
	touch(&s, 5000, 5010, CLEW_EXTENT_WRITE, 2, FILE_A, 3, 1);
	writes_out(&s, 10000, 0x100, FLUSH, 824, FILE_A, 3, 3);
	touch(&s, 20000, 20010, CLEW_EXTENT_WRITE, 3, FILE_A, 3, 1);
	touch(&s, 20001, 20011, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, 3, FILE_A, 0, 512);
	/* Nothing is known of what calls write to another file system. */
	EXTENT(&s, 30010, CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE, .begin = 30000, .inode = FILE_B,
	       .offset = 0, .bytes = 512 * PAGE, .device = 0x77, .task = 4);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(dirtied_by(trace, 1), 3 * PAGE);
	assert_int_equal(dirtied_by(trace, 2), PAGE);
	assert_int_equal(dirtied_by(trace, 3), PAGE);
	assert_int_equal(dirtied_by(trace, 4), 512 * PAGE);
	clew_trace_free(trace);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_writers),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_part_of_page),
		cmocka_unit_test(test_on_its_way),
		cmocka_unit_test(test_row_across_landing),
		cmocka_unit_test(test_rows_across_landing),
		cmocka_unit_test(test_between_clean_and_bio),
		cmocka_unit_test(test_row_across_bio),
		cmocka_unit_test(test_told_late),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_cleared),
		cmocka_unit_test(test_dirty_again),
		cmocka_unit_test(test_large_folio),
		cmocka_unit_test(test_dirty_once),
		cmocka_unit_test(test_row_in_parts),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_twice_in_one_pass),
		cmocka_unit_test(test_dirtied_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

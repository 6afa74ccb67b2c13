// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who wrote what a request carries, and why: epochs of pages with synthetic records.
 */
#include "synthetic.h"
#include <stdio.h>

#define PAGE   4096ull
#define SYSTEM 0xfe00001u /* 254:1 */
#define DISK   0xfe00000u
#define FILE_A 500u
#define FILE_B 501u
#define MS     1000000ull
#define WRITE  1u
#define FLUSH  9u /* the flusher */

static void touch(struct synthetic *s, uint64_t begin, uint64_t told, unsigned event, uint32_t task, uint64_t inode, uint64_t page,
		  uint64_t pages)
{
	EXTENT(s, told, (__u8)event, .begin = begin, .inode = inode, .offset = page * PAGE, .bytes = pages * PAGE, .device = SYSTEM,
	       .task = task);
}

/* As ext4 tells it: the write, then that it made the page dirty. */
static void writes(struct synthetic *s, uint64_t at, uint32_t task, uint64_t inode, uint64_t page, uint64_t pages)
{
	touch(s, at, at + 20, CLEW_EXTENT_WRITE, task, inode, page, pages);
	touch(s, at + 1, at + 21, CLEW_EXTENT_DIRTY, task, inode, page, pages);
}

static void rewrites(struct synthetic *s, uint64_t at, uint32_t task, uint64_t inode, uint64_t page, uint64_t pages)
{
	touch(s, at, at + 20, CLEW_EXTENT_WRITE, task, inode, page, pages);
}

static void bio(struct synthetic *s, uint64_t at, uint64_t address, uint32_t task, uint64_t sector, uint64_t inode, uint64_t page,
		uint32_t pages)
{
	BIO(s, at, CLEW_BIO_QUEUE, .bio = address, .sector = sector, .inode = inode, .index = page, .file_device = SYSTEM,
	    .bytes = pages * (uint32_t)PAGE, .contiguous = pages * (uint32_t)PAGE, .device = DISK, .operation = WRITE, .task = task);
}

static void issue(struct synthetic *s, uint64_t at, uint64_t request, uint64_t first, uint64_t sector, uint32_t pages)
{
	REQUEST(s, at, CLEW_REQUEST_ISSUE, .request = request, .bio = first, .sector = sector, .bytes = pages * (uint32_t)PAGE,
		.device = DISK, .operation = WRITE, .allocated = at - 1);
}

static void complete(struct synthetic *s, uint64_t at, uint64_t request, uint64_t sector, uint32_t pages)
{
	REQUEST(s, at, CLEW_REQUEST_COMPLETE, .request = request, .sector = sector, .bytes = pages * (uint32_t)PAGE, .device = DISK,
		.operation = WRITE);
}

/* A bio of its own, in a request of its own. */
static void writes_out(struct synthetic *s, uint64_t at, uint64_t address, uint32_t task, uint64_t sector, uint64_t inode, uint64_t page,
		       uint32_t pages)
{
	bio(s, at, address, task, sector, inode, page, pages);
	issue(s, at + 100, address + 1, address, sector, pages);
	complete(s, at + 1000, address + 1, sector, pages);
}

static const struct clew_page_extent *extent_of(const struct clew_trace *trace, unsigned request, unsigned n)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	assert_true(request < count);
	assert_true(n < requests[request].page_count);
	return &requests[request].pages[n];
}

static void assert_writers(const struct clew_trace *trace, unsigned request, unsigned n, uint64_t page, uint64_t pages, const char *writers)
{
	const struct clew_page_extent *extent = extent_of(trace, request, n);
	char text[64] = "";

	assert_int_equal(extent->offset, page * PAGE);
	assert_int_equal(extent->bytes, pages * PAGE);
	for (uint32_t i = 0; i < extent->writer_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u%s", i ? " " : "", extent->writers[i],
			 i >= extent->writer_count - extent->later_count ? "!" : "");
	assert_string_equal(extent->known ? text : "?", writers);
}

static uint32_t page_count(const struct clew_trace *trace, unsigned request)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	assert_true(request < count);
	return requests[request].page_count;
}

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
	/* What is written anew is of the next pass alone. */
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

/* One record tells what a call wrote, and that it made the pages of that dirty. */
static void test_part_of_page(void **state)
{
	struct synthetic s = {0};
	const struct clew_touch *touches;
	struct clew_trace *trace;
	size_t count;

	(void)state;
	threads(&s, 9);
	EXTENT(&s, 2020, CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN, .begin = 2000, .inode = FILE_A, .offset = PAGE - 10, .bytes = 30,
	       .device = SYSTEM, .task = 1);
	EXTENT(&s, 3020, CLEW_EXTENT_WRITE, .begin = 3000, .inode = FILE_A, .offset = PAGE + 20, .bytes = 10, .device = SYSTEM, .task = 2);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 2);
	/* On its way to the disk a page is written to again. */
	writes(&s, 15000, 4, FILE_A, 2, 1);
	bio(&s, 20000, 0x200, FLUSH, 816, FILE_A, 2, 1);
	EXTENT(&s, 20120, CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN, .begin = 20100, .inode = FILE_A, .offset = 2 * PAGE + 1, .bytes = 1,
	       .device = SYSTEM, .task = 3);
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

/* A row of writes begins before the landing and is told after it: of its first page alone it is known that it was on its way. */
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

/* Two such rows, and one between that is told in time: who is not known to have written in time is in no set, whoever wrote last. */
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
	/* Who had written already stays. */
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

/* A large folio is dirtied by one and the same again, soon after a bio took other pages of it: what he writes is of the second time. */
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

/* A row of writes is told in two parts where its last copy made the folio dirty that those before were in too. */
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
	BIO(&s, 10000, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = FILE_A, .index = 0, .file_device = SYSTEM, .bytes = 8 * 4096,
	    .contiguous = 4 * 4096, .device = DISK, .operation = WRITE, .task = FLUSH);
	PAGES(&s, 10000, .bio = 0x100, .inode = FILE_B, .offset = 10 * PAGE, .bytes = 4 * 4096, .at = 4 * 4096, .device = SYSTEM);
	BIO(&s, 10010, CLEW_BIO_SPLIT, .bio = 0x110, .parent = 0x100, .sector = 800, .bytes = 6 * 4096, .device = DISK, .operation = WRITE,
	    .task = FLUSH);
	BIO(&s, 10020, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 848, .bytes = 2 * 4096, .device = DISK, .operation = WRITE, .task = FLUSH);
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

/* What may be wrong is not said. */
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

static const struct clew_edge *edge_of(const struct clew_trace *trace, unsigned type, uint32_t from, uint32_t to)
{
	size_t count;
	const struct clew_edge *edges = clew_trace_edges(trace, &count), *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (edges[i].type != type || edges[i].from != from || edges[i].to != to)
			continue;
		assert_null(found);
		found = &edges[i];
	}
	return found;
}

static unsigned reason_of(const struct clew_trace *trace, unsigned request)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	assert_true(request < count);
	return requests[request].block.reason;
}

static uint32_t reason_task_of(const struct clew_trace *trace, unsigned request)
{
	size_t count;

	return clew_trace_requests(trace, &count)[request].block.reason_task;
}

static void test_reasons(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;
	const struct clew_edge *edge;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 4);
	writes(&s, 3000, 2, FILE_B, 0, 4);
	/* Background, begun for a dirtier. */
	WRITEBACK(&s, 5000, CLEW_WRITEBACK_WAKE, .task = 2, .device = DISK);
	WORK(&s, 5500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 2, .queued = 5001, .work = 0x10, .function = 1);
	WRITEBACK(&s, 6000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77, .reason = 0, .device = DISK);
	WRITEBACK(&s, 6001, CLEW_WRITEBACK_INODE_BEGIN, .task = FLUSH, .inode = FILE_A, .device = SYSTEM);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 2);
	writes_out(&s, 12000, 0x100, FLUSH, 816, FILE_A, 2, 1);
	WRITEBACK(&s, 19000, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x77, .device = DISK);
	/* A sync of everything. */
	WRITEBACK(&s, 20000, CLEW_WRITEBACK_QUEUE, .task = 3, .work = 0x99, .reason = 2, .device = SYSTEM);
	WRITEBACK(&s, 21000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x99, .reason = 2, .device = SYSTEM);
	writes_out(&s, 22000, 0x100, FLUSH, 824, FILE_A, 3, 1);
	WRITEBACK(&s, 24000, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x99, .device = SYSTEM);
	/* One file by a task itself. */
	WRITEBACK(&s, 30000, CLEW_WRITEBACK_SYNC_ENTER, .task = 4, .inode = FILE_B, .device = SYSTEM);
	writes_out(&s, 31000, 0x100, 4, 1600, FILE_B, 0, 4);
	/* A commit. */
	JOURNAL(&s, 40000, CLEW_JOURNAL_HANDLE, .task = 1, .transaction = 7, .device = SYSTEM);
	JOURNAL(&s, 40001, CLEW_JOURNAL_HANDLE, .task = 2, .transaction = 7, .device = SYSTEM);
	JOURNAL(&s, 40002, CLEW_JOURNAL_HANDLE, .task = 1, .transaction = 7, .device = SYSTEM);
	JOURNAL(&s, 41000, CLEW_JOURNAL_COMMIT_BEGIN, .task = 5, .transaction = 7, .device = SYSTEM);
	BIO(&s, 42000, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 9000, .bytes = 4096, .device = DISK, .operation = WRITE | 1u << 12,
	    .task = 5);
	issue(&s, 42100, 0x101, 0x100, 9000, 1);
	complete(&s, 43000, 0x101, 9000, 1);
	JOURNAL(&s, 44000, CLEW_JOURNAL_COMMIT_END, .task = 5, .transaction = 7, .device = SYSTEM);
	/* Metadata by nobody in particular. */
	BIO(&s, 45000, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 9100, .bytes = 4096, .device = DISK, .operation = WRITE | 1u << 12,
	    .task = 5);
	issue(&s, 45100, 0x101, 0x100, 9100, 1);
	complete(&s, 46000, 0x101, 9100, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(reason_of(trace, 0), CLEW_REQUEST_REASON_BACKGROUND);
	assert_int_equal(reason_task_of(trace, 0), 2);
	assert_int_equal(reason_of(trace, 2), CLEW_REQUEST_REASON_SYNC);
	assert_int_equal(reason_task_of(trace, 2), 3);
	assert_int_equal(reason_of(trace, 3), CLEW_REQUEST_REASON_FSYNC);
	assert_int_equal(reason_task_of(trace, 3), 4);
	assert_int_equal(reason_of(trace, 4), CLEW_REQUEST_REASON_JOURNAL);
	assert_int_equal(reason_of(trace, 5), CLEW_REQUEST_REASON_METADATA);
	edge = edge_of(trace, CLEW_EDGE_WRITEBACK, 2, 4);
	assert_non_null(edge);
	assert_int_equal(edge->from_at, 3001);
	assert_int_equal(edge->to_at, 31000);
	assert_int_equal(edge->object.number, FILE_B);
	edge = edge_of(trace, CLEW_EDGE_JOURNAL, 1, 5);
	assert_non_null(edge);
	assert_int_equal(edge->from_at, 40002);
	assert_int_equal(edge->to_at, 41000);
	assert_non_null(edge_of(trace, CLEW_EDGE_JOURNAL, 2, 5));
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void stint(struct synthetic *s, uint64_t at, uint64_t work, unsigned reason, uint32_t device, unsigned page)
{
	WRITEBACK(s, at, CLEW_WRITEBACK_START, .task = FLUSH, .work = work, .reason = reason, .device = device);
	writes_out(s, at + 100, 0x100, FLUSH, 800 + 8 * page, FILE_A, page, 1);
	WRITEBACK(s, at + 1900, CLEW_WRITEBACK_END, .task = FLUSH, .work = work, .reason = reason, .device = device);
}

/* In a call of task 4. */
static void writes_in(struct synthetic *s, uint64_t at, unsigned call, unsigned page)
{
	BIO(s, at, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800 + 8 * page, .inode = FILE_A, .index = page, .file_device = SYSTEM,
	    .bytes = 4096, .contiguous = 4096, .device = DISK, .operation = WRITE, .task = 4, .call = call + 1);
	issue(s, at + 100, 0x101, 0x100, 800 + 8 * page, 1);
	complete(s, at + 200, 0x101, 800 + 8 * page, 1);
}

static void assert_reason(const struct clew_trace *trace, unsigned request, unsigned reason, uint32_t task)
{
	assert_int_equal(reason_of(trace, request), reason);
	assert_int_equal(reason_task_of(trace, request), task);
}

/* A flusher comes back to an order for more pages; who had it begin is who queued the flusher's item, and nobody else. */
static void test_orders(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 9);
	/* A sync in two pieces, then a background pass that the wake was for, in two as well. */
	WRITEBACK(&s, 5000, CLEW_WRITEBACK_QUEUE, .task = 3, .work = 0x99, .reason = 2, .device = SYSTEM);
	WRITEBACK(&s, 5100, CLEW_WRITEBACK_WAKE, .task = 2, .device = DISK);
	WORK(&s, 5500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 2, .queued = 5101, .work = 0x10, .function = 1);
	stint(&s, 6000, 0x99, 2, SYSTEM, 0);
	stint(&s, 8000, 0x99, 2, SYSTEM, 1);
	stint(&s, 10000, 0x77, 0, DISK, 2);
	stint(&s, 12000, 0x77, 0, DISK, 3);
	/* At its next item, which a timer queued, nobody has woken it; and an order's address is used again. */
	WORK(&s, 20000, .context = CLEW_WAKE_TIMER, .worker = FLUSH, .queuer = 1, .queued = 19000, .work = 0x10, .function = 1);
	stint(&s, 21000, 0x77, 0, DISK, 4);
	stint(&s, 23000, 0x99, 3, DISK, 5);
	/* For free space: no reason that has a name. */
	WRITEBACK(&s, 30000, CLEW_WRITEBACK_QUEUE, .task = 4, .work = 0x98, .reason = 5, .device = SYSTEM);
	WORK(&s, 30500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 4, .queued = 30001, .work = 0x10, .function = 1);
	WRITEBACK(&s, 30600, CLEW_WRITEBACK_SYNC_ENTER, .task = 4, .inode = FILE_A, .device = SYSTEM, .call = SYS_fsync + 1);
	stint(&s, 31000, 0x98, 5, SYSTEM, 6);
	/* In its sync a task writes for that, in another call it does not. */
	writes_in(&s, 41000, SYS_fsync, 7);
	writes_in(&s, 42000, SYS_fallocate, 8);
	trace = synthetic_trace(&s, 50000, 0);
	assert_reason(trace, 0, CLEW_REQUEST_REASON_SYNC, 3);
	assert_reason(trace, 1, CLEW_REQUEST_REASON_SYNC, 3);
	assert_reason(trace, 2, CLEW_REQUEST_REASON_BACKGROUND, 2);
	assert_reason(trace, 3, CLEW_REQUEST_REASON_BACKGROUND, 2);
	assert_reason(trace, 4, CLEW_REQUEST_REASON_BACKGROUND, CLEW_NO_TASK);
	assert_reason(trace, 5, CLEW_REQUEST_REASON_PERIODIC, CLEW_NO_TASK);
	assert_reason(trace, 6, CLEW_REQUEST_REASON_UNKNOWN, 4);
	assert_reason(trace, 7, CLEW_REQUEST_REASON_FSYNC, 4);
	assert_reason(trace, 8, CLEW_REQUEST_REASON_CALL, 4);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Workers write for a flusher that may be at something else by then. */
static void test_late_workers(void **state)
{
	const uint32_t worker = 7, other = 8;
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 4);
	WRITEBACK(&s, 5000, CLEW_WRITEBACK_QUEUE, .task = 3, .work = 0x99, .reason = 2, .device = SYSTEM);
	WORK(&s, 5500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 3, .queued = 5001, .work = 0x10, .function = 1);
	WRITEBACK(&s, 6000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x99, .reason = 2, .device = SYSTEM);
	/* Queued meanwhile, run after the end. */
	WRITEBACK(&s, 8000, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x99, .device = SYSTEM);
	WORK(&s, 9000, .context = CLEW_WAKE_TASK, .worker = worker, .queuer = FLUSH, .queued = 7000, .work = 0x20, .function = 2);
	writes_out(&s, 10000, 0x100, worker, 800, FILE_A, 0, 1);
	/* The flusher is at its next order. */
	WRITEBACK(&s, 12000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77, .reason = 3, .device = SYSTEM);
	writes_out(&s, 13000, 0x100, worker, 816, FILE_A, 2, 1);
	/* Queued between the orders. */
	WORK(&s, 15000, .context = CLEW_WAKE_TASK, .worker = other, .queuer = FLUSH, .queued = 9000, .work = 0x30, .function = 2);
	writes_out(&s, 16000, 0x100, other, 824, FILE_A, 3, 1);
	/* Some orders later. */
	for (unsigned i = 0; i < 4; i++) {
		WRITEBACK(&s, 17000 + i * 100, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x77, .device = SYSTEM);
		WRITEBACK(&s, 17050 + i * 100, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77, .reason = 3, .device = SYSTEM);
	}
	WORK(&s, 18000, .context = CLEW_WAKE_TASK, .worker = worker, .queuer = FLUSH, .queued = 7100, .work = 0x20, .function = 2);
	writes_out(&s, 19000, 0x100, worker, 808, FILE_A, 1, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(reason_of(trace, 0), CLEW_REQUEST_REASON_SYNC);
	assert_int_equal(reason_task_of(trace, 0), 3);
	assert_int_equal(reason_of(trace, 1), CLEW_REQUEST_REASON_SYNC);
	assert_int_equal(reason_of(trace, 2), CLEW_REQUEST_REASON_UNKNOWN);
	assert_int_equal(reason_of(trace, 3), CLEW_REQUEST_REASON_SYNC);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A journal's thread makes a disk's page dirty; those that touched its block in handles wrote it. */
static void test_metadata(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	for (uint32_t task = 1; task <= 2; task++)
		JOURNAL(&s, 2000 + task, CLEW_JOURNAL_TOUCH, .task = task, .transaction = 7, .device = SYSTEM, .block = 80, .value = 1024);
	JOURNAL(&s, 2010, CLEW_JOURNAL_TOUCH, .task = 3, .transaction = 7, .device = SYSTEM, .block = 84, .value = 1024);
	JOURNAL(&s, 2020, CLEW_JOURNAL_COMMIT_BEGIN, .task = 4, .transaction = 7, .device = SYSTEM);
	EXTENT(&s, 3000, CLEW_EXTENT_DIRTY, .begin = 3000, .inode = SYSTEM, .offset = 20 * PAGE, .bytes = 2 * PAGE, .device = 5, .task = 4);
	JOURNAL(&s, 3010, CLEW_JOURNAL_COMMIT_END, .task = 4, .transaction = 7, .device = SYSTEM);
	for (unsigned pass = 0; pass < 2; pass++) {
		uint64_t at = 10000 + pass * 10000;

		BIO(&s, at, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = SYSTEM, .index = 20, .file_device = 5, .bytes = 8192,
		    .contiguous = 8192, .device = DISK, .operation = WRITE, .task = FLUSH);
		issue(&s, at + 100, 0x101, 0x100, 800, 2);
		complete(&s, at + 1000, 0x101, 800, 2);
	}
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(reason_of(trace, 0), CLEW_REQUEST_REASON_METADATA);
	assert_writers(trace, 0, 0, 20, 1, "1 2");
	assert_int_equal(extent_of(trace, 0, 0)->evidence, CLEW_EVIDENCE_CANDIDATE);
	assert_writers(trace, 0, 1, 21, 1, "3");
	assert_int_equal(extent_of(trace, 0, 1)->evidence, CLEW_EVIDENCE_EXACT);
	assert_non_null(edge_of(trace, CLEW_EDGE_WRITEBACK, 3, FLUSH));
	assert_null(edge_of(trace, CLEW_EDGE_WRITEBACK, 4, FLUSH));
	/* What nobody touched since has no writers that are known. */
	assert_writers(trace, 1, 0, 20, 2, "?");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* What is touched for the next transaction while a commit goes on is the next commit's to write. */
static void test_metadata_of_next(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	JOURNAL(&s, 2000, CLEW_JOURNAL_TOUCH, .task = 1, .transaction = 7, .device = SYSTEM, .block = 20, .value = PAGE);
	JOURNAL(&s, 2010, CLEW_JOURNAL_COMMIT_BEGIN, .task = 5, .transaction = 7, .device = SYSTEM);
	for (uint64_t block = 20; block <= 21; block++)
		JOURNAL(&s, 2010 + block, CLEW_JOURNAL_TOUCH, .task = 2, .transaction = 8, .device = SYSTEM, .block = block, .value = PAGE);
	for (unsigned pass = 0; pass < 2; pass++) {
		uint64_t at = 10000 + pass * 10000;

		if (pass)
			JOURNAL(&s, at, CLEW_JOURNAL_COMMIT_BEGIN, .task = 5, .transaction = 8, .device = SYSTEM);
		BIO(&s, at, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = SYSTEM, .index = 20, .file_device = 5, .bytes = 8192,
		    .contiguous = 8192, .device = DISK, .operation = WRITE, .task = 5);
		issue(&s, at + 100, 0x101, 0x100, 800, 2);
		complete(&s, at + 1000, 0x101, 800, 2);
		JOURNAL(&s, at + 2000, CLEW_JOURNAL_COMMIT_END, .task = 5, .transaction = 7 + pass, .device = SYSTEM);
	}
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(reason_of(trace, 0), CLEW_REQUEST_REASON_JOURNAL);
	assert_writers(trace, 0, 0, 20, 1, "1");
	assert_int_equal(extent_of(trace, 0, 0)->evidence, CLEW_EVIDENCE_EXACT);
	assert_writers(trace, 0, 1, 21, 1, "?");
	assert_writers(trace, 1, 0, 20, 2, "2");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Who is made to wait for what is dirty waits for the others that dirty, each by what it did. */
static void test_throttle(void **state)
{
	struct synthetic s = {0};
	struct clew_wait wait = {.call = SYS_write,
				 .descriptor = 3,
				 .reason = CLEW_REASON_DIRTY,
				 .object_kind = CLEW_OBJECT_DEVICE,
				 .device = DISK,
				 .argument = 20 * MS};
	const struct clew_edge *small, *large;
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	SWITCH(&s, .at = START + 10, .cpu = 0, .prev = IDLE, .next = 1, .flags = CLEW_SWITCH_NEXT_NEW);
	writes(&s, 2000, 2, FILE_A, 0, 100);
	writes(&s, 3000, 3, FILE_B, 0, 10);
	writes(&s, 4000, 1, FILE_B, 10, 10);
	/* From there the file system's disk is known. */
	writes_out(&s, 5000, 0x100, FLUSH, 800, FILE_A, 0, 1);
	WRITEBACK(&s, 10000, CLEW_WRITEBACK_WAKE, .task = 1, .device = DISK);
	WORK(&s, 10500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 1, .queued = 10001, .work = 0x10, .function = 1);
	WRITEBACK(&s, 11000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77, .reason = 0, .device = DISK);
	sleeps(&s, 12000, 0, 1, wait);
	writes_out(&s, 13000, 0x100, FLUSH, 808, FILE_A, 1, 1);
	comes(&s, 20 * MS, 0, 1, interrupted(20 * MS - 100, CLEW_WAKE_TIMER, (struct clew_cause){0}));
	trace = synthetic_trace(&s, 30 * MS, 0);
	assert_int_equal(sleep_of(trace, 1, 0)->kind, CLEW_WAIT_THROTTLE);
	large = edge_of(trace, CLEW_EDGE_THROTTLE, 2, 1);
	small = edge_of(trace, CLEW_EDGE_THROTTLE, 3, 1);
	assert_non_null(large);
	assert_non_null(small);
	assert_null(edge_of(trace, CLEW_EDGE_THROTTLE, 1, 1));
	assert_int_equal(large->evidence, CLEW_EVIDENCE_CANDIDATE);
	assert_int_equal(large->choice, small->choice);
	assert_true(large->choice != 0 && large->weight == 10 * small->weight);
	assert_int_equal(large->own, small->weight);
	assert_int_equal(reason_of(trace, 1), CLEW_REQUEST_REASON_THROTTLED);
	assert_int_equal(reason_task_of(trace, 1), 1);
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void test_read_ahead(void **state)
{
	struct synthetic s = {0};
	const struct clew_touch *touches;
	const struct clew_edge *edge;
	struct clew_trace *trace;
	uint64_t unused = 0;
	size_t count;

	(void)state;
	threads(&s, 9);
	touch(&s, 2000, 2010, CLEW_EXTENT_ADD, 1, FILE_A, 0, 32);
	BIO(&s, 2100, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = FILE_A, .index = 0, .file_device = SYSTEM, .bytes = 32 * 4096,
	    .contiguous = 32 * 4096, .device = DISK, .operation = 1u << 19, .task = 1);
	REQUEST(&s, 2200, CLEW_REQUEST_ISSUE, .request = 0x101, .bio = 0x100, .sector = 800, .bytes = 32 * 4096, .device = DISK,
		.operation = 1u << 19, .allocated = 2150);
	REQUEST(&s, 3000, CLEW_REQUEST_COMPLETE, .request = 0x101, .sector = 800, .bytes = 32 * 4096, .device = DISK);
	touch(&s, 4000, 4010, CLEW_EXTENT_USE, 1, FILE_A, 0, 4);
	touch(&s, 5000, 5010, CLEW_EXTENT_USE, 2, FILE_A, 2, 6);
	touch(&s, 6000, 6010, CLEW_EXTENT_DROP, 3, FILE_A, 0, 10);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(reason_of(trace, 0), CLEW_REQUEST_REASON_READAHEAD);
	assert_int_equal(extent_of(trace, 0, 0)->bytes, 32 * PAGE);
	edge = edge_of(trace, CLEW_EDGE_READAHEAD, 1, 2);
	assert_non_null(edge);
	assert_int_equal(edge->from_at, 2000);
	assert_int_equal(edge->to_at, 5000);
	touches = clew_trace_touches(trace, &count);
	for (size_t i = 0; i < count; i++)
		if (touches[i].event == CLEW_TOUCH_UNUSED) {
			assert_int_equal(touches[i].task, 1);
			unused += touches[i].bytes;
		}
	assert_int_equal(unused, 24 * PAGE);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A journal's commit ends the wait of who awaits its transaction. */
static void test_awaited_commit(void **state)
{
	struct synthetic s = {0};
	struct clew_wait wait = {.call = SYS_fsync, .descriptor = 3, .reason = CLEW_REASON_FUNCTION, .argument = 0xffff1000};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	text(&s, START - 5, 0xffff1000, "jbd2_log_wait_commit+0x10");
	SWITCH(&s, .at = START + 10, .cpu = 0, .prev = IDLE, .next = 1, .flags = CLEW_SWITCH_NEXT_NEW);
	SWITCH(&s, .at = START + 11, .cpu = 1, .prev = IDLE, .next = 5, .flags = CLEW_SWITCH_NEXT_NEW);
	JOURNAL(&s, 2000, CLEW_JOURNAL_AWAIT, .task = 1, .transaction = 7, .inode = FILE_A, .device = SYSTEM);
	sleeps(&s, 2100, 0, 1, wait);
	JOURNAL(&s, 3000, CLEW_JOURNAL_COMMIT_BEGIN, .task = 5, .transaction = 7, .device = SYSTEM);
	JOURNAL(&s, 5000, CLEW_JOURNAL_COMMIT_END, .task = 5, .transaction = 7, .device = SYSTEM);
	comes(&s, 5200, 0, 1, (struct woken){.at = 5100, .by = 5});
	sleeps(&s, 6000, 0, 1, wait);
	comes(&s, 7200, 0, 1, (struct woken){.at = 7100, .by = 6});
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(sleep_of(trace, 1, 0)->kind, CLEW_WAIT_JOURNAL);
	assert_int_equal(sleep_of(trace, 1, 0)->edge_type, CLEW_EDGE_JOURNAL);
	assert_int_equal(sleep_of(trace, 1, 0)->edge_evidence, CLEW_EVIDENCE_EXACT);
	assert_int_equal(sleep_of(trace, 1, 0)->ended_by, 5);
	assert_int_equal(sleep_of(trace, 1, 1)->edge_evidence, CLEW_EVIDENCE_OBSERVED);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Bios of two tasks' direct I/O went in one request: each is told with its task, time and place; of one that has no place, none. */
static void test_direct_parts(void **state)
{
	struct synthetic s = {0};
	const struct clew_trace_request *requests;
	struct clew_trace *trace;
	size_t count;

	(void)state;
	threads(&s, 9);
	for (unsigned i = 0; i < 3; i++)
		REQUEST(&s, 5000, CLEW_REQUEST_PART, .request = 0x100, .bio = 0x200 + i, .sector = 800 + 8 * i, .bytes = PAGE,
			.device = DISK, .operation = WRITE, .task = 1 + i % 2, .queued = 2000 + i, .inode = FILE_A,
			.offset = i == 2 ? CLEW_NO_OFFSET : (7 - i) * PAGE, .file_device = SYSTEM);
	issue(&s, 5010, 0x100, 0x200, 800, 3);
	complete(&s, 9000, 0x100, 800, 3);
	trace = synthetic_trace(&s, 50000, 0);
	requests = clew_trace_requests(trace, &count);
	assert_int_equal(count, 1);
	assert_int_equal(requests[0].block.reason, CLEW_REQUEST_REASON_DIRECT);
	assert_int_equal(requests[0].block.queued, 2000);
	assert_int_equal(requests[0].block.issued, 5010);
	assert_int_equal(requests[0].block.submitter, 1);
	assert_int_equal(requests[0].block.inode, FILE_A);
	assert_int_equal(page_count(trace, 0), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_writers(trace, 0, i, 7 - i, 1, i ? "2" : "1");
		assert_int_equal(extent_of(trace, 0, i)->sector, 800 + 8 * i);
		assert_int_equal(extent_of(trace, 0, i)->dirtied, 2000 + i);
	}
	clew_trace_free(trace);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_writers),
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
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_late_workers),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_metadata_of_next),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_read_ahead),
		cmocka_unit_test(test_awaited_commit),
		cmocka_unit_test(test_direct_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

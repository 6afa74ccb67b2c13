/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why pages are written, and for whom they were read: with synthetic records.
 */
#include "page_records.h"

static const struct clew_edge *edge_of(const struct clew_trace *trace, unsigned type, uint32_t from,
				       uint32_t to)
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
	WORK(&s, 5500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 2, .queued = 5001,
	     .work = 0x10, .function = 1);
	WRITEBACK(&s, 6000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77, .reason = 0,
		  .device = DISK);
	WRITEBACK(&s, 6001, CLEW_WRITEBACK_INODE_BEGIN, .task = FLUSH, .inode = FILE_A,
		  .device = SYSTEM);
	writes_out(&s, 10000, 0x100, FLUSH, 800, FILE_A, 0, 2);
	writes_out(&s, 12000, 0x100, FLUSH, 816, FILE_A, 2, 1);
	WRITEBACK(&s, 19000, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x77, .device = DISK);
	/* A sync of everything. */
	WRITEBACK(&s, 20000, CLEW_WRITEBACK_QUEUE, .task = 3, .work = 0x99, .reason = 2,
		  .device = SYSTEM);
	WRITEBACK(&s, 21000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x99, .reason = 2,
		  .device = SYSTEM);
	writes_out(&s, 22000, 0x100, FLUSH, 824, FILE_A, 3, 1);
	WRITEBACK(&s, 24000, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x99, .device = SYSTEM);
	/* One file by a task itself. */
	WRITEBACK(&s, 30000, CLEW_WRITEBACK_SYNC_ENTER, .task = 4, .inode = FILE_B,
		  .device = SYSTEM);
	writes_out(&s, 31000, 0x100, 4, 1600, FILE_B, 0, 4);
	/* A commit. */
	JOURNAL(&s, 40000, CLEW_JOURNAL_HANDLE, .task = 1, .transaction = 7, .device = SYSTEM);
	JOURNAL(&s, 40001, CLEW_JOURNAL_HANDLE, .task = 2, .transaction = 7, .device = SYSTEM);
	JOURNAL(&s, 40002, CLEW_JOURNAL_HANDLE, .task = 1, .transaction = 7, .device = SYSTEM);
	JOURNAL(&s, 41000, CLEW_JOURNAL_COMMIT_BEGIN, .task = 5, .transaction = 7,
		.device = SYSTEM);
	BIO(&s, 42000, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 9000, .bytes = 4096, .device = DISK,
	    .operation = WRITE | 1u << 12, .task = 5);
	issue(&s, 42100, 0x101, 0x100, 9000, 1);
	complete(&s, 43000, 0x101, 9000, 1);
	JOURNAL(&s, 44000, CLEW_JOURNAL_COMMIT_END, .task = 5, .transaction = 7, .device = SYSTEM);
	/* Metadata by nobody in particular. */
	BIO(&s, 45000, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 9100, .bytes = 4096, .device = DISK,
	    .operation = WRITE | 1u << 12, .task = 5);
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

/* 2 is made after 1 has made a page dirty, and writes to that page, too. */
static void writer_is_younger_than_the_page(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 1);
	identify(&s, (struct identity){.task = 4, .process = 4});
	writes(&s, 2000, 1, FILE_A, 0, 1);
	life(&s, CLEW_KIND_FORK, 5000, 1, 2);
	identify(&s, (struct identity){.task = 2, .process = 2, .at = 5000, .start_time = 5000});
	rewrites(&s, 6000, 2, FILE_A, 0, 1);
	WRITEBACK(&s, 30000, CLEW_WRITEBACK_SYNC_ENTER, .task = 4, .inode = FILE_A,
		  .device = SYSTEM);
	writes_out(&s, 31000, 0x100, 4, 1600, FILE_A, 0, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(edge_of(trace, CLEW_EDGE_WRITEBACK, 1, 4)->from_at, 2001);
	assert_int_equal(edge_of(trace, CLEW_EDGE_WRITEBACK, 2, 4)->from_at, 5000);
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void stint(struct synthetic *s, uint64_t at, uint64_t work, unsigned reason, uint32_t device,
		  unsigned page)
{
	WRITEBACK(s, at, CLEW_WRITEBACK_START, .task = FLUSH, .work = work, .reason = reason,
		  .device = device);
	writes_out(s, at + 100, 0x100, FLUSH, 800 + 8 * page, FILE_A, page, 1);
	WRITEBACK(s, at + 1900, CLEW_WRITEBACK_END, .task = FLUSH, .work = work, .reason = reason,
		  .device = device);
}

/* In a call of task 4. */
static void writes_in(struct synthetic *s, uint64_t at, unsigned call, unsigned page)
{
	BIO(s, at, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800 + 8 * page, .inode = FILE_A,
	    .index = page, .file_device = SYSTEM, .bytes = 4096, .contiguous = 4096, .device = DISK,
	    .operation = WRITE, .task = 4, .call = call + 1);
	issue(s, at + 100, 0x101, 0x100, 800 + 8 * page, 1);
	complete(s, at + 200, 0x101, 800 + 8 * page, 1);
}

static void assert_reason(const struct clew_trace *trace, unsigned request, unsigned reason,
			  uint32_t task)
{
	assert_int_equal(reason_of(trace, request), reason);
	assert_int_equal(reason_task_of(trace, request), task);
}

/* A flusher comes back to an order for more pages; who had it begin is who queued the flusher's
 * item, and nobody else. */
static void test_orders(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, FILE_A, 0, 9);
	/* A sync in two pieces, then a background pass that the wake was for, in two as well. */
	WRITEBACK(&s, 5000, CLEW_WRITEBACK_QUEUE, .task = 3, .work = 0x99, .reason = 2,
		  .device = SYSTEM);
	WRITEBACK(&s, 5100, CLEW_WRITEBACK_WAKE, .task = 2, .device = DISK);
	WORK(&s, 5500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 2, .queued = 5101,
	     .work = 0x10, .function = 1);
	stint(&s, 6000, 0x99, 2, SYSTEM, 0);
	stint(&s, 8000, 0x99, 2, SYSTEM, 1);
	stint(&s, 10000, 0x77, 0, DISK, 2);
	stint(&s, 12000, 0x77, 0, DISK, 3);
	/* At its next item, which a timer queued, nobody has woken it; and an order's address is
	 * used again. */
	WORK(&s, 20000, .context = CLEW_WAKE_TIMER, .worker = FLUSH, .queuer = 1, .queued = 19000,
	     .work = 0x10, .function = 1);
	stint(&s, 21000, 0x77, 0, DISK, 4);
	stint(&s, 23000, 0x99, 3, DISK, 5);
	/* For free space: no reason that has a name. */
	WRITEBACK(&s, 30000, CLEW_WRITEBACK_QUEUE, .task = 4, .work = 0x98, .reason = 5,
		  .device = SYSTEM);
	WORK(&s, 30500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 4, .queued = 30001,
	     .work = 0x10, .function = 1);
	WRITEBACK(&s, 30600, CLEW_WRITEBACK_SYNC_ENTER, .task = 4, .inode = FILE_A,
		  .device = SYSTEM, .call = SYS_fsync + 1);
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
	WRITEBACK(&s, 5000, CLEW_WRITEBACK_QUEUE, .task = 3, .work = 0x99, .reason = 2,
		  .device = SYSTEM);
	WORK(&s, 5500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 3, .queued = 5001,
	     .work = 0x10, .function = 1);
	WRITEBACK(&s, 6000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x99, .reason = 2,
		  .device = SYSTEM);
	/* Queued meanwhile, run after the end. */
	WRITEBACK(&s, 8000, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x99, .device = SYSTEM);
	WORK(&s, 9000, .context = CLEW_WAKE_TASK, .worker = worker, .queuer = FLUSH, .queued = 7000,
	     .work = 0x20, .function = 2);
	writes_out(&s, 10000, 0x100, worker, 800, FILE_A, 0, 1);
	/* The flusher is at its next order. */
	WRITEBACK(&s, 12000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77, .reason = 3,
		  .device = SYSTEM);
	writes_out(&s, 13000, 0x100, worker, 816, FILE_A, 2, 1);
	/* Queued between the orders. */
	WORK(&s, 15000, .context = CLEW_WAKE_TASK, .worker = other, .queuer = FLUSH, .queued = 9000,
	     .work = 0x30, .function = 2);
	writes_out(&s, 16000, 0x100, other, 824, FILE_A, 3, 1);
	/* Some orders later. */
	for (unsigned i = 0; i < 4; i++) {
		WRITEBACK(&s, 17000 + i * 100, CLEW_WRITEBACK_END, .task = FLUSH, .work = 0x77,
			  .device = SYSTEM);
		WRITEBACK(&s, 17050 + i * 100, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77,
			  .reason = 3, .device = SYSTEM);
	}
	WORK(&s, 18000, .context = CLEW_WAKE_TASK, .worker = worker, .queuer = FLUSH,
	     .queued = 7100, .work = 0x20, .function = 2);
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

/* A journal's thread makes a disk's page dirty; those that touched its block in handles wrote it.
 */
static void test_metadata(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	for (uint32_t task = 1; task <= 2; task++)
		JOURNAL(&s, 2000 + task, CLEW_JOURNAL_TOUCH, .task = task, .transaction = 7,
			.device = SYSTEM, .block = 80, .value = 1024);
	JOURNAL(&s, 2010, CLEW_JOURNAL_TOUCH, .task = 3, .transaction = 7, .device = SYSTEM,
		.block = 84, .value = 1024);
	JOURNAL(&s, 2020, CLEW_JOURNAL_COMMIT_BEGIN, .task = 4, .transaction = 7, .device = SYSTEM);
	EXTENT(&s, 3000, CLEW_EXTENT_DIRTY, .begin = 3000, .inode = SYSTEM, .offset = 20 * PAGE,
	       .bytes = 2 * PAGE, .device = 5, .task = 4);
	JOURNAL(&s, 3010, CLEW_JOURNAL_COMMIT_END, .task = 4, .transaction = 7, .device = SYSTEM);
	for (unsigned pass = 0; pass < 2; pass++) {
		uint64_t at = 10000 + pass * 10000;

		BIO(&s, at, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = SYSTEM,
		    .index = 20, .file_device = 5, .bytes = 8192, .contiguous = 8192,
		    .device = DISK, .operation = WRITE, .task = FLUSH);
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
	/* A page that nobody touched since has no known writers. */
	assert_writers(trace, 1, 0, 20, 2, "?");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A page that is touched for the next transaction while a commit goes on is the next commit's to
 * write. */
static void test_metadata_of_next(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	JOURNAL(&s, 2000, CLEW_JOURNAL_TOUCH, .task = 1, .transaction = 7, .device = SYSTEM,
		.block = 20, .value = PAGE);
	JOURNAL(&s, 2010, CLEW_JOURNAL_COMMIT_BEGIN, .task = 5, .transaction = 7, .device = SYSTEM);
	for (uint64_t block = 20; block <= 21; block++)
		JOURNAL(&s, 2010 + block, CLEW_JOURNAL_TOUCH, .task = 2, .transaction = 8,
			.device = SYSTEM, .block = block, .value = PAGE);
	for (unsigned pass = 0; pass < 2; pass++) {
		uint64_t at = 10000 + pass * 10000;

		if (pass)
			JOURNAL(&s, at, CLEW_JOURNAL_COMMIT_BEGIN, .task = 5, .transaction = 8,
				.device = SYSTEM);
		BIO(&s, at, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = SYSTEM,
		    .index = 20, .file_device = 5, .bytes = 8192, .contiguous = 8192,
		    .device = DISK, .operation = WRITE, .task = 5);
		issue(&s, at + 100, 0x101, 0x100, 800, 2);
		complete(&s, at + 1000, 0x101, 800, 2);
		JOURNAL(&s, at + 2000, CLEW_JOURNAL_COMMIT_END, .task = 5, .transaction = 7 + pass,
			.device = SYSTEM);
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

/* A task that is made to wait for dirty pages waits for the others that dirtied, each by its share.
 */
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
	SWITCH(&s, .at = START + 10, .cpu = 0, .prev = IDLE, .next = 1,
	       .flags = CLEW_SWITCH_NEXT_NEW);
	writes(&s, 2000, 2, FILE_A, 0, 100);
	writes(&s, 3000, 3, FILE_B, 0, 10);
	writes(&s, 4000, 1, FILE_B, 10, 10);
	/* From there the file system's disk is known. */
	writes_out(&s, 5000, 0x100, FLUSH, 800, FILE_A, 0, 1);
	WRITEBACK(&s, 10000, CLEW_WRITEBACK_WAKE, .task = 1, .device = DISK);
	WORK(&s, 10500, .context = CLEW_WAKE_TASK, .worker = FLUSH, .queuer = 1, .queued = 10001,
	     .work = 0x10, .function = 1);
	WRITEBACK(&s, 11000, CLEW_WRITEBACK_START, .task = FLUSH, .work = 0x77, .reason = 0,
		  .device = DISK);
	sleeps(&s, 12000, 0, 1, wait);
	writes_out(&s, 13000, 0x100, FLUSH, 808, FILE_A, 1, 1);
	comes(&s, 20 * MS, 0, 1,
	      interrupted(20 * MS - 100, CLEW_WAKE_TIMER, (struct clew_cause){0}));
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

/* Bytes that were read ahead for nobody, all of them as `task` asked. */
static uint64_t unused_bytes(const struct clew_trace *trace, uint32_t task)
{
	size_t count;
	const struct clew_touch *touches = clew_trace_touches(trace, &count);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		if (touches[i].event != CLEW_TOUCH_UNUSED)
			continue;
		assert_int_equal(touches[i].task, task);
		bytes += touches[i].bytes;
	}
	return bytes;
}

static void test_read_ahead(void **state)
{
	struct synthetic s = {0};
	const struct clew_edge *edge;
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	touch(&s, 2000, 2010, CLEW_EXTENT_ADD, 1, FILE_A, 0, 32);
	BIO(&s, 2100, CLEW_BIO_QUEUE, .bio = 0x100, .sector = 800, .inode = FILE_A, .index = 0,
	    .file_device = SYSTEM, .bytes = 32 * 4096, .contiguous = 32 * 4096, .device = DISK,
	    .operation = 1u << 19, .task = 1);
	REQUEST(&s, 2200, CLEW_REQUEST_ISSUE, .request = 0x101, .bio = 0x100, .sector = 800,
		.bytes = 32 * 4096, .device = DISK, .operation = 1u << 19, .allocated = 2150);
	REQUEST(&s, 3000, CLEW_REQUEST_COMPLETE, .request = 0x101, .sector = 800,
		.bytes = 32 * 4096, .device = DISK);
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
	assert_int_equal(unused_bytes(trace, 1), 24 * PAGE);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Once uses are not recorded any more, nothing that was there is said to be unused; what is read
 * in later is. */
static void test_uses_end(void **state)
{
	const uint64_t other = FILE_A + 1;
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	assert_int_not_equal(clew_file_slot(FILE_A), clew_file_slot(other));
	threads(&s, 9);
	touch(&s, 2000, 2010, CLEW_EXTENT_ADD, 1, FILE_A, 0, 32);
	touch(&s, 2001, 2011, CLEW_EXTENT_ADD, 1, other, 0, 2);
	touch(&s, 3000, 3010, CLEW_EXTENT_USE, 1, FILE_A, 0, 4);
	/* Left the cache before: for nobody. */
	touch(&s, 3500, 3510, CLEW_EXTENT_DROP, 1, FILE_A, 31, 1);
	touch(&s, 4000, 4000, CLEW_EXTENT_USE, 1, FILE_A, 0, 0);
	touch(&s, 5000, 5010, CLEW_EXTENT_DROP, 1, FILE_A, 0, 20);
	touch(&s, 6000, 6010, CLEW_EXTENT_ADD, 1, FILE_A, 40, 8);
	touch(&s, 7000, 7010, CLEW_EXTENT_USE, 1, FILE_A, 40, 1);
	touch(&s, 8000, 8010, CLEW_EXTENT_DROP, 1, FILE_A, 40, 3);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(unused_bytes(trace, 1), (1 + 7 + 2) * PAGE);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Pages that are read in because a call writes to a part of them are used by that. */
static void test_read_to_write(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	touch(&s, 2000, 2500, CLEW_EXTENT_WRITE, 1, FILE_A, 3, 1);
	touch(&s, 2100, 2110, CLEW_EXTENT_ADD, 1, FILE_A, 3, 2);
	touch(&s, 2400, 2510, CLEW_EXTENT_DIRTY, 1, FILE_A, 3, 1);
	trace = synthetic_trace(&s, 50000, 0);
	assert_int_equal(unused_bytes(trace, 1), PAGE);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Pages that a group's limit evicts are told as read again once each time they come back, by
 * who asks; those that were dropped otherwise are not. */
static void test_read_again(void **state)
{
	const uint8_t evicted = CLEW_EXTENT_DROP | CLEW_EXTENT_EVICTED;
	const struct {
		uint64_t first, pages;
		uint32_t task;
	} expected[] = {{60, 10, 2}, {200, 1, 2}, {100, 4, 3}, {62, 1, 3}};
	struct synthetic s = {0};
	const struct clew_touch *touches;
	struct clew_trace *trace;
	size_t count, found = 0;

	(void)state;
	threads(&s, 9);
	touch(&s, 2000, 2010, CLEW_EXTENT_ADD, 1, FILE_A, 0, 300);
	touch(&s, 3000, 3010, evicted, 1, FILE_A, 60, 10);
	touch(&s, 3020, 3030, evicted, 1, FILE_A, 100, 140);
	touch(&s, 3040, 3050, CLEW_EXTENT_DROP, 1, FILE_A, 90, 10);
	/* They are gone for good before they are asked for. */
	touch(&s, 3060, 3070, CLEW_EXTENT_DROP | CLEW_EXTENT_DELETED, 1, FILE_A, 104, 96);
	touch(&s, 3080, 3090, CLEW_EXTENT_DROP, 1, FILE_A, 201, 39);
	touch(&s, 4000, 4010, CLEW_EXTENT_ADD, 2, FILE_A, 50, 45);
	touch(&s, 4020, 4030, CLEW_EXTENT_ADD, 2, FILE_A, 104, 196);
	touch(&s, 5000, 5010, CLEW_EXTENT_ADD, 3, FILE_A, 98, 6);
	touch(&s, 6000, 6010, CLEW_EXTENT_ADD, 3, FILE_A, 60, 10);
	touch(&s, 7000, 7010, evicted, 1, FILE_A, 62, 1);
	touch(&s, 8000, 8010, CLEW_EXTENT_ADD, 3, FILE_A, 62, 1);
	trace = synthetic_trace(&s, 50000, 0);
	touches = clew_trace_touches(trace, &count);
	for (size_t i = 0; i < count; i++) {
		if (touches[i].event != CLEW_TOUCH_AGAIN)
			continue;
		assert_in_range(found, 0, 3);
		assert_int_equal(touches[i].offset, expected[found].first * PAGE);
		assert_int_equal(touches[i].bytes, expected[found].pages * PAGE);
		assert_int_equal(touches[i].task, expected[found++].task);
	}
	assert_int_equal(found, 4);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A journal's commit ends the wait of who awaits its transaction. */
static void test_awaited_commit(void **state)
{
	struct synthetic s = {0};
	struct clew_wait wait = {.call = SYS_fsync,
				 .descriptor = 3,
				 .reason = CLEW_REASON_FUNCTION,
				 .argument = 0xffff1000};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	text(&s, START - 5, 0xffff1000, "jbd2_log_wait_commit+0x10");
	SWITCH(&s, .at = START + 10, .cpu = 0, .prev = IDLE, .next = 1,
	       .flags = CLEW_SWITCH_NEXT_NEW);
	SWITCH(&s, .at = START + 11, .cpu = 1, .prev = IDLE, .next = 5,
	       .flags = CLEW_SWITCH_NEXT_NEW);
	JOURNAL(&s, 2000, CLEW_JOURNAL_AWAIT, .task = 1, .transaction = 7, .inode = FILE_A,
		.device = SYSTEM);
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

/* Bios of two tasks' direct I/O went in one request: each is told with its task, time and place; of
 * one that has no place, none. */
static void test_direct_parts(void **state)
{
	struct synthetic s = {0};
	const struct clew_trace_request *requests;
	struct clew_trace *trace;
	size_t count;

	(void)state;
	threads(&s, 9);
	for (unsigned i = 0; i < 3; i++)
		REQUEST(&s, 5000, CLEW_REQUEST_PART, .request = 0x100, .bio = 0x200 + i,
			.sector = 800 + 8 * i, .bytes = PAGE, .device = DISK, .operation = WRITE,
			.task = 1 + i % 2, .queued = 2000 + i, .inode = FILE_A,
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
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(writer_is_younger_than_the_page),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_late_workers),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_metadata_of_next),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_read_ahead),
		cmocka_unit_test(test_uses_end),
		cmocka_unit_test(test_read_to_write),
		cmocka_unit_test(test_awaited_commit),
		cmocka_unit_test(test_direct_parts),
		cmocka_unit_test(test_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

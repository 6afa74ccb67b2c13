/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests the cause of a wake that no task makes by itself: requests, work items, timers,
 * packets, rings; and kernel locks.
 */
#include "synthetic.h"

#define DISK	  (254u << 20)
#define LOOP	  (7u << 20)
#define MAPPED	  (253u << 20)
#define READS	  0u
#define WRITES	  1u
#define PREFLUSH  (1u << 18)
#define FUNCTION  0xffffffff81000000ull
#define ADDRESS	  0x9000u
#define COMPLETES ((struct clew_cause){.kind = CLEW_CAUSE_REQUEST, .object = ADDRESS})

static const struct clew_sleep *check_origin(const struct clew_trace *t, uint32_t task, unsigned n,
					     int type, uint32_t from, uint64_t from_at)
{
	const struct clew_sleep *sleep = sleep_of(t, task, n);

	assert_non_null(sleep);
	if (sleep->edge_type != type)
		print_message("type %d, not %d\n", sleep->edge_type, type);
	assert_int_equal(sleep->edge_type, type);
	assert_int_equal(sleep->from, from);
	assert_int_equal(sleep->from_at, from_at);
	return sleep;
}

/* A task asks for 8 sectors, and the request goes to the device. */
static void asks(struct synthetic *s, uint64_t at, uint32_t task, uint64_t bio, uint64_t request,
		 uint64_t sector, unsigned operation)
{
	BIO(s, at, CLEW_BIO_QUEUE, .bio = bio, .sector = sector, .bytes = 4096, .device = DISK,
	    .operation = operation, .task = task, .inode = 55, .file_device = 3);
	REQUEST(s, at + 10, CLEW_REQUEST_ISSUE, .request = request, .bio = bio, .sector = sector,
		.bytes = 4096, .device = DISK, .operation = operation, .allocated = at + 1,
		.task = task);
}

static void completes(struct synthetic *s, uint64_t at, uint64_t request, uint64_t allocated,
		      unsigned bytes)
{
	REQUEST(s, at, CLEW_REQUEST_COMPLETE, .request = request, .bytes = bytes, .device = DISK,
		.allocated = allocated);
}

static void a_request(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;
	const struct clew_trace_request *requests;
	const struct clew_edge *edge;
	size_t count;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	asks(&s, 2000, 1, 0xb1, ADDRESS, 800, READS);
	sleeps(&s, 2100, 0, 1, wait_on(SYS_pread64, CLEW_OBJECT_FILE, 55));
	completes(&s, 3000, ADDRESS, 2001, 4096);
	/* The address is another request's before the woken task runs. */
	asks(&s, 3050, 2, 0xb2, ADDRESS, 1600, WRITES);
	completes(&s, 3080, ADDRESS, 3051, 4096);
	comes(&s, 3100, 0, 1, interrupted(3010, CLEW_WAKE_IRQ, COMPLETES));
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	sleep = check_origin(t, 1, 0, CLEW_EDGE_REQUEST, 1, 2000);
	assert_int_equal(sleep->ended_by, CLEW_NO_TASK);
	assert_int_equal(sleep->context, CLEW_WAKE_IRQ);
	assert_int_equal(sleep->link_count, 1);
	assert_int_equal(sleep->links[0].begin, 2010);
	assert_int_equal(sleep->links[0].end, 3000);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 2);
	assert_int_equal(requests[0].block.sector, 800);
	assert_int_equal(requests[0].block.queued, 2000);
	assert_int_equal(requests[0].block.issued, 2010);
	assert_int_equal(requests[0].block.completed, 3000);
	assert_int_equal(requests[0].block.submitter, 1);
	assert_int_equal(requests[0].block.inode, 55);
	assert_int_equal(requests[0].woke_count, 1);
	assert_int_equal(requests[0].woke[0], 1);
	assert_int_equal(requests[1].block.submitter, 2);
	assert_int_equal(requests[1].woke_count, 0);
	edge = edge_to(t, 1, 0);
	assert_int_equal(edge->type, CLEW_EDGE_REQUEST);
	assert_int_equal(edge->evidence, CLEW_EVIDENCE_EXACT);
	clew_trace_free(t);
	/* Dropped, the sleep is as long, and nothing explains it. */
	t = synthetic_trace(&s, 5000, 1u << CLEW_EDGE_REQUEST);
	sleep = check_origin(t, 1, 0, -1, 0, 0);
	assert_int_equal(sleep->end, 3010);
	assert_int_equal(sleep->link_count, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* All places at the device are taken: who waits for one is woken by the interrupt, after another's
 * request has ended in it. */
static void a_place_at_the_device(void **state)
{
	const struct clew_cause after = {
		.kind = CLEW_CAUSE_SOFTIRQ, .object = 4, .expires = ADDRESS};
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;
	struct clew_wait wait = wait_on(SYS_fsync, CLEW_OBJECT_FILE, 55);

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	asks(&s, 2000, 2, 0xb2, ADDRESS, 800, WRITES);
	wait.flags |= CLEW_WAIT_FLAG_IOWAIT;
	sleeps(&s, 2100, 0, 1, wait);
	completes(&s, 3000, ADDRESS, 2001, 4096);
	comes(&s, 3100, 0, 1, interrupted(3010, CLEW_WAKE_SOFTIRQ, after));
	/* Not asleep for I/O: the softirq is all that is known. */
	wait.flags &= ~CLEW_WAIT_FLAG_IOWAIT;
	sleeps(&s, 3200, 0, 1, wait);
	comes(&s, 3400, 0, 1, interrupted(3300, CLEW_WAKE_SOFTIRQ, after));
	/* The disk's own limit, and its timer. */
	text(&s, 3450, FUNCTION, "blk_stat_timer_fn");
	wait.flags |= CLEW_WAIT_FLAG_IOWAIT;
	sleeps(&s, 3500, 0, 1, wait);
	comes(&s, 3700, 0, 1,
	      interrupted(3600, CLEW_WAKE_TIMER,
			  (struct clew_cause){.kind = CLEW_CAUSE_TIMER, .object = FUNCTION}));
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 1, 1)->kind, CLEW_WAIT_FSYNC);
	assert_int_equal(sleep_of(t, 1, 2)->kind, CLEW_WAIT_THROTTLE);
	sleep = check_origin(t, 1, 0, CLEW_EDGE_REQUEST, 2, 2000);
	assert_int_equal(sleep->edge_evidence, CLEW_EVIDENCE_OBSERVED);
	assert_int_equal(sleep->link_count, 1);
	assert_int_equal(sleep->links[0].kind, CLEW_LINK_REQUEST);
	assert_int_equal(sleep->links[0].evidence, CLEW_EVIDENCE_OBSERVED);
	sleep = check_origin(t, 1, 1, -1, 0, 0);
	assert_int_equal(sleep->links[0].kind, CLEW_LINK_SOFTIRQ);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The operand of a call is not the object of a wait for memory: whose limit it is, or what is done
 * for it. */
static void memory(void **state)
{
	static const struct {
		uint8_t reason, given, kind;
		uint64_t number;
	} cases[] = {
		{CLEW_REASON_RECLAIM, CLEW_OBJECT_FILE, CLEW_OBJECT_MEMORY, CLEW_REASON_RECLAIM},
		{CLEW_REASON_COMPACTION, CLEW_OBJECT_NONE, CLEW_OBJECT_MEMORY,
		 CLEW_REASON_COMPACTION},
		{CLEW_REASON_GROUP_RECLAIM, CLEW_OBJECT_CGROUP, CLEW_OBJECT_CGROUP, 55},
		{CLEW_REASON_NONE, CLEW_OBJECT_FILE, CLEW_OBJECT_FILE, 55},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct synthetic s = {0};
		struct clew_wait wait = wait_on(SYS_write, cases[i].given, 55);
		const struct clew_sleep *sleep;
		struct clew_trace *t;

		wait.reason = cases[i].reason;
		threads(&s, 1);
		SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
		sleeps(&s, 2100, 0, 1, wait);
		comes(&s, 3100, 0, 1, (struct woken){.at = 3010, .context = CLEW_WAKE_TIMER});
		t = synthetic_trace(&s, 5000, 0);
		sleep = sleep_of(t, 1, 0);
		assert_non_null(sleep);
		assert_int_equal(sleep->kind, cases[i].reason ? CLEW_WAIT_MEMORY : CLEW_WAIT_WRITE);
		assert_int_equal(sleep->object.kind, cases[i].kind);
		assert_int_equal(sleep->object.number, cases[i].number);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* Whatever the call: a wait that ends with a request of swapping is one for memory, and the swap
 * device its object. */
static void swapping(void **state)
{
	static const struct {
		unsigned flags, operation, kind;
		uint8_t bio;
	} cases[] = {
		{CLEW_WAIT_FLAG_FAULT, READS, CLEW_WAIT_MEMORY, CLEW_BIO_SWAP},
		{CLEW_WAIT_FLAG_IOWAIT, READS, CLEW_WAIT_MEMORY, CLEW_BIO_SWAP},
		{CLEW_WAIT_FLAG_FAULT, READS, CLEW_WAIT_FAULT, 0},
		{CLEW_WAIT_FLAG_FAULT, WRITES, CLEW_WAIT_MEMORY, CLEW_BIO_SWAP},
		{0, READS, CLEW_WAIT_READ, CLEW_BIO_SWAP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct synthetic s = {0};
		struct clew_wait wait = wait_on(SYS_pread64, CLEW_OBJECT_FILE, 55);
		const struct clew_sleep *sleep;
		const struct clew_trace_request *requests;
		struct clew_trace *t;
		size_t count;

		wait.flags |= (uint8_t)cases[i].flags;
		threads(&s, 1);
		SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
		BIO(&s, 2000, CLEW_BIO_QUEUE | cases[i].bio, .bio = 0xb1, .sector = 800,
		    .bytes = 4096, .device = DISK, .operation = cases[i].operation, .task = 1);
		REQUEST(&s, 2010, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb1,
			.sector = 800, .bytes = 4096, .device = DISK,
			.operation = cases[i].operation, .allocated = 2001, .task = 1);
		sleeps(&s, 2100, 0, 1, wait);
		completes(&s, 3000, ADDRESS, 2001, 4096);
		comes(&s, 3100, 0, 1, interrupted(3010, CLEW_WAKE_IRQ, COMPLETES));
		t = synthetic_trace(&s, 5000, 0);
		sleep = check_origin(t, 1, 0, CLEW_EDGE_REQUEST, 1, 2000);
		assert_int_equal(sleep->kind, cases[i].kind);
		if (cases[i].kind == CLEW_WAIT_MEMORY) {
			assert_int_equal(sleep->object.kind, CLEW_OBJECT_DEVICE);
			assert_int_equal(sleep->object.device, DISK);
		}
		requests = clew_trace_requests(t, &count);
		assert_int_equal(count, 1);
		assert_int_equal(requests[0].block.swap, cases[i].bio != 0);
		assert_int_equal(requests[0].block.reason == CLEW_REQUEST_REASON_MEMORY,
				 cases[i].bio != 0);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* Merged before it goes to the device: one request, of who queued the first bio. Split: two. Queued
 * again: still one. */
static void merged_split_and_again(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	size_t count;

	(void)state;
	threads(&s, 2);
	BIO(&s, 2000, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 100, .bytes = 4096, .device = DISK,
	    .task = 1);
	BIO(&s, 2010, CLEW_BIO_QUEUE, .bio = 0xb2, .sector = 108, .bytes = 8192, .device = DISK,
	    .task = 2);
	REQUEST(&s, 2012, CLEW_REQUEST_MERGE, .request = ADDRESS + 8, .bio = 0xb2, .sector = 108,
		.bytes = 8192, .device = DISK, .task = 2);
	REQUEST(&s, 2020, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb1, .sector = 100,
		.bytes = 12288, .device = DISK, .bio_count = 2);
	REQUEST(&s, 2030, CLEW_REQUEST_REQUEUE, .request = ADDRESS, .sector = 100, .bytes = 12288,
		.device = DISK);
	REQUEST(&s, 2040, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb1, .sector = 100,
		.bytes = 12288, .device = DISK, .bio_count = 2);
	completes(&s, 2050, ADDRESS, 0, 4096);
	completes(&s, 2060, ADDRESS, 0, 8192);
	BIO(&s, 3000, CLEW_BIO_QUEUE, .bio = 0xb3, .sector = 200, .bytes = 12288, .device = DISK,
	    .task = 1);
	BIO(&s, 3001, CLEW_BIO_SPLIT, .bio = 0xb4, .parent = 0xb3, .sector = 200, .bytes = 4096,
	    .device = DISK, .task = 2);
	BIO(&s, 3010, CLEW_BIO_QUEUE, .bio = 0xb3, .sector = 208, .bytes = 8192, .device = DISK,
	    .task = 2);
	REQUEST(&s, 3020, CLEW_REQUEST_ISSUE, .request = ADDRESS + 16, .bio = 0xb4, .sector = 200,
		.bytes = 4096, .device = DISK);
	REQUEST(&s, 3030, CLEW_REQUEST_ISSUE, .request = ADDRESS + 24, .bio = 0xb3, .sector = 208,
		.bytes = 8192, .device = DISK);
	t = synthetic_trace(&s, 5000, 0);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 3);
	assert_int_equal(requests[0].block.bytes, 12288);
	assert_int_equal(requests[0].block.submitter, 1);
	assert_int_equal(requests[0].block.issued, 2020);
	assert_int_equal(requests[0].block.completed, 2060);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(requests[i].block.queued, 3000);
		assert_int_equal(requests[i].block.submitter, 1);
		assert_int_equal(requests[i].block.completed, 0);
	}
	assert_int_equal(requests[1].block.sector + requests[2].block.sector, 408);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Told of before the bio, as a CPU's clock is behind: still of who queued that, and not of the
 * worker that issued it. */
static void issued_before_queued(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	size_t count;

	(void)state;
	threads(&s, 2);
	WORK(&s, 1900, .work = 0x71, .function = FUNCTION, .worker = 5);
	for (unsigned i = 0; i < 2; i++)
		REQUEST(&s, 2000 + i, CLEW_REQUEST_ISSUE, .request = ADDRESS + 8 * i,
			.bio = 0xb1 + i, .sector = 800 + 8 * i, .bytes = 4096, .device = DISK,
			.allocated = 1999, .task = 5);
	BIO(&s, 2005, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 800, .bytes = 4096, .device = DISK,
	    .task = 1);
	completes(&s, 2100, ADDRESS, 1999, 4096);
	completes(&s, 2101, ADDRESS + 8, 1999, 4096);
	t = synthetic_trace(&s, 5000, 0);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(requests[i].block.submitter,
				 requests[i].block.sector == 800 ? 1 : CLEW_NO_TASK);
		assert_true(requests[i].block.queued <= requests[i].block.issued);
	}
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Whose end was not seen is over when the kernel has another one in its place; what is not is not.
 */
static void end_lost(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	size_t count;

	(void)state;
	threads(&s, 2);
	asks(&s, 2000, 1, 0xb1, ADDRESS, 800, READS);
	asks(&s, 2100, 1, 0xb2, ADDRESS + 8, 900, READS);
	asks(&s, 2200, 2, 0xb3, ADDRESS, 1000, READS);
	completes(&s, 2300, ADDRESS, 2201, 4096);
	t = synthetic_trace(&s, 5000, 0);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(requests[i].block.completed, i == 2 ? 2300 : 0);
		assert_int_equal(requests[i].block.reused, i == 0 ? 2210 : 0);
		assert_int_equal(requests[i].end_lost, i == 0);
	}
	clew_trace_free(t);
	synthetic_done(&s);
}

/* An empty flush never goes to the device itself; the flush that does is its submitter's too. A
 * write that is flushed ends twice.
 */
static void flushes(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	const struct clew_sleep *sleep;
	size_t count;

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	BIO(&s, 2000, CLEW_BIO_QUEUE, .bio = 0xb1, .device = DISK, .operation = WRITES | PREFLUSH,
	    .task = 1);
	sleeps(&s, 2100, 0, 1, wait_on(SYS_fsync, CLEW_OBJECT_FILE, 55));
	REQUEST(&s, 2110, CLEW_REQUEST_ISSUE, .request = ADDRESS + 8, .sector = UINT64_MAX,
		.device = DISK, .operation = 2, .task = 9);
	completes(&s, 2900, ADDRESS + 8, 0, 0);
	REQUEST(&s, 2910, CLEW_REQUEST_COMPLETE, .request = ADDRESS, .bio = 0xb1, .device = DISK,
		.operation = WRITES | PREFLUSH, .allocated = 2001);
	comes(&s, 3000, 0, 1, interrupted(2920, CLEW_WAKE_SOFTIRQ, COMPLETES));
	/* Written, then flushed, then over. */
	asks(&s, 3200, 1, 0xb2, ADDRESS + 16, 800, WRITES | 1u << 17);
	completes(&s, 3300, ADDRESS + 16, 3201, 4096);
	completes(&s, 3400, ADDRESS + 16, 3201, 0);
	t = synthetic_trace(&s, 5000, 0);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 3);
	sleep = check_origin(t, 1, 0, CLEW_EDGE_REQUEST, 1, 2000);
	assert_int_equal(sleep->links[0].begin, 2110); /* from then on the device was at it */
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(requests[i].block.submitter, 1);
		if (requests[i].block.sector == UINT64_MAX)
			assert_int_equal(requests[i].block.issued, 2110);
		else if (requests[i].block.bytes == 0)
			assert_int_equal(requests[i].block.issued, 0);
		else
			assert_int_equal(requests[i].block.completed, 3400);
	}
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A disk writes through its cache without a flush: the flush later on is of the task that asks for
 * one then. */
static void writes_through(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	size_t count, flushed = 0;

	(void)state;
	threads(&s, 2);
	asks(&s, 2000, 1, 0xb1, ADDRESS, 800, WRITES | 1u << 17);
	completes(&s, 2100, ADDRESS, 2001, 4096);
	BIO(&s, 3000, CLEW_BIO_QUEUE, .bio = 0xb2, .device = DISK, .operation = WRITES | PREFLUSH,
	    .task = 2);
	REQUEST(&s, 3110, CLEW_REQUEST_ISSUE, .request = ADDRESS + 8, .sector = UINT64_MAX,
		.device = DISK, .operation = 2, .task = 9);
	completes(&s, 3900, ADDRESS + 8, 0, 0);
	t = synthetic_trace(&s, 5000, 0);
	requests = clew_trace_requests(t, &count);
	for (size_t i = 0; i < count; i++)
		if (requests[i].block.sector == UINT64_MAX) {
			flushed++;
			assert_int_equal(requests[i].block.submitter, 2);
			assert_int_equal(requests[i].block.queued, 3000);
		}
	assert_int_equal(flushed, 1);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A request that is over in two parts ends two sleeps of one task: it has woken that one task. */
static void over_in_parts(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	size_t count;

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	asks(&s, 2000, 1, 0xb1, ADDRESS, 80, READS);
	for (unsigned part = 0; part < 2; part++) {
		sleeps(&s, 2100 + 1000 * part, 0, 1, wait_on(SYS_pread64, CLEW_OBJECT_FILE, 55));
		completes(&s, 2500 + 1000 * part, ADDRESS, 2001, 2048);
		comes(&s, 2600 + 1000 * part, 0, 1,
		      interrupted(2510 + 1000 * part, CLEW_WAKE_IRQ, COMPLETES));
	}
	t = synthetic_trace(&s, 5000, 0);
	check_origin(t, 1, 0, CLEW_EDGE_REQUEST, 1, 2000);
	check_origin(t, 1, 1, CLEW_EDGE_REQUEST, 1, 2000);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 1);
	assert_int_equal(requests[0].woke_count, 1);
	assert_int_equal(requests[0].woke[0], 1);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* fsync over three requests, preempted between them, and another one's over before it slept; the
 * second sleep has the first's too. */
static void several_requests(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;
	struct clew_wait wait = wait_on(SYS_fsync, CLEW_OBJECT_FILE, 55);

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	asks(&s, 1600, 1, 0xb0, ADDRESS + 8, 40, WRITES);
	completes(&s, 1700, ADDRESS + 8, 1601, 4096);
	asks(&s, 2000, 1, 0xb1, ADDRESS, 80, WRITES);
	SWITCH(&s, .at = 2010, .cpu = 0, .prev = 1, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
	SWITCH(&s, .at = 2015, .cpu = 0, .prev = IDLE, .next = 1);
	asks(&s, 2020, 1, 0xb2, ADDRESS + 16, 160, WRITES);
	asks(&s, 2040, 1, 0xb3, ADDRESS + 24, 240, WRITES);
	sleeps(&s, 2100, 0, 1, wait);
	completes(&s, 2500, ADDRESS + 16, 2021, 4096);
	completes(&s, 3000, ADDRESS, 2001, 4096);
	comes(&s, 3100, 0, 1, interrupted(3010, CLEW_WAKE_IRQ, COMPLETES));
	wait.flags = CLEW_WAIT_FLAG_SAME_CALL;
	sleeps(&s, 3200, 0, 1, wait);
	completes(&s, 3500, ADDRESS + 24, 2041, 4096);
	comes(&s, 3600, 0, 1,
	      interrupted(3510, CLEW_WAKE_IRQ,
			  (struct clew_cause){.kind = CLEW_CAUSE_REQUEST, .object = ADDRESS + 24}));
	/* Another call's. */
	asks(&s, 3700, 1, 0xb4, ADDRESS, 800, READS);
	sleeps(&s, 3800, 0, 1, wait_on(SYS_pread64, CLEW_OBJECT_FILE, 55));
	completes(&s, 3900, ADDRESS, 3701, 4096);
	comes(&s, 4000, 0, 1, interrupted(3910, CLEW_WAKE_IRQ, COMPLETES));
	t = synthetic_trace(&s, 5000, 0);
	sleep = check_origin(t, 1, 0, CLEW_EDGE_REQUEST, 1, 2000);
	assert_int_equal(sleep->and_count, 1);
	assert_int_equal(sleep->links[1].at, 2020);
	assert_int_equal(edge_to(t, 1, 0)->and_count, 1);
	sleep = check_origin(t, 1, 1, CLEW_EDGE_REQUEST, 1, 2040);
	assert_int_equal(sleep->and_count, 2);
	sleep = check_origin(t, 1, 2, CLEW_EDGE_REQUEST, 1, 3700);
	assert_int_equal(sleep->and_count, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A device that has no requests, and what is below it; then a loop device, whose worker asks for a
 * file's blocks. */
static void devices_upon_devices(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	size_t count;

	(void)state;
	threads(&s, 1);
	identify(&s, (struct identity){.task = 5, .comm = "kworker"});
	BIO(&s, 2000, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 64, .bytes = 8192, .device = MAPPED,
	    .task = 1);
	BIO(&s, 2010, CLEW_BIO_REMAP, .bio = 0xb2, .sector = 1072, .bytes = 4096, .device = DISK,
	    .from_device = MAPPED, .from_sector = 72, .task = 1);
	BIO(&s, 2011, CLEW_BIO_QUEUE, .bio = 0xb2, .sector = 1072, .bytes = 4096, .device = DISK,
	    .task = 1);
	REQUEST(&s, 2020, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb2, .sector = 1072,
		.bytes = 4096, .device = DISK);
	completes(&s, 2100, ADDRESS, 0, 4096);
	BIO(&s, 2110, CLEW_BIO_COMPLETE, .bio = 0xb1, .device = MAPPED);

	text(&s, 2900, FUNCTION, "loop_workfn");
	BIO(&s, 3000, CLEW_BIO_QUEUE, .bio = 0xb3, .sector = 8, .bytes = 4096, .device = LOOP,
	    .task = 1);
	REQUEST(&s, 3010, CLEW_REQUEST_ISSUE, .request = ADDRESS + 8, .bio = 0xb3, .sector = 8,
		.bytes = 4096, .device = LOOP, .task = 1);
	WORK(&s, 3050, .work = 0x77, .function = FUNCTION, .queued = 3012, .worker = 5, .queuer = 1,
	     .context = CLEW_WAKE_TASK);
	BIO(&s, 3060, CLEW_BIO_QUEUE, .bio = 0xb4, .sector = 5000, .bytes = 4096, .device = DISK,
	    .task = 5);
	REQUEST(&s, 3070, CLEW_REQUEST_ISSUE, .request = ADDRESS + 16, .bio = 0xb4, .sector = 5000,
		.bytes = 4096, .device = DISK);
	t = synthetic_trace(&s, 5000, 0);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 4);
	assert_int_equal(requests[0].block.device, MAPPED);
	assert_int_equal(requests[0].block.completed, 2110);
	assert_int_equal(requests[0].lower_count, 1);
	assert_int_equal(requests[0].lower[0], 1);
	assert_int_equal(requests[1].block.sector, 1072);
	assert_int_equal(requests[2].block.device, LOOP);
	assert_int_equal(requests[2].block.submitter, 1);
	assert_int_equal(requests[2].lower_count, 1);
	assert_int_equal(requests[2].lower[0], 3);
	assert_int_equal(requests[3].block.submitter, 5);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A worker wakes in the name of who queued the item, also after it has begun the next; and of the
 * request at whose end it was queued. */
static void work_items(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;
	const struct clew_edge *edge;

	(void)state;
	threads(&s, 3);
	identify(&s, (struct identity){.task = 5, .comm = "kworker"});
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	sleeps(&s, 1500, 1, 1, wait_on(SYS_read, CLEW_OBJECT_TTY, 3));
	SWITCH(&s, .at = 1600, .cpu = 0, .prev = IDLE, .next = 5);
	WORK(&s, 2000, .work = 0x71, .function = FUNCTION, .queued = 1900, .worker = 5, .queuer = 2,
	     .context = CLEW_WAKE_TASK);
	WORK(&s, 2050, .work = 0x72, .function = FUNCTION + 8, .queued = 1950, .worker = 5,
	     .queuer = 3, .context = CLEW_WAKE_TASK);
	comes(&s, 2100, 1, 1, (struct woken){.at = 2040, .by = 5});
	/* The end of a request is a work item's, and a rescuer's at that. */
	asks(&s, 2200, 1, 0xb1, ADDRESS, 800, WRITES);
	sleeps(&s, 2300, 1, 1, wait_on(SYS_fsync, CLEW_OBJECT_FILE, 55));
	completes(&s, 2400, ADDRESS, 2201, 4096);
	WORK(&s, 2500, .work = 0x73, .function = FUNCTION + 16, .queued = 2410, .worker = 5,
	     .context = CLEW_WAKE_SOFTIRQ, .cause = COMPLETES, .header.flags = CLEW_WORK_RESCUER);
	comes(&s, 2600, 1, 1, (struct woken){.at = 2550, .by = 5});
	/* Delayed work is of who armed its timer. */
	sleeps(&s, 2700, 1, 1, wait_on(SYS_read, CLEW_OBJECT_PIPE, 3));
	WORK(&s, 2900, .work = 0x74, .function = FUNCTION, .queued = 2890, .worker = 5,
	     .context = CLEW_WAKE_TIMER,
	     .cause = {.kind = CLEW_CAUSE_TIMER, .task = 3, .time = 2450, .expires = 2880});
	comes(&s, 3000, 1, 1, (struct woken){.at = 2950, .by = 5});
	t = synthetic_trace(&s, 5000, 0);
	sleep = check_origin(t, 1, 0, CLEW_EDGE_WORK, 2, 1900);
	assert_int_equal(sleep->ended_by, 2);
	assert_int_equal(sleep->context, CLEW_WAKE_WORK);
	assert_int_equal(sleep->links[0].worker, 5);
	assert_int_equal(sleep->links[0].flags, 0);
	sleep = check_origin(t, 1, 1, CLEW_EDGE_REQUEST, 1, 2200);
	assert_int_equal(sleep->ended_by, CLEW_NO_TASK);
	assert_int_equal(sleep->context, CLEW_WAKE_WORK);
	assert_int_equal(sleep->link_count, 2);
	assert_int_equal(sleep->links[0].flags, CLEW_LINK_RESCUER);
	check_origin(t, 1, 2, CLEW_EDGE_WORK, 3, 2450);
	/* Each item that was queued by a task is an edge to its run. */
	edge = edge_to(t, 5, 0);
	assert_int_equal(edge->type, CLEW_EDGE_WORK);
	assert_int_equal(edge->from, 2);
	assert_int_equal(edge->from_at, 1900);
	assert_int_equal(edge->to_at, 2000);
	assert_int_equal(edge->object.kind, CLEW_OBJECT_WORK);
	assert_int_equal(edge->object.number, FUNCTION);
	assert_int_equal(edge_to(t, 5, 1)->from, 3);
	assert_int_equal(edge_to(t, 5, 2)->from, 3);
	assert_null(edge_to(t, 5, 3));
	clew_trace_free(t);
	synthetic_done(&s);
}

static void timers_and_packets(void **state)
{
	const struct clew_cause own = {
		.kind = CLEW_CAUSE_TIMER, .expires = 2900, .object = FUNCTION};
	const struct clew_cause armed = {.kind = CLEW_CAUSE_TIMER,
					 .expires = 3900,
					 .object = FUNCTION,
					 .task = 2,
					 .time = 3500};
	const struct clew_cause sent = {.kind = CLEW_CAUSE_PACKET, .task = 2, .time = 4500};
	const struct clew_cause waited = {
		.kind = CLEW_CAUSE_PACKET, .task = 2, .time = 4920, .object = CLEW_PACKET_WAITED};
	const struct clew_cause device = {.kind = CLEW_CAUSE_IRQ, .object = 11};
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;

	(void)state;
	threads(&s, 2);
	sleeps(&s, 2000, 0, 1, wait_in(SYS_nanosleep));
	comes(&s, 3100, 0, 1, interrupted(3000, CLEW_WAKE_TIMER, own));
	sleeps(&s, 3400, 0, 1, wait_on(SYS_read, CLEW_OBJECT_TIMERFD, 7));
	comes(&s, 4100, 0, 1, interrupted(4000, CLEW_WAKE_TIMER, armed));
	sleeps(&s, 4400, 0, 1, wait_on(SYS_read, CLEW_OBJECT_SOCKET, 8));
	comes(&s, 4700, 0, 1, interrupted(4600, CLEW_WAKE_SOFTIRQ, sent));
	sleeps(&s, 4750, 0, 1, wait_on(SYS_read, CLEW_OBJECT_SOCKET, 9));
	comes(&s, 4900, 0, 1, interrupted(4850, CLEW_WAKE_SOFTIRQ, device));
	sleeps(&s, 4910, 0, 1, wait_on(SYS_read, CLEW_OBJECT_SOCKET, 8));
	comes(&s, 4950, 0, 1, interrupted(4940, CLEW_WAKE_SOFTIRQ, waited));
	t = synthetic_trace(&s, 5000, 0);
	sleep = check_origin(t, 1, 0, -1, 0, 0);
	assert_int_equal(sleep->object.kind, CLEW_OBJECT_TIMER);
	assert_int_equal(sleep->links[0].begin, 2900);
	assert_int_equal(sleep->context, CLEW_WAKE_TIMER);
	sleep = check_origin(t, 1, 1, CLEW_EDGE_TIMER, 2, 3500);
	assert_int_equal(sleep->ended_by, CLEW_NO_TASK);
	sleep = check_origin(t, 1, 2, CLEW_EDGE_SOCKET, 2, 4500);
	assert_int_equal(sleep->ended_by, 2);
	assert_int_equal(sleep->context, CLEW_WAKE_SOFTIRQ);
	sleep = check_origin(t, 1, 3, -1, 0, 0);
	assert_int_equal(sleep->ended_by, CLEW_NO_TASK);
	assert_int_equal(sleep->links[0].kind, CLEW_LINK_IRQ);
	check_origin(t, 1, 4, CLEW_EDGE_SOCKET, 2, 4920);
	/* Links of the timer, of data that a call sent, and of data that had to wait. */
	assert_int_equal(edge_to(t, 1, 0)->evidence, CLEW_EVIDENCE_EXACT);
	assert_int_equal(edge_to(t, 1, 1)->evidence, CLEW_EVIDENCE_EXACT);
	assert_int_equal(edge_to(t, 1, 2)->evidence, CLEW_EVIDENCE_OBSERVED);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The submission counts: told by the waker's completion before the wake, or by the waiter's own
 * after it. */
static void rings(void **state)
{
	const struct clew_wait wait = wait_on(SYS_io_uring_enter, CLEW_OBJECT_IO_URING, 0x5000);
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;

	(void)state;
	threads(&s, 2);
	sleeps(&s, 2000, 0, 1, wait);
	RING(&s, 2400, CLEW_RING_SUBMIT, .ring = 0x5000, .request = 0x600, .user_data = 7,
	     .task = 2);
	RING(&s, 2500, CLEW_RING_COMPLETE, .ring = 0x5000, .request = 0x600, .user_data = 7,
	     .task = 2);
	/* One that comes after the wake did not make it. */
	RING(&s, 2520, CLEW_RING_SUBMIT, .ring = 0x5000, .request = 0x602, .user_data = 9,
	     .task = 2);
	RING(&s, 2550, CLEW_RING_COMPLETE, .ring = 0x5000, .request = 0x602, .user_data = 9,
	     .task = 2);
	comes(&s, 2600, 0, 1, (struct woken){.at = 2510, .by = 2});
	RING(&s, 2650, CLEW_RING_SUBMIT, .ring = 0x5000, .request = 0x601, .user_data = 8,
	     .task = 1);
	asks(&s, 2660, 1, 0xb1, ADDRESS, 800, READS);
	sleeps(&s, 2700, 0, 1, wait);
	completes(&s, 3000, ADDRESS, 2661, 4096);
	comes(&s, 3100, 0, 1, interrupted(3010, CLEW_WAKE_IRQ, COMPLETES));
	RING(&s, 3110, CLEW_RING_COMPLETE, .ring = 0x5000, .user_data = 8, .task = 1);
	/* Completed by nobody, as far as is known. */
	sleeps(&s, 3200, 0, 1, wait);
	comes(&s, 3400, 0, 1,
	      interrupted(3300, CLEW_WAKE_SOFTIRQ,
			  (struct clew_cause){.kind = CLEW_CAUSE_SOFTIRQ}));
	sleeps(&s, 3500, 0, 1, wait_in(SYS_pause));
	/* libaio: whose the request is. */
	asks(&s, 3600, 2, 0xb2, ADDRESS + 8, 800, READS);
	comes(&s, 3700, 0, 1, (struct woken){.at = 3650, .by = 2});
	sleeps(&s, 3750, 0, 1, wait_in(SYS_io_getevents));
	completes(&s, 3800, ADDRESS + 8, 3601, 4096);
	comes(&s, 3900, 0, 1,
	      interrupted(3810, CLEW_WAKE_IRQ,
			  (struct clew_cause){.kind = CLEW_CAUSE_REQUEST, .object = ADDRESS + 8}));
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	sleep = check_origin(t, 1, 0, CLEW_EDGE_IO_URING, 2, 2400);
	assert_int_equal(sleep->ended_by, 2);
	sleep = check_origin(t, 1, 1, CLEW_EDGE_IO_URING, 1, 2650);
	assert_int_equal(sleep->ended_by, CLEW_NO_TASK);
	assert_int_equal(sleep->links[0].kind, CLEW_LINK_REQUEST);
	check_origin(t, 1, 2, -1, 0, 0);
	check_origin(t, 1, 4, CLEW_EDGE_IO_URING, 2, 3600);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A worker that wakes its submitter, as to have another worker made, has not completed what
 * the submitter had seen before. */
static void rings_woken_early(void **state)
{
	const struct clew_wait wait = wait_on(SYS_io_uring_enter, CLEW_OBJECT_IO_URING, 0x5000);
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	RING(&s, 1000, CLEW_RING_SUBMIT, .ring = 0x5000, .request = 0x600, .task = 1);
	RING(&s, 1100, CLEW_RING_COMPLETE, .ring = 0x5000, .request = 0x600, .task = 2);
	RING(&s, 1200, CLEW_RING_SUBMIT, .ring = 0x5000, .request = 0x601, .task = 1);
	sleeps(&s, 1300, 0, 1, wait);
	comes(&s, 1450, 0, 1, (struct woken){.at = 1400, .by = 2});
	sleeps(&s, 1500, 0, 1, wait);
	RING(&s, 1600, CLEW_RING_COMPLETE, .ring = 0x5000, .request = 0x601, .task = 2);
	comes(&s, 1700, 0, 1, (struct woken){.at = 1610, .by = 2});
	sleeps(&s, 1800, 0, 1, wait);
	comes(&s, 1950, 0, 1, (struct woken){.at = 1900, .by = 2});
	t = synthetic_trace(&s, 2000, 0);
	assert_sane(t);
	check_origin(t, 1, 0, CLEW_EDGE_WAKE, 2, 1400);
	check_origin(t, 1, 1, CLEW_EDGE_IO_URING, 1, 1200);
	check_origin(t, 1, 2, CLEW_EDGE_WAKE, 2, 1900);
	clew_trace_free(t);
	synthetic_done(&s);
}

static struct clew_wait wait_lock(uint32_t owner_tid, unsigned type)
{
	return (struct clew_wait){
		.call = SYS_rename,
		.descriptor = -1,
		.object_kind = CLEW_OBJECT_LOCK,
		.object = 0xffff888800001000ull,
		.argument = type,
		.owner = owner_tid,
		.reason = CLEW_REASON_LOCK,
	};
}

/* Several processes, as the kernel's locks belong to none; the owner word is a tid of the whole
 * machine. */
static void kernel_locks(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;

	(void)state;
	for (uint32_t task = 1; task <= 3; task++)
		identify(&s, (struct identity){.task = task, .pid_namespace = task, .own_tid = 1});
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	sleeps(&s, 2000, 2, 2, wait_lock(101, CLEW_LOCK_MUTEX));
	sleeps(&s, 2100, 3, 3, wait_lock(101, CLEW_LOCK_MUTEX));
	comes(&s, 3100, 2, 2, (struct woken){.at = 3000, .by = 1});
	comes(&s, 4100, 3, 3, (struct woken){.at = 4000, .by = 2});
	SPIN(&s, 4400, .begin = 4300, .lock = 0x66, .task = 3, .owner = 102,
	     .type = CLEW_LOCK_SPIN);
	sleeps(&s, 4500, 3, 3, wait_lock(0, CLEW_LOCK_PERCPU | CLEW_LOCK_READ));
	comes(&s, 4700, 3, 3, (struct woken){.at = 4600, .by = 1});
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	sleep = check_origin(t, 2, 0, CLEW_EDGE_UNLOCK, 1, 3000);
	assert_int_equal(sleep->kind, CLEW_WAIT_LOCK);
	assert_int_equal(sleep->edge_evidence, CLEW_EVIDENCE_EXACT);
	assert_int_equal(sleep->holder_count, 1);
	assert_holder(sleep, 0, 1, 2000, 3000, false);
	sleep = check_origin(t, 3, 0, CLEW_EDGE_UNLOCK, 2, 4000);
	assert_int_equal(sleep->holder_count, 3);
	assert_holder(sleep, 0, 1, 2100, 3000, false);
	assert_coming(sleep, 1, 2, 3000, 3100);
	assert_int_equal(sleep->holders[2].task, 2);
	assert_int_equal(sleep->holders[2].from, 3100);
	assert_int_equal(sleep->holders[2].evidence, CLEW_EVIDENCE_OBSERVED);
	sleep = check_origin(t, 3, 1, CLEW_EDGE_UNLOCK, 1, 4600);
	assert_int_equal(sleep->edge_evidence, CLEW_EVIDENCE_OBSERVED);
	assert_int_equal(clew_trace_spin(t, 3, 4000)->holder, 2);
	assert_int_equal(clew_trace_spin(t, 3, 4000)->start, 4300);
	assert_null(clew_trace_spin(t, 3, 4400));
	assert_null(clew_trace_spin(t, 2, 0));
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Direct I/O of one bio is told at its end, in one record. */
static void told_whole(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_trace_request *requests;
	size_t count;

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t at = 2000 + 1000 * i;

		sleeps(&s, at + 100, 0, 1, wait_on(SYS_pread64, CLEW_OBJECT_FILE, 55));
		REQUEST(&s, at + 500, CLEW_REQUEST_WHOLE, .request = ADDRESS, .sector = 800 + i,
			.bytes = 4096, .device = DISK, .task = 1, .allocated = at + 1, .queued = at,
			.issued = at + 10, .inode = 55, .file_device = 3);
		comes(&s, at + 600, 0, 1, interrupted(at + 510, CLEW_WAKE_IRQ, COMPLETES));
	}
	t = synthetic_trace(&s, 5000, 0);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 2);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t at = 2000 + 1000 * i;

		assert_int_equal(requests[i].block.queued, at);
		assert_int_equal(requests[i].block.issued, at + 10);
		assert_int_equal(requests[i].block.completed, at + 500);
		assert_int_equal(requests[i].block.submitter, 1);
		assert_int_equal(requests[i].block.inode, 55);
		assert_int_equal(requests[i].woke_count, 1);
		check_origin(t, 1, i, CLEW_EDGE_REQUEST, 1, at);
	}
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Records of things that never were seen to begin, in any order: nothing is made up, and nothing
 * breaks. */
static void strays(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct synthetic s = {0};
		struct clew_trace *t;
		uint64_t at = 2000;

		threads(&s, 4);
		for (unsigned i = 0; i < 120; i++) {
			uint64_t bits =
				(seed = seed * 6364136223846793005ull + 1442695040888963407ull) >>
				20;
			uint32_t task = bits & 3, address = 0x100 + (bits >> 2 & 7);
			struct clew_cause cause = {.kind = bits >> 5 & 7,
						   .object = 0x100 + (bits >> 8 & 7),
						   .task = bits >> 11 & 7,
						   .time = bits >> 14 & 0xfff};

			at += bits >> 26 & 31;
			switch (bits >> 31 & 7) {
			case 0:
				BIO(&s, at, (uint8_t)(bits >> 34 & 7), .bio = address,
				    .sector = (bits >> 5 & 7) * 8, .bytes = (bits & 3) * 4096,
				    .device = DISK + (bits >> 9 & 1),
				    .from_device = DISK + (bits >> 10 & 1),
				    .from_sector = (bits >> 11 & 7) * 8,
				    .parent = 0x100 + (bits >> 14 & 7), .operation = bits >> 17 & 3,
				    .task = task);
				break;
			case 1:
			case 2:
				REQUEST(&s, at, (uint8_t)(bits >> 34 & 15), .request = address,
					.bio = 0x100 + (bits >> 5 & 7),
					.sector = (bits >> 8 & 7) * 8, .bytes = (bits & 3) * 4096,
					.device = bits >> 11 & 1 ? LOOP : DISK,
					.operation = bits >> 12 & 3, .allocated = bits >> 14 & 3,
					.task = task);
				break;
			case 3:
				WORK(&s, at, .work = address,
				     .function = FUNCTION + (bits >> 5 & 1),
				     .queued = at - (bits & 15), .worker = task,
				     .queuer = bits >> 7 & 3, .context = bits >> 9 & 7,
				     .cause = cause);
				break;
			case 4:
				RING(&s, at, (uint8_t)(bits >> 34 & 3), .ring = 0x100,
				     .request = bits >> 5 & 3, .user_data = bits & 3, .task = task);
				break;
			case 5:
				sleeps(&s, at, task, task,
				       bits >> 34 & 1	? wait_on(SYS_io_uring_enter,
								  CLEW_OBJECT_IO_URING, 0x100)
				       : bits >> 35 & 1 ? wait_lock(101, bits & 63)
							: wait_on(SYS_fsync, CLEW_OBJECT_FILE, 55));
				break;
			case 6:
				comes(&s, at, task, task,
				      (struct woken){.at = at - 1,
						     .by = bits >> 34 & 3,
						     .context = bits >> 36 & 7,
						     .cause = cause});
				break;
			default:
				SPIN(&s, at, .begin = at - (bits & 63), .lock = address,
				     .task = task, .owner = 101, .type = CLEW_LOCK_MUTEX);
				break;
			}
		}
		text(&s, at, FUNCTION, "loop_workfn");
		t = synthetic_trace(&s, at + 1000, 0);
		assert_sane(t);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request),
		cmocka_unit_test(a_place_at_the_device),
		cmocka_unit_test(swapping),
		cmocka_unit_test(memory),
		cmocka_unit_test(merged_split_and_again),
		cmocka_unit_test(flushes),
		cmocka_unit_test(writes_through),
		cmocka_unit_test(end_lost),
		cmocka_unit_test(over_in_parts),
		cmocka_unit_test(several_requests),
		cmocka_unit_test(devices_upon_devices),
		cmocka_unit_test(work_items),
		cmocka_unit_test(timers_and_packets),
		cmocka_unit_test(rings),
		cmocka_unit_test(rings_woken_early),
		cmocka_unit_test(kernel_locks),
		cmocka_unit_test(told_whole),
		cmocka_unit_test(issued_before_queued),
		cmocka_unit_test(strays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

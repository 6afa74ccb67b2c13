/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that the I/O limit of a cgroup held back: their submitter, and what the waits
 * for them are. Each answer is the same from the causal trace that is made of the capture.
 */
#include "convert/convert.h"
#include "explain/why.h"
#include "synthetic.h"
#include <clew/notation.h>

#define DISK	(254u << 20)
#define ADDRESS 0x9000u
#define WORKER	9

static const struct clew_cause done = {.kind = CLEW_CAUSE_REQUEST, .object = ADDRESS};

/* 1 and 2 run, the worker is idle. */
static void begin(struct synthetic *s)
{
	threads(s, 2);
	identify(s, (struct identity){
			    .task = WORKER, .comm = "kworker/1:1", .flags = CLEW_TASK_KTHREAD});
	SWITCH(s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	SWITCH(s, .at = 1150, .cpu = 2, .prev = IDLE, .next = 2);
}

/* The worker queues the bio at `at`, and the disk has it until `at` + 300. */
static void let_go(struct synthetic *s, uint64_t at, uint32_t tid)
{
	LIMIT(s, at, .bio = 0xb1, .cgroup = 507, .limited = 506, .submitter = tid);
	BIO(s, at, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 800, .bytes = 4096, .device = DISK,
	    .operation = 1);
	REQUEST(s, at + 50, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb1, .sector = 800,
		.bytes = 4096, .device = DISK, .operation = 1, .allocated = 5, .task = WORKER);
	REQUEST(s, at + 300, CLEW_REQUEST_COMPLETE, .request = ADDRESS, .bytes = 4096,
		.device = DISK, .allocated = 5);
}

static struct clew_wait wait_for_disk(void)
{
	struct clew_wait wait = wait_on(SYS_pwrite64, CLEW_OBJECT_FILE, 55);

	wait.flags |= CLEW_WAIT_FLAG_IOWAIT;
	return wait;
}

static const struct clew_block_request *only_request(const struct clew_trace *t)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(t, &count);

	assert_int_equal(count, 1);
	return &requests[0].block;
}

/* In [2000, 3300) `task` was held back until `released`, then had the request queued and done. */
static void check_wait(const struct clew_trace *t, uint32_t tid, uint64_t released,
		       uint64_t submitter_tid)
{
	const struct clew_block_request *block = only_request(t);
	const struct clew_trace_task *submitter = clew_trace_task(t, block->submitter);
	struct clew_why why;
	uint32_t task = 0;

	for (size_t i = 0; i < clew_trace_task_count(t); i++)
		if (clew_trace_task_at(t, i)->tid == tid)
			task = clew_trace_task_at(t, i)->serial;
	assert_int_equal(submitter ? submitter->tid : 0, submitter_tid);
	assert_int_equal(block->released, released);
	assert_int_equal(block->group, 507);
	assert_int_equal(block->limited, 506);
	assert_int_equal(block->queued, 2000);
	assert_int_equal(clew_why_explain(t, NULL, task, 2000, released + 300, &why), 0);
	assert_int_equal(why.segment_count, 3);
	assert_int_equal(why.segments[0].kind, CLEW_WAIT_THROTTLE);
	assert_int_equal(why.segments[0].end, released);
	assert_non_null(why.segments[0].link);
	assert_int_equal(why.segments[1].kind, CLEW_SEGMENT_QUEUED);
	assert_int_equal(why.segments[1].end, released + 50);
	assert_int_equal(why.segments[2].kind, CLEW_SEGMENT_DEVICE);
	clew_why_done(&why);
}

static void check_both(const struct clew_trace *t, uint32_t tid, uint64_t released,
		       uint64_t submitter_tid)
{
	char message[256] = "";
	struct clew_trace *back;
	struct clew_model *model;

	assert_sane(t);
	check_wait(t, tid, released, submitter_tid);
	assert_int_equal(clew_model_from_trace(t, &model), 0);
	assert_int_equal(clew_trace_from_model(model, NULL, &back, message, sizeof(message)), 0);
	check_wait(back, tid, released, submitter_tid);
	clew_trace_free(back);
	clew_model_free(model);
}

static void held_direct_io(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	begin(&s);
	sleeps(&s, 2000, 1, 1, wait_for_disk());
	let_go(&s, 3000, 101);
	comes(&s, 3310, 1, 1, interrupted(3300, CLEW_WAKE_IRQ, done));
	t = synthetic_trace(&s, 5000, 0);
	check_both(t, 101, 3000, 101);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Nobody is known to have submitted it: not the worker, and not 2, which waits for it. */
static void held_for_nobody(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	begin(&s);
	sleeps(&s, 2000, 2, 2, wait_for_disk());
	let_go(&s, 3000, 0);
	comes(&s, 3310, 2, 2, interrupted(3300, CLEW_WAKE_IRQ, done));
	t = synthetic_trace(&s, 5000, 0);
	check_both(t, 102, 3000, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The bio's own record was lost: the next one at its address was not held back. */
static void lost_release(void **state)
{
	const struct clew_block_request *block;
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	begin(&s);
	LIMIT(&s, 2000, .bio = 0xb1, .cgroup = 507, .limited = 507, .submitter = 101);
	BIO(&s, 900000000, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 800, .bytes = 4096,
	    .device = DISK, .operation = 1, .task = 2);
	REQUEST(&s, 900000050, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb1, .sector = 800,
		.bytes = 4096, .device = DISK, .operation = 1, .allocated = 5, .task = 2);
	t = synthetic_trace(&s, 1000000000, 0);
	block = only_request(t);
	assert_int_equal(block->submitter, 2);
	assert_int_equal(block->released, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_direct_io),
		cmocka_unit_test(held_for_nobody),
		cmocka_unit_test(lost_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

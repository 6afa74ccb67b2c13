/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Explanations that go through what is no task: a request in its queue and device,
 * a work item and its worker, a packet, a timer; and waiting on a CPU, or without
 * a right to one.
 */
#include "explain/why.h"
#include "synthetic.h"

#define DISK	 (254u << 20)
#define FUNCTION 0xffffffff81000000ull
#define ADDRESS	 0x9000u

struct expected {
	unsigned kind;
	uint32_t task;
	uint64_t end;
	uint32_t chain; /* the last of it, 0 none */
	int via;
};

static struct clew_why check(const struct clew_trace *t, uint32_t task, uint64_t from,
			     const struct expected *expected, size_t count)
{
	struct clew_why why;
	uint64_t at = from;

	assert_int_equal(clew_why_explain(t, NULL, task, from, expected[count - 1].end, &why), 0);
	for (size_t i = 0; i < why.segment_count; i++) {
		const struct clew_segment *segment = &why.segments[i];

		assert_int_equal(segment->start, at);
		at = segment->end;
		assert_true(i < count);
		assert_string_equal(clew_wait_kind_name(segment->kind),
				    clew_wait_kind_name(expected[i].kind));
		assert_int_equal(segment->task, expected[i].task);
		assert_int_equal(segment->end, expected[i].end);
		assert_int_equal(segment->chain_length ? segment->chain[segment->chain_length - 1]
						       : 0,
				 expected[i].chain);
		assert_int_equal(segment->via_type, expected[i].via);
	}
	assert_int_equal(why.segment_count, count);
	return why;
}

#define CHECK(t, task, from, ...)                                                                  \
	({                                                                                         \
		const struct expected rows[] = {__VA_ARGS__};                                      \
                                                                                                   \
		check(t, task, from, rows, sizeof(rows) / sizeof(rows[0]));                        \
	})

static void queued(struct synthetic *s, uint64_t at, uint32_t task)
{
	BIO(s, at, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 800, .bytes = 4096, .device = DISK,
	    .task = task);
}

static void issued(struct synthetic *s, uint64_t at)
{
	REQUEST(s, at, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb1, .sector = 800,
		.bytes = 4096, .device = DISK, .allocated = 5);
}

static void completed(struct synthetic *s, uint64_t at)
{
	REQUEST(s, at, CLEW_REQUEST_COMPLETE, .request = ADDRESS, .bytes = 4096, .device = DISK,
		.allocated = 5);
}

static const struct clew_cause done = {.kind = CLEW_CAUSE_REQUEST, .object = ADDRESS};

/* 1 waits for a loop device: for its worker, for the disk below, and until that is told. */
static void disk_below_a_disk(void **state)
{
	const uint32_t loop = 7u << 20;
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 2);
	identify(&s,
		 (struct identity){.task = 5, .comm = "kworker/u8:1", .flags = CLEW_TASK_KTHREAD});
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 1);
	SWITCH(&s, .at = 1200, .cpu = 3, .prev = 5, .next = IDLE,
	       .wait = &(struct clew_wait){.call = CLEW_NO_CALL, .flags = CLEW_WAIT_FLAG_KTHREAD});
	SWITCH(&s, .at = 1300, .cpu = 3, .prev = IDLE, .next = 2, .flags = CLEW_SWITCH_NEXT_NEW);
	text(&s, 1400, FUNCTION, "loop_workfn");
	BIO(&s, 2000, CLEW_BIO_QUEUE, .bio = 0xb3, .sector = 8, .bytes = 4096, .device = loop,
	    .operation = 1, .task = 1);
	REQUEST(&s, 2010, CLEW_REQUEST_ISSUE, .request = ADDRESS + 8, .bio = 0xb3, .sector = 8,
		.bytes = 4096, .device = loop, .operation = 1, .task = 1);
	sleeps(&s, 2100, 2, 1, wait_on(SYS_fsync, CLEW_OBJECT_FILE, 55));
	/* Woken, the worker waits for a CPU. */
	SWITCH(&s, .at = 2500, .cpu = 3, .prev = 2, .next = 5,
	       .flags = CLEW_SWITCH_PREEMPT | CLEW_SWITCH_NEXT_SLEPT,
	       .woken = {.at = 2050, .by = 1, .context = CLEW_WAKE_TASK});
	WORK(&s, 2510, .work = 0x77, .function = FUNCTION, .queued = 2012, .worker = 5, .queuer = 1,
	     .context = CLEW_WAKE_TASK);
	BIO(&s, 2600, CLEW_BIO_QUEUE, .bio = 0xb4, .sector = 5000, .bytes = 4096, .device = DISK,
	    .operation = 1, .task = 5);
	REQUEST(&s, 2700, CLEW_REQUEST_ISSUE, .request = ADDRESS, .bio = 0xb4, .sector = 5000,
		.bytes = 4096, .device = DISK, .operation = 1);
	REQUEST(&s, 3000, CLEW_REQUEST_COMPLETE, .request = ADDRESS, .bytes = 4096, .device = DISK);
	REQUEST(&s, 3200, CLEW_REQUEST_COMPLETE, .request = ADDRESS + 8, .bytes = 4096,
		.device = loop);
	comes(&s, 3300, 2, 1,
	      interrupted(3210, CLEW_WAKE_SOFTIRQ,
			  (struct clew_cause){.kind = CLEW_CAUSE_REQUEST, .object = ADDRESS + 8}));
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	why = CHECK(t, 1, 2000, {CLEW_SEGMENT_RUNNING, 1, 2100, 0, -1},
		    {CLEW_SEGMENT_RUNQUEUE, 5, 2500, 1, CLEW_EDGE_WORK},
		    {CLEW_SEGMENT_RUNNING, 5, 2600, 1, CLEW_EDGE_WORK},
		    {CLEW_SEGMENT_QUEUED, 1, 2700, 1, -1}, {CLEW_SEGMENT_DEVICE, 1, 3000, 1, -1},
		    {CLEW_SEGMENT_DEVICE, 1, 3210, 1, -1}, {CLEW_SEGMENT_RUNQUEUE, 1, 3300, 0, -1});
	assert_non_null(why.segments[3].below);
	assert_int_equal(why.segments[4].below->begin, 2700);
	assert_int_equal(why.segments[4].link->number, 0);
	assert_null(why.segments[5].below);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* 1 waits for a page that 2 asks for after a while; its end is a work item's. */
static void request_and_work(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 2);
	identify(&s, (struct identity){.task = 5, .comm = "kworker"});
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 2);
	SWITCH(&s, .at = 1200, .cpu = 3, .prev = 5, .next = IDLE,
	       .wait = &(struct clew_wait){.call = CLEW_NO_CALL, .flags = CLEW_WAIT_FLAG_KTHREAD});
	sleeps(&s, 2000, 1, 1, wait_on(SYS_pread64, CLEW_OBJECT_FILE, 55));
	queued(&s, 2300, 2);
	issued(&s, 2500);
	completed(&s, 3000);
	comes(&s, 3100, 3, 5, interrupted(3020, CLEW_WAKE_SOFTIRQ, done));
	WORK(&s, 3110, .work = 0x71, .function = FUNCTION, .queued = 3010, .worker = 5,
	     .context = CLEW_WAKE_SOFTIRQ, .cause = done);
	comes(&s, 3300, 1, 1, (struct woken){.at = 3200, .by = 5});
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	why = CHECK(t, 1, 1900, {CLEW_SEGMENT_RUNNING, 1, 2000, 0, -1},
		    {CLEW_SEGMENT_RUNNING, 2, 2300, 1, CLEW_EDGE_REQUEST},
		    {CLEW_SEGMENT_QUEUED, 2, 2500, 1, CLEW_EDGE_REQUEST},
		    {CLEW_SEGMENT_DEVICE, 2, 3010, 1, CLEW_EDGE_REQUEST},
		    {CLEW_WAIT_WORK, 1, 3020, 1, -1},
		    {CLEW_SEGMENT_RUNQUEUE, 5, 3100, 1, CLEW_EDGE_WORK},
		    {CLEW_SEGMENT_RUNNING, 5, 3200, 1, CLEW_EDGE_WORK},
		    {CLEW_SEGMENT_RUNQUEUE, 1, 3300, 0, -1},
		    {CLEW_SEGMENT_RUNNING, 1, 3400, 0, -1});
	assert_int_equal(why.unknown_ns, 0);
	assert_int_equal(why.segments[3].link->kind, CLEW_LINK_REQUEST);
	assert_int_equal(why.segments[3].link->number, 0);
	assert_int_equal(why.segments[4].link->kind, CLEW_LINK_WORK);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The worker of an item that 2 queues does another one first. */
static void a_busy_worker(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 2);
	identify(&s, (struct identity){.task = 5, .comm = "kworker"});
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 2);
	SWITCH(&s, .at = 1200, .cpu = 3, .prev = IDLE, .next = 5);
	WORK(&s, 1210, .work = 0x71, .function = FUNCTION, .queued = 1150, .worker = 5, .queuer = 2,
	     .context = CLEW_WAKE_TASK);
	sleeps(&s, 2000, 1, 1, wait_on(SYS_read, CLEW_OBJECT_TTY, 55));
	WORK(&s, 2800, .work = 0x72, .function = FUNCTION, .queued = 2500, .worker = 5, .queuer = 2,
	     .context = CLEW_WAKE_TASK);
	comes(&s, 3000, 1, 1, (struct woken){.at = 2900, .by = 5});
	t = synthetic_trace(&s, 5000, 0);
	why = CHECK(t, 1, 2000, {CLEW_SEGMENT_RUNNING, 2, 2500, 1, CLEW_EDGE_WORK},
		    {CLEW_SEGMENT_RUNNING, 5, 2900, 1, CLEW_EDGE_WORK},
		    {CLEW_SEGMENT_RUNQUEUE, 1, 3000, 0, -1});
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void packets_and_timers(void **state)
{
	const struct clew_cause sent = {.kind = CLEW_CAUSE_PACKET, .task = 2, .time = 2600};
	const struct clew_cause armed = {.kind = CLEW_CAUSE_TIMER,
					 .object = FUNCTION,
					 .task = 2,
					 .time = 3200,
					 .expires = 3500};
	const struct clew_cause own = {
		.kind = CLEW_CAUSE_TIMER, .object = FUNCTION, .expires = 4300, .time = 60};
	const struct clew_cause outside = {.kind = CLEW_CAUSE_IRQ, .object = 4};
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 2);
	sleeps(&s, 2000, 1, 1, wait_on(SYS_read, CLEW_OBJECT_SOCKET, 8));
	comes(&s, 2800, 1, 1, interrupted(2700, CLEW_WAKE_SOFTIRQ, sent));
	sleeps(&s, 3000, 1, 1, wait_on(SYS_read, CLEW_OBJECT_TIMERFD, 7));
	comes(&s, 3700, 1, 1, interrupted(3600, CLEW_WAKE_TIMER, armed));
	sleeps(&s, 4000, 1, 1, wait_in(SYS_nanosleep));
	comes(&s, 4500, 1, 1, interrupted(4400, CLEW_WAKE_TIMER, own));
	sleeps(&s, 4600, 1, 1, wait_on(SYS_read, CLEW_OBJECT_SOCKET, 9));
	comes(&s, 4900, 1, 1, interrupted(4800, CLEW_WAKE_SOFTIRQ, outside));
	t = synthetic_trace(&s, 5000, 0);
	why = CHECK(t, 1, 2000, {CLEW_SEGMENT_RUNNING, 2, 2600, 1, CLEW_EDGE_SOCKET},
		    {CLEW_WAIT_SOCKET, 1, 2700, 1, -1}, {CLEW_SEGMENT_RUNQUEUE, 1, 2800, 0, -1},
		    {CLEW_SEGMENT_RUNNING, 1, 3000, 0, -1},
		    {CLEW_SEGMENT_RUNNING, 2, 3200, 1, CLEW_EDGE_TIMER},
		    {CLEW_WAIT_SLEEP, 1, 3500, 1, -1}, {CLEW_WAIT_SLEEP, 1, 3600, 1, -1},
		    {CLEW_SEGMENT_RUNQUEUE, 1, 3700, 0, -1}, {CLEW_SEGMENT_RUNNING, 1, 4000, 0, -1},
		    {CLEW_WAIT_SLEEP, 1, 4300, 1, -1}, {CLEW_WAIT_SLEEP, 1, 4360, 1, -1},
		    {CLEW_WAIT_SLEEP, 1, 4400, 1, -1}, {CLEW_SEGMENT_RUNQUEUE, 1, 4500, 0, -1},
		    {CLEW_SEGMENT_RUNNING, 1, 4600, 0, -1}, {CLEW_WAIT_SOCKET, 1, 4800, 1, -1});
	/* Another's timer has no slack; its own may be late by 60. */
	assert_int_equal(why.segments[5].late, CLEW_LATE_NOT);
	assert_int_equal(why.segments[6].late, CLEW_LATE_INTERRUPT);
	assert_int_equal(why.segments[9].late, CLEW_LATE_NOT);
	assert_int_equal(why.segments[10].late, CLEW_LATE_SLACK);
	assert_int_equal(why.segments[11].late, CLEW_LATE_INTERRUPT);
	assert_int_equal(why.unknown_ns, 0);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void cgroup(struct synthetic *s, uint64_t id, const char *path)
{
	char bytes[sizeof(struct clew_cgroup_record) + 64] = {0};
	struct clew_cgroup_record *record = (struct clew_cgroup_record *)bytes;

	record->header = (struct clew_header){.time = START - 20, .kind = CLEW_KIND_CGROUP};
	record->id = id;
	record->path_size = (uint16_t)strlen(path);
	memcpy(record + 1, path, record->path_size);
	synthetic_put(s, record, sizeof(*record) + record->path_size);
}

static void in_group(struct synthetic *s, uint32_t task, uint64_t group)
{
	struct clew_task_record record = {
		.header = {.time = START - 10, .kind = CLEW_KIND_TASK},
		.task = task,
		.process = task,
		.tid = 100 + task,
		.pid = 100 + task,
		.start_time = 1,
		.cgroup = group,
		.comm = "task",
	};

	synthetic_put(s, &record, sizeof(record));
}

/* 1 spins for a lock that 2 has; then its group's quota is used up, for 3 of a group below as well,
 * not for 4. */
static void spins_and_quotas(void **state)
{
	const struct clew_wait wait = {.call = CLEW_NO_CALL,
				       .descriptor = -1,
				       .object_kind = CLEW_OBJECT_CGROUP,
				       .object = 507,
				       .reason = CLEW_REASON_QUOTA};
	struct synthetic s = {0};
	struct clew_switch *record;
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	cgroup(&s, 507, "/slow");
	cgroup(&s, 508, "/slow/below");
	cgroup(&s, 509, "/slower");
	in_group(&s, 1, 507);
	in_group(&s, 2, 509);
	in_group(&s, 3, 508);
	in_group(&s, 4, 509);
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	sleeps(&s, 1200, 2, 3, wait_in(SYS_pause));
	sleeps(&s, 1300, 3, 4, wait_in(SYS_pause));
	SPIN(&s, 1700, .begin = 1500, .lock = 0x66, .task = 1, .owner = 102,
	     .type = CLEW_LOCK_MUTEX);
	sleeps(&s, 2000, 1, 1, wait);
	record = (struct clew_switch *)(s.bytes + s.size - sizeof(struct clew_switch) -
					sizeof(struct clew_wait));
	record->header.flags = CLEW_SWITCH_PREEMPT | CLEW_SWITCH_THROTTLED | CLEW_SWITCH_WAIT;
	record->prev_state = 0;
	REFILL(&s, 3000, 0, 507);
	SWITCH(&s, .at = 3100, .cpu = 1, .prev = IDLE, .next = 3, .woken = {.at = 1900, .by = 2});
	SWITCH(&s, .at = 3200, .cpu = 1, .prev = 3, .next = 4, .flags = CLEW_SWITCH_PREEMPT,
	       .woken = {.at = 2500, .by = 2});
	SWITCH(&s, .at = 3300, .cpu = 1, .prev = 4, .next = 1, .flags = CLEW_SWITCH_PREEMPT);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	why = CHECK(t, 1, 1400, {CLEW_SEGMENT_RUNNING, 1, 1500, 0, -1},
		    {CLEW_WAIT_LOCK, 1, 1700, 0, -1}, {CLEW_SEGMENT_RUNNING, 1, 2000, 0, -1},
		    {CLEW_WAIT_THROTTLE, 1, 3000, 1, -1}, {CLEW_SEGMENT_RUNQUEUE, 1, 3100, 0, -1},
		    {CLEW_SEGMENT_RUNQUEUE, 1, 3200, 0, -1},
		    {CLEW_SEGMENT_RUNQUEUE, 1, 3300, 0, -1});
	assert_int_equal(why.segments[1].spin->holder, 2);
	assert_int_equal(why.segments[4].by, IDLE);
	clew_why_done(&why);
	why = CHECK(t, 3, 1900, {CLEW_SEGMENT_RUNQUEUE, 3, 2000, 0, -1},
		    {CLEW_WAIT_THROTTLE, 3, 3000, 0, -1}, {CLEW_SEGMENT_RUNQUEUE, 3, 3100, 0, -1});
	assert_int_equal(why.segments[1].sleep->object.number, 507);
	clew_why_done(&why);
	why = CHECK(t, 4, 2500, {CLEW_SEGMENT_RUNQUEUE, 4, 3100, 0, -1},
		    {CLEW_SEGMENT_RUNQUEUE, 4, 3200, 0, -1});
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/*
 * 1 waits on a ring for what it submitted itself. A worker, 2, serves that and posts
 * the completion; the next one it leaves to 1. It reads a pipe that 3 writes to.
 */
static void ring_worker(void **state)
{
	const struct clew_wait ring = wait_on(SYS_io_uring_enter, CLEW_OBJECT_IO_URING, 0x5000);
	struct clew_wait pipe = wait_on(CLEW_NO_CALL, CLEW_OBJECT_FUNCTION, FUNCTION);
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	pipe.flags = CLEW_WAIT_FLAG_KTHREAD;
	threads(&s, 3);
	RING(&s, 1900, CLEW_RING_SUBMIT, .ring = 0x5000, .request = 0x600, .user_data = 7,
	     .task = 1);
	sleeps(&s, 2000, 1, 1, ring);
	SWITCH(&s, .at = 2100, .cpu = 3, .prev = IDLE, .next = 3);
	sleeps(&s, 2200, 2, 2, pipe);
	comes(&s, 2500, 2, 2, (struct woken){.at = 2400, .by = 3});
	RING(&s, 2700, CLEW_RING_COMPLETE, .ring = 0x5000, .request = 0x600, .user_data = 7,
	     .task = 2);
	comes(&s, 2900, 1, 1, (struct woken){.at = 2750, .by = 2});
	RING(&s, 2950, CLEW_RING_SUBMIT, .ring = 0x5000, .request = 0x601, .user_data = 8,
	     .task = 1);
	sleeps(&s, 3000, 1, 1, ring);
	comes(&s, 3300, 1, 1, (struct woken){.at = 3200, .by = 2});
	RING(&s, 3310, CLEW_RING_COMPLETE, .ring = 0x5000, .request = 0x601, .user_data = 8,
	     .task = 1);
	t = synthetic_trace(&s, 4000, 0);
	assert_sane(t);
	why = CHECK(t, 1, 2000, {CLEW_SEGMENT_RUNNING, 2, 2200, 1, CLEW_EDGE_IO_URING},
		    {CLEW_SEGMENT_RUNNING, 3, 2400, 2, CLEW_EDGE_WAKE},
		    {CLEW_SEGMENT_RUNQUEUE, 2, 2500, 1, CLEW_EDGE_IO_URING},
		    {CLEW_SEGMENT_RUNNING, 2, 2750, 1, CLEW_EDGE_IO_URING},
		    {CLEW_SEGMENT_RUNQUEUE, 1, 2900, 0, -1}, {CLEW_SEGMENT_RUNNING, 1, 3000, 0, -1},
		    {CLEW_SEGMENT_RUNNING, 2, 3200, 1, CLEW_EDGE_IO_URING},
		    {CLEW_SEGMENT_RUNQUEUE, 1, 3300, 0, -1});
	assert_int_equal(why.segments[1].chain_length, 2);
	assert_int_equal(why.segments[0].via_evidence, CLEW_EVIDENCE_EXACT);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_and_work), cmocka_unit_test(disk_below_a_disk),
		cmocka_unit_test(a_busy_worker),    cmocka_unit_test(packets_and_timers),
		cmocka_unit_test(spins_and_quotas), cmocka_unit_test(ring_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

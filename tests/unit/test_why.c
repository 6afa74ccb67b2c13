/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Explanations: each wait replaced by its cause's time, to any depth, every ns once.
 * Rows of spec "what the answers mean", then the property of dropped edge types.
 */
#include "explain/why.h"
#include "synthetic.h"
#include <errno.h>
#include <stdio.h>

#define MUTEX CLEW_FUTEX_CLASS_MUTEX

static struct clew_why explain(const struct clew_trace *t, uint32_t task, uint64_t from,
			       uint64_t to)
{
	struct clew_why why;
	uint64_t at = from, unknown = 0;

	assert_int_equal(clew_why_explain(t, NULL, task, from, to, &why), 0);
	for (size_t i = 0; i < why.segment_count; i++) {
		const struct clew_segment *segment = &why.segments[i];

		assert_int_equal(segment->start, at);
		assert_true(segment->end > at);
		at = segment->end;
		if (segment->kind == CLEW_WAIT_UNKNOWN)
			unknown += segment->end - segment->start;
		for (uint32_t k = 0; k < segment->chain_length; k++)
			for (uint32_t l = 0; l < k; l++)
				assert_int_not_equal(segment->chain[k], segment->chain[l]);
		if (segment->chain_length)
			assert_int_equal(segment->chain[0], task);
	}
	assert_int_equal(at, to);
	assert_int_equal(unknown, why.unknown_ns);
	return why;
}

/* Segment i: kind, task, end, and the chain as a string of tasks. */
static void assert_segment(const struct clew_why *why, size_t i, unsigned kind, uint32_t task,
			   uint64_t end, const char *chain)
{
	const struct clew_segment *segment = &why->segments[i];
	char text[256] = "";
	size_t size = 0;

	assert_true(i < why->segment_count);
	for (uint32_t k = 0; k < segment->chain_length; k++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%u", k ? " " : "",
					 segment->chain[k]);
	assert_string_equal(clew_wait_kind_name(segment->kind), clew_wait_kind_name(kind));
	assert_int_equal(segment->task, task);
	assert_int_equal(segment->end, end);
	assert_string_equal(text, chain);
}

static void locks(struct synthetic *s, uint64_t at, uint32_t task, uint32_t owner)
{
	sleeps(s, at, task, task, wait_futex(MUTEX, 0x7000, 100 + owner));
}

static struct woken unlocked(uint64_t at, uint32_t by)
{
	return (struct woken){.at = at, .by = by, .operation = CLEW_FUTEX_WAKE_ONE};
}

/* 1 holds the lock, sleeping half of the time, 2 and then 3 wait for it. */
static void holders_in_turn(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 3);
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	sleeps(&s, 2400, 1, 1, wait_in(SYS_nanosleep));
	comes(&s, 2900, 1, 1, (struct woken){.at = 2800, .context = CLEW_WAKE_TIMER});
	comes(&s, 3100, 2, 2, unlocked(3000, 1));
	comes(&s, 4100, 3, 3, unlocked(4000, 2));
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	why = explain(t, 3, 1500, 4500);
	assert_segment(&why, 0, CLEW_SEGMENT_RUNNING, 3, 2100, "");
	assert_int_equal(why.segments[0].via_type, -1);
	assert_segment(&why, 1, CLEW_SEGMENT_RUNNING, 1, 2400, "3");
	assert_int_equal(why.segments[1].via_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(why.segments[1].via_evidence, CLEW_EVIDENCE_EXACT);
	assert_segment(&why, 2, CLEW_WAIT_SLEEP, 1, 2800, "3 1");
	assert_ptr_equal(why.segments[2].sleep, sleep_of(t, 1, 0));
	assert_segment(&why, 3, CLEW_SEGMENT_RUNQUEUE, 1, 2900, "3");
	assert_int_equal(why.segments[3].by, IDLE);
	assert_segment(&why, 4, CLEW_SEGMENT_RUNNING, 1, 3000, "3");
	assert_segment(&why, 5, CLEW_SEGMENT_RUNQUEUE, 2, 3100, "3");
	assert_segment(&why, 6, CLEW_SEGMENT_RUNNING, 2, 4000, "3");
	assert_segment(&why, 7, CLEW_SEGMENT_RUNQUEUE, 3, 4100, "");
	assert_segment(&why, 8, CLEW_SEGMENT_RUNNING, 3, 4500, "");
	assert_int_equal(why.segment_count, 9);
	assert_int_equal(why.unknown_ns, 0);
	clew_why_done(&why);
	why = explain(t, 3, 2200, 2300); /* inside one wait */
	assert_int_equal(why.segment_count, 1);
	assert_segment(&why, 0, CLEW_SEGMENT_RUNNING, 1, 2300, "3");
	clew_why_done(&why);
	why = explain(t, 3, 2200, 2200);
	assert_int_equal(why.segment_count, 0);
	clew_why_done(&why);
	assert_int_equal(clew_why_explain(t, NULL, 99, 1000, 2000, &why), -ESRCH);
	assert_int_equal(clew_why_explain(t, NULL, 1, 3000, 2000, &why), -EINVAL);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* 3 waits for a lock of 2, which waits for a pipe that 1 writes to, born meanwhile. */
static void to_any_depth(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 5);
	SWITCH(&s, .at = 1100, .cpu = 4, .prev = IDLE, .next = 4);
	sleeps(&s, 2000, 2, 2, wait_on(SYS_read, CLEW_OBJECT_PIPE, 9));
	locks(&s, 2200, 3, 2);
	identify(&s, (struct identity){.task = 6, .at = 3000, .start_time = 3000});
	life(&s, CLEW_KIND_FORK, 3000, 4, 6);
	SWITCH(&s, .at = 3200, .cpu = 1, .prev = IDLE, .next = 6, .flags = CLEW_SWITCH_NEXT_NEW,
	       .woken = {.at = 3050, .by = 4});
	comes(&s, 4050, 2, 2, (struct woken){.at = 4000, .by = 6});
	comes(&s, 5050, 3, 3, unlocked(5000, 2));
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	why = explain(t, 3, 2200, 5100);
	assert_segment(&why, 0, CLEW_SEGMENT_RUNNING, 4, 3050, "3 2");
	assert_int_equal(why.segments[0].via_type, CLEW_EDGE_FORK);
	assert_int_equal(why.segments[0].born, 6);
	assert_segment(&why, 1, CLEW_SEGMENT_RUNQUEUE, 6, 3200, "3 2");
	assert_int_equal(why.segments[1].via_type, CLEW_EDGE_PIPE);
	assert_int_equal(why.segments[1].born, 0);
	assert_segment(&why, 2, CLEW_SEGMENT_RUNNING, 6, 4000, "3 2");
	assert_segment(&why, 3, CLEW_SEGMENT_RUNQUEUE, 2, 4050, "3");
	assert_segment(&why, 4, CLEW_SEGMENT_RUNNING, 2, 5000, "3");
	assert_segment(&why, 5, CLEW_SEGMENT_RUNQUEUE, 3, 5050, "");
	assert_segment(&why, 6, CLEW_SEGMENT_RUNNING, 3, 5100, "");
	assert_int_equal(why.segment_count, 7);
	clew_why_done(&why);
	why = explain(t, 6, 2500, 3100); /* asked for a time before it was born */
	assert_segment(&why, 0, CLEW_SEGMENT_RUNNING, 4, 3050, "");
	assert_segment(&why, 1, CLEW_SEGMENT_RUNQUEUE, 6, 3100, "");
	clew_why_done(&why);
	clew_trace_free(t);
	t = synthetic_trace(&s, 6000, 1u << CLEW_EDGE_FORK);
	why = explain(t, 3, 2200, 5100);
	assert_segment(&why, 0, CLEW_WAIT_UNKNOWN, 6, 3050, "3 2");
	assert_int_equal(why.segments[0].unknown_kind, CLEW_WAIT_UNKNOWN);
	assert_segment(&why, 1, CLEW_SEGMENT_RUNQUEUE, 6, 3200, "3 2");
	assert_int_equal(why.unknown_ns, 850);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void who_had_the_cpu(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 2000, 0, 1, wait_in(SYS_pause));
	SWITCH(&s, .at = 2500, .cpu = 0, .prev = IDLE, .next = 2);
	SWITCH(&s, .at = 3200, .cpu = 0, .prev = 2, .next = 3, .flags = CLEW_SWITCH_PREEMPT);
	SWITCH(&s, .at = 3500, .cpu = 0, .prev = 3, .next = IDLE,
	       .wait = &(struct clew_wait){.call = SYS_pause});
	SWITCH(&s, .at = 3600, .cpu = 0, .prev = IDLE, .next = 1,
	       .woken = {.at = 3000, .context = CLEW_WAKE_IRQ});
	SWITCH(&s, .at = 4000, .cpu = 0, .prev = 1, .next = 2, .flags = CLEW_SWITCH_PREEMPT);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	why = explain(t, 1, 2900, 5000);
	assert_segment(&why, 0, CLEW_WAIT_UNKNOWN, 1, 3000, "1");
	assert_int_equal(why.segments[0].unknown_kind, CLEW_WAIT_SIGNAL);
	assert_segment(&why, 1, CLEW_SEGMENT_RUNQUEUE, 1, 3200, "");
	assert_int_equal(why.segments[1].by, 2);
	assert_segment(&why, 2, CLEW_SEGMENT_RUNQUEUE, 1, 3500, "");
	assert_int_equal(why.segments[2].by, 3);
	assert_segment(&why, 3, CLEW_SEGMENT_RUNQUEUE, 1, 3600, "");
	assert_int_equal(why.segments[3].by, IDLE);
	assert_segment(&why, 4, CLEW_SEGMENT_RUNNING, 1, 4000, "");
	assert_segment(&why, 5, CLEW_SEGMENT_RUNQUEUE, 1, 5000, "");
	assert_int_equal(why.segments[5].by, UINT32_MAX); /* it came on no CPU any more */
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A leaf of its own kind only where nothing can be followed and nothing is missing. */
static void leaves(void **state)
{
	static const struct {
		unsigned call, object, context, kind;
	} rows[] = {
		{SYS_nanosleep, 0, CLEW_WAKE_TIMER, CLEW_WAIT_SLEEP},
		{SYS_nanosleep, 0, CLEW_WAKE_UNKNOWN, CLEW_WAIT_UNKNOWN},
		{SYS_read, CLEW_OBJECT_FILE, CLEW_WAKE_IRQ, CLEW_WAIT_READ},
		{SYS_fsync, CLEW_OBJECT_FILE, CLEW_WAKE_IRQ, CLEW_WAIT_FSYNC},
		{SYS_openat, CLEW_OBJECT_PATH, CLEW_WAKE_IRQ, CLEW_WAIT_FILE},
		{SYS_read, CLEW_OBJECT_TTY, CLEW_WAKE_IRQ, CLEW_WAIT_TTY},
		{SYS_read, CLEW_OBJECT_SOCKET, CLEW_WAKE_SOFTIRQ, CLEW_WAIT_UNKNOWN},
		{SYS_epoll_wait, 0, CLEW_WAKE_IRQ, CLEW_WAIT_UNKNOWN},
		{SYS_read, CLEW_OBJECT_FILE, CLEW_WAKE_UNKNOWN, CLEW_WAIT_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synthetic s = {0};
		struct clew_trace *t;
		struct clew_why why;

		threads(&s, 1);
		sleeps(&s, 2000, 0, 1, wait_on(rows[i].call, rows[i].object, 3));
		if (rows[i].context)
			comes(&s, 3000, 0, 1,
			      (struct woken){.at = 3000, .context = (uint8_t)rows[i].context});
		else
			SWITCH(&s, .at = 3000, .cpu = 0, .prev = IDLE, .next = 1,
			       .flags = CLEW_SWITCH_NEXT_SLEPT);
		t = synthetic_trace(&s, 5000, 0);
		why = explain(t, 1, 2000, 3000);
		assert_int_equal(why.segment_count, 1);
		assert_segment(&why, 0, rows[i].kind, 1, 3000, "1");
		assert_int_equal(why.segments[0].unknown_kind, rows[i].kind == CLEW_WAIT_UNKNOWN
								       ? sleep_of(t, 1, 0)->kind
								       : CLEW_WAIT_UNKNOWN);
		assert_ptr_equal(why.segments[0].sleep, sleep_of(t, 1, 0));
		clew_why_done(&why);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* A kernel thread that had no work until late: the disk was waited for, or who knows what, but not
 * its idleness. */
static void idle_helper(void **state)
{
	static const struct {
		unsigned call, object, kind;
	} rows[] = {
		{SYS_fsync, CLEW_OBJECT_FILE, CLEW_WAIT_FSYNC},
		{SYS_read, CLEW_OBJECT_PIPE, CLEW_WAIT_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clew_wait idle = {
			.call = CLEW_NO_CALL, .descriptor = -1, .flags = CLEW_WAIT_FLAG_KTHREAD};
		struct synthetic s = {0};
		struct clew_trace *t;
		struct clew_why why;

		threads(&s, 2);
		SWITCH(&s, .at = 1500, .cpu = 1, .prev = 2, .next = IDLE, .wait = &idle,
		       .state = 0x402);
		sleeps(&s, 2000, 0, 1, wait_on(rows[i].call, rows[i].object, 3));
		comes(&s, 2900, 1, 2, (struct woken){.at = 2800, .context = CLEW_WAKE_IRQ});
		comes(&s, 3000, 0, 1, (struct woken){.at = 3000, .by = 2});
		t = synthetic_trace(&s, 5000, 0);
		why = explain(t, 1, 2000, 3000);
		assert_int_equal(why.segment_count, 3);
		assert_segment(&why, 0, rows[i].kind, 1, 2800, "1");
		assert_ptr_equal(why.segments[0].sleep, sleep_of(t, 1, 0));
		assert_int_equal(why.segments[0].unknown_kind, rows[i].kind == CLEW_WAIT_UNKNOWN
								       ? CLEW_WAIT_PIPE
								       : CLEW_WAIT_UNKNOWN);
		assert_segment(&why, 1, CLEW_SEGMENT_RUNQUEUE, 2, 2900, "1");
		assert_segment(&why, 2, CLEW_SEGMENT_RUNNING, 2, 3000, "1");
		clew_why_done(&why);
		/* Asked for itself, the thread is idle. */
		why = explain(t, 2, 1500, 2800);
		assert_int_equal(why.segment_count, 1);
		assert_segment(&why, 0, CLEW_WAIT_IDLE, 2, 2800, "2");
		clew_why_done(&why);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

static void open_at_the_end(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 4);
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	locks(&s, 2000, 2, 1);
	sleeps(&s, 2000, 3, 3, wait_on(SYS_read, CLEW_OBJECT_PIPE, 3));
	sleeps(&s, 2000, 4, 4, wait_in(SYS_nanosleep));
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	why = explain(t, 2, 2000, 5000);
	assert_int_equal(why.segment_count, 1);
	assert_segment(&why, 0, CLEW_SEGMENT_RUNNING, 1, 5000, "2");
	clew_why_done(&why);
	why = explain(t, 3, 2000, 5000);
	assert_segment(&why, 0, CLEW_WAIT_UNKNOWN, 3, 5000, "3");
	assert_int_equal(why.segments[0].unknown_kind, CLEW_WAIT_PIPE);
	clew_why_done(&why);
	why = explain(t, 4, 2000, 5000);
	assert_segment(&why, 0, CLEW_WAIT_SLEEP, 4, 5000, "4");
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

static struct clew_wait wait_mutex(uint64_t address, uint32_t owner_tid)
{
	return wait_futex(MUTEX, address, owner_tid);
}

static void deadlock_of(struct clew_wait (*wait_lock)(uint64_t lock, uint32_t owner_tid),
			unsigned kind)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	threads(&s, 4);
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 2);
	sleeps(&s, 2000, 1, 1, wait_lock(0x100, 102));
	sleeps(&s, 3000, 2, 2, wait_lock(0x200, 101));
	sleeps(&s, 3500, 3, 3, wait_lock(0x100, 102));
	sleeps(&s, 3600, 4, 4, wait_lock(0x400, 104)); /* its own */
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	why = explain(t, 1, 1500, 5000);
	assert_segment(&why, 1, CLEW_SEGMENT_RUNNING, 2, 3000, "1");
	assert_segment(&why, 2, kind, 2, 5000, "1 2");
	assert_true(why.segments[2].cycle);
	assert_int_equal(why.segment_count, 3);
	assert_int_equal(why.unknown_ns, 0);
	clew_why_done(&why);
	why = explain(t, 3, 3500, 5000);
	assert_int_equal(why.segment_count, 1);
	assert_segment(&why, 0, kind, 1, 5000, "3 2 1");
	assert_true(why.segments[0].cycle);
	clew_why_done(&why);
	why = explain(t, 4, 3600, 5000);
	assert_segment(&why, 0, kind, 4, 5000, "4");
	assert_true(why.segments[0].cycle);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void deadlock(void **state)
{
	(void)state;
	deadlock_of(wait_mutex, CLEW_WAIT_FUTEX);
	deadlock_of(wait_file_lock, CLEW_WAIT_FILE);
}

/* A condition variable leads to the signaller, and the mutex after it is another wait. */
static void condition_variable(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 2);
	sleeps(&s, 2000, 1, 1, wait_futex(CLEW_FUTEX_CLASS_NONE, 0x900, 0));
	comes(&s, 3100, 1, 1,
	      (struct woken){.at = 3000, .by = 2, .operation = CLEW_FUTEX_WAKE_ONE});
	sleeps(&s, 3200, 1, 1, wait_futex(MUTEX, 0x940, 102));
	comes(&s, 3500, 1, 1, unlocked(3400, 2));
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 1, 0)->holder_count, 0);
	assert_int_equal(sleep_of(t, 1, 0)->ended_by, 2);
	assert_int_equal(sleep_of(t, 1, 1)->holder_count, 1);
	why = explain(t, 1, 2000, 3500);
	assert_segment(&why, 0, CLEW_SEGMENT_RUNNING, 2, 3000, "1");
	assert_int_equal(why.segments[0].via_type, CLEW_EDGE_WAKE);
	assert_segment(&why, 3, CLEW_SEGMENT_RUNNING, 2, 3400, "1");
	assert_int_equal(why.segments[3].via_type, CLEW_EDGE_UNLOCK);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void blind_and_dead(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 3);
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 2);
	sleeps(&s, 2000, 1, 1, wait_on(SYS_read, CLEW_OBJECT_PIPE, 3));
	gap(&s, 0, 2500, 2600);
	comes(&s, 3100, 1, 1, (struct woken){.at = 3000, .by = 2});
	SWITCH(&s, .at = 3500, .cpu = 2, .prev = 2, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	t = synthetic_trace(&s, 5000, 0);
	why = explain(t, 1, 2000, 3100);
	assert_segment(&why, 0, CLEW_WAIT_UNKNOWN, 1, 3000, "1");
	assert_int_equal(why.gap_count, 1);
	clew_why_done(&why);
	why = explain(t, 2, 500, 9000); /* more than there is of it */
	assert_segment(&why, 0, CLEW_WAIT_UNKNOWN, 2, 1000, "");
	assert_segment(&why, 3, CLEW_WAIT_UNKNOWN, 2, 9000, "");
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A convoy of many, each behind the one before: as deep as it is long. */
static void deep_chain(void **state)
{
	enum { TASKS = 2000 };
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, TASKS);
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	for (unsigned task = 2; task <= TASKS; task++)
		sleeps(&s, 2000 + task, task, task,
		       wait_futex(MUTEX, 0x1000 + 64 * task, 100 + task - 1));
	t = synthetic_trace(&s, 90000, 0);
	why = explain(t, TASKS, 5000, 90000);
	assert_int_equal(why.segment_count, 1);
	assert_int_equal(why.segments[0].task, 1);
	assert_int_equal(why.segments[0].chain_length, TASKS - 1);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

static bool everybody(void *context, const struct clew_trace_task *task)
{
	return task->serial != *(const uint32_t *)context;
}

/* The longest so many of them are the first of all, whatever the number. */
static void longest_operations(void **state)
{
	static const size_t limits[] = {1, 2, 3, 7, 63, 64, 65, 200};
	struct clew_wait poll = wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 4);
	struct clew_operation *all, *list;
	struct synthetic s = {0};
	struct woken woken = {.by = 2};
	size_t all_count, count, total;
	struct clew_trace *t;
	uint64_t at = 1100;
	uint32_t length = 1;

	(void)state;
	threads(&s, 2);
	found_asleep(&s, 1050, 1, poll);
	for (unsigned i = 0; i < 64; i++) {
		woken.at = at;
		comes(&s, at, 1, 1, woken);
		length = length * 37 % 101;
		at += length / 2 + 1; /* some are equally long */
		sleeps(&s, at, 1, 1, poll);
		at += 10;
	}
	t = synthetic_trace(&s, at, 0);
	assert_int_equal(
		clew_operations(t, NULL, NULL, 0, 0, UINT64_MAX, 0, &all, &all_count, &total), 0);
	assert_int_equal(all_count, 64);
	for (size_t i = 1; i < all_count; i++)
		assert_true(all[i - 1].to - all[i - 1].from >= all[i].to - all[i].from);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		assert_int_equal(clew_operations(t, NULL, NULL, 0, 0, UINT64_MAX, limits[i], &list,
						 &count, &total),
				 0);
		assert_int_equal(total, all_count);
		assert_int_equal(count, limits[i] < all_count ? limits[i] : all_count);
		for (size_t j = 0; j < count; j++) {
			assert_int_equal(list[j].from, all[j].from);
			assert_int_equal(list[j].to, all[j].to);
		}
		free(list);
	}
	free(all);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void operations(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_operation *list;
	size_t count, total;
	uint32_t excluded = 2;
	struct clew_wait poll = wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 4), again = poll;
	struct woken woken = {.by = 3};

	(void)state;
	again.flags = CLEW_WAIT_FLAG_SAME_CALL;
	threads(&s, 3);
	found_asleep(&s, 1050, 1, poll);
	woken.at = 2000;
	comes(&s, 2050, 1, 1, woken);
	sleeps(&s, 2500, 1, 1, wait_on(SYS_write, CLEW_OBJECT_SOCKET, 5)); /* not idle */
	woken.at = 2600;
	comes(&s, 2650, 1, 1, woken);
	sleeps(&s, 3000, 1, 1, wait_on(SYS_recvfrom, CLEW_OBJECT_SOCKET, 5));
	woken.at = 4000;
	comes(&s, 4000, 1, 1, woken);
	sleeps(&s, 4200, 1, 1, poll);
	woken.at = 4300;
	comes(&s, 4300, 1, 1, woken);
	sleeps(&s, 4310, 1, 1, again); /* continued: no operation */
	woken.at = 4500;
	comes(&s, 4500, 1, 1, woken);
	sleeps(&s, 4900, 1, 1, wait_on(SYS_read, CLEW_OBJECT_PIPE, 5));
	t = synthetic_trace(&s, 9000, 0);
	assert_int_equal(clew_operations(t, everybody, &excluded, 0, 0, UINT64_MAX, 0, &list,
					 &count, &total),
			 0);
	assert_int_equal(count, 3);
	assert_int_equal(total, 3);
	assert_int_equal(list[0].from, 2000);
	assert_int_equal(list[0].to, 3000);
	assert_int_equal(list[1].from, 4500);
	assert_int_equal(list[1].to, 4900);
	assert_int_equal(list[2].from, 4000);
	assert_int_equal(list[2].to, 4200);
	assert_int_equal(list[2].task, 1);
	free(list);
	assert_int_equal(clew_operations(t, NULL, NULL, 1ull << CLEW_WAIT_POLL, 0, UINT64_MAX, 1,
					 &list, &count, &total),
			 0);
	assert_int_equal(count, 1);
	assert_int_equal(total, 1);
	assert_int_equal(list[0].from, 2000);
	assert_int_equal(list[0].to, 4200);
	free(list);
	assert_int_equal(clew_operations(t, NULL, NULL, 0, 3500, 4600, 0, &list, &count, &total),
			 0);
	assert_int_equal(count, 1);
	free(list);
	excluded = 1;
	assert_int_equal(clew_operations(t, everybody, &excluded, 0, 0, UINT64_MAX, 0, &list,
					 &count, &total),
			 0);
	assert_int_equal(count, 0);
	free(list);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holders_in_turn), cmocka_unit_test(to_any_depth),
		cmocka_unit_test(who_had_the_cpu), cmocka_unit_test(leaves),
		cmocka_unit_test(open_at_the_end), cmocka_unit_test(deadlock),
		cmocka_unit_test(blind_and_dead),  cmocka_unit_test(condition_variable),
		cmocka_unit_test(deep_chain),	   cmocka_unit_test(operations),
		cmocka_unit_test(idle_helper),	   cmocka_unit_test(longest_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places that running tasks run in: where a stay in a call is told, and, as important, where
 * none is; page faults and yields.
 */
#include "synthetic.h"

#define SAME (CLEW_WAIT_FLAG_SAME_CALL | CLEW_WAIT_FLAG_STAYED)

static struct clew_wait waits(unsigned call, unsigned flags, uint32_t faults)
{
	struct clew_wait wait = wait_on(call, CLEW_OBJECT_FILE, 55);

	wait.flags |= flags | CLEW_WAIT_FLAG_COUNTED;
	wait.faults = faults;
	return wait;
}

static const struct clew_stay *check_stay(const struct clew_trace *t, const struct clew_stay *stay,
					  uint64_t start, uint64_t end, unsigned call,
					  unsigned evidence)
{
	assert_non_null(stay);
	assert_int_equal(stay->start, start);
	assert_int_equal(stay->end, end);
	assert_int_equal(stay->call, call);
	assert_int_equal(stay->evidence, evidence);
	return clew_trace_next_stay(t, stay);
}

static void check_faults(const struct clew_tally *tally, uint64_t start, uint64_t end,
			 unsigned number)
{
	assert_non_null(tally);
	assert_int_equal(tally->what, CLEW_TALLY_FAULTS);
	assert_int_equal(tally->start, start);
	assert_int_equal(tally->end, end);
	assert_int_equal(tally->number, number);
}

/* A run between two waits in one call is a stay in it; one that has left the call is not. */
static void between_waits(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	sleeps(&s, 2000, 0, 1, waits(SYS_read, 0, 10));
	comes(&s, 3000, 0, 1, (struct woken){.at = 2900, .by = 2});
	sleeps(&s, 4000, 0, 1, waits(SYS_read, SAME, 15));
	comes(&s, 5000, 0, 1, (struct woken){.at = 4900, .by = 2});
	/* Another read with the same arguments, behind other work. */
	sleeps(&s, 6000, 0, 1, waits(SYS_read, 0, 15));
	comes(&s, 7000, 0, 1, (struct woken){.at = 6900, .by = 2});
	/* Not in user mode, but in another call: it cannot be. */
	sleeps(&s, 8000, 0, 1, waits(SYS_write, CLEW_WAIT_FLAG_STAYED, 15));
	t = synthetic_trace(&s, 9000, 0);
	assert_sane(t);
	assert_null(check_stay(t, clew_trace_stay(t, 1, 0), 3000, 4000, SYS_read,
			       CLEW_EVIDENCE_OBSERVED));
	check_faults(clew_trace_tally(t, 1, 0), 3000, 4000, 5);
	assert_null(clew_trace_next_tally(t, clew_trace_tally(t, 1, 0)));
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Ticks with one identity are in one stay, also beyond a preemption that was recorded. */
static void between_ticks(void **state)
{
	struct synthetic s = {0};
	const struct clew_stay *next;
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	WHERE(&s, 2000, CLEW_WHERE_TICK, .task = 1, .call = SYS_read, .identity = 7, .faults = 1);
	WHERE(&s, 3000, CLEW_WHERE_TICK, .task = 1, .call = SYS_read, .identity = 7, .faults = 4);
	WHERE(&s, 3500, CLEW_WHERE_LEAVE, .task = 1, .call = SYS_read, .identity = 7, .faults = 4);
	SWITCH(&s, .at = 3500, .cpu = 0, .prev = 1, .next = 2, .flags = CLEW_SWITCH_PREEMPT);
	SWITCH(&s, .at = 3800, .cpu = 0, .prev = 2, .next = 1, .flags = CLEW_SWITCH_PREEMPT);
	WHERE(&s, 4500, CLEW_WHERE_TICK, .task = 1, .call = SYS_read, .identity = 7, .faults = 4);
	WHERE(&s, 5000, CLEW_WHERE_TICK, .task = 1, .call = CLEW_NO_CALL, .identity = 8,
	      .faults = 4);
	WHERE(&s, 6000, CLEW_WHERE_TICK, .task = 1, .call = CLEW_NO_CALL, .identity = 8,
	      .faults = 4);
	WHERE(&s, 7000, CLEW_WHERE_TICK, .task = 1, .call = SYS_read, .identity = 9, .faults = 4);
	WHERE(&s, 8000, CLEW_WHERE_TICK, .task = 1, .call = SYS_read, .identity = 10, .faults = 4);
	t = synthetic_trace(&s, 9000, 0);
	assert_sane(t);
	next = check_stay(t, clew_trace_stay(t, 1, 0), 2000, 3000, SYS_read,
			  CLEW_EVIDENCE_OBSERVED);
	next = check_stay(t, next, 3000, 3500, SYS_read, CLEW_EVIDENCE_OBSERVED);
	assert_null(check_stay(t, next, 3800, 4500, SYS_read, CLEW_EVIDENCE_OBSERVED));
	check_faults(clew_trace_tally(t, 1, 0), 2000, 3000, 3);
	next = clew_trace_tick(t, 1, 4900);
	assert_int_equal(next->end, 5000);
	assert_int_equal(next->call, CLEW_NO_CALL);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A call that the kernel does not count may have been made again and again. */
static void again_and_again(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	WHERE(&s, 2000, CLEW_WHERE_TICK, .task = 1, .call = SYS_getrandom, .identity = 7);
	WHERE(&s, 3000, CLEW_WHERE_TICK, .task = 1, .call = SYS_getrandom, .identity = 7);
	WHERE(&s, 4000, CLEW_WHERE_TICK, .task = 1, .call = SYS_getrandom, .identity = 8);
	t = synthetic_trace(&s, 9000, 0);
	assert_sane(t);
	assert_null(check_stay(t, clew_trace_stay(t, 1, 0), 2000, 3000, SYS_getrandom,
			       CLEW_EVIDENCE_CANDIDATE));
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A preemption that was not recorded breaks a stay, unless the identity is the same. */
static void unknown_between(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	sleeps(&s, 2000, 0, 1, waits(SYS_close, 0, 0));
	comes(&s, 3000, 0, 1, (struct woken){.at = 2900, .by = 2});
	SWITCH(&s, .at = 3100, .cpu = 0, .prev = 1, .next = 2, .flags = CLEW_SWITCH_PREEMPT);
	SWITCH(&s, .at = 3200, .cpu = 0, .prev = 2, .next = 1, .flags = CLEW_SWITCH_PREEMPT);
	sleeps(&s, 4000, 0, 1, waits(SYS_close, SAME, 0));
	t = synthetic_trace(&s, 9000, 0);
	assert_sane(t);
	assert_null(clew_trace_stay(t, 1, 0));
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The fork of a large process: exact, with the page faults before, within and after. */
static void a_span(void **state)
{
	struct synthetic s = {0};
	const struct clew_tally *tally;
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	sleeps(&s, 2000, 0, 1, waits(SYS_epoll_wait, 0, 100));
	comes(&s, 3000, 0, 1, (struct woken){.at = 2900, .by = 2});
	WHERE(&s, 9000, CLEW_WHERE_SPAN, .begin = 4000, .task = 1, .call = SYS_clone,
	      .faults_before = 103, .faults = 104);
	sleeps(&s, 9500, 0, 1, waits(SYS_epoll_wait, 0, 154));
	t = synthetic_trace(&s, 20000, 0);
	assert_sane(t);
	assert_null(check_stay(t, clew_trace_stay(t, 1, 0), 4000, 9000, SYS_clone,
			       CLEW_EVIDENCE_EXACT));
	tally = clew_trace_tally(t, 1, 0);
	check_faults(tally, 3000, 4000, 3);
	tally = clew_trace_next_tally(t, tally);
	check_faults(tally, 4000, 9000, 1);
	tally = clew_trace_next_tally(t, tally);
	check_faults(tally, 9000, 9500, 50);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* After a loss nothing from before it is used. */
static void a_loss(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	WHERE(&s, 2000, CLEW_WHERE_TICK, .task = 1, .call = SYS_read, .identity = 7, .faults = 1);
	synthetic_put(&s,
		      &(struct clew_gap){.header = {.time = 2500, .kind = CLEW_KIND_GAP},
					 .from = 2100,
					 .count = 3},
		      sizeof(struct clew_gap));
	WHERE(&s, 3000, CLEW_WHERE_TICK, .task = 1, .call = SYS_read, .identity = 7, .faults = 9);
	t = synthetic_trace(&s, 4000, 0);
	assert_null(clew_trace_stay(t, 1, 0));
	assert_null(clew_trace_tally(t, 1, 0));
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Switch-outs by sched_yield are counted; others are not. */
static void yields(void **state)
{
	struct synthetic s = {0};
	const struct clew_tally *tally;
	struct clew_trace *t;
	uint64_t at = 2000;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	for (unsigned i = 0; i < 20; i++, at += 200) {
		SWITCH(&s, .at = at, .cpu = 0, .prev = 1, .next = 2,
		       .high = CLEW_SWITCH_HIGH_YIELD);
		SWITCH(&s, .at = at + 100, .cpu = 0, .prev = 2, .next = 1,
		       .flags = CLEW_SWITCH_PREEMPT);
	}
	sleeps(&s, at, 0, 1, waits(SYS_read, 0, 0));
	t = synthetic_trace(&s, at + 100, 0);
	assert_sane(t);
	assert_null(clew_trace_tally(t, 2, 0));
	tally = clew_trace_tally(t, 1, 0);
	assert_non_null(tally);
	assert_int_equal(tally->what, CLEW_TALLY_YIELDS);
	assert_int_equal(tally->number, 20);
	assert_int_equal(tally->start, 1500);
	assert_int_equal(tally->end, 2000 + 19 * 200);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_waits),   cmocka_unit_test(between_ticks),
		cmocka_unit_test(again_and_again), cmocka_unit_test(unknown_between),
		cmocka_unit_test(a_span),	   cmocka_unit_test(a_loss),
		cmocka_unit_test(yields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

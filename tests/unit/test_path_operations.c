/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations of a causal trace are those of the capture that it was made of, also
 * where the capture does not say that the waker ran.
 */
#include "convert/convert.h"
#include "explain/why.h"
#include "synthetic.h"
#include <clew/path.h>

static void same_operations(struct synthetic *s, uint64_t end, size_t expected)
{
	struct clew_trace *trace = synthetic_trace(s, end, 0);
	struct clew_path_operation *in_model;
	struct clew_operation *in_trace;
	struct clew_model *model;
	size_t count, other, total;

	assert_int_equal(clew_model_from_trace(trace, &model), 0);
	assert_int_equal(
		clew_operations(trace, NULL, NULL, 0, 0, UINT64_MAX, 0, &in_trace, &count, &total),
		0);
	assert_int_equal(count, expected);
	/* For the first task alone: the one span that waits for something to do. */
	assert_int_equal(clew_path_operations(model, 0, 0, &in_model, &other), 0);
	assert_int_equal(other, expected);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(in_model[i].from, in_trace[i].from);
		assert_int_equal(in_model[i].end.at, in_trace[i].to);
	}
	free(in_trace);
	free(in_model);
	clew_model_free(model);
	clew_trace_free(trace);
}

/* Task 1 polls, is woken at 2000 by task 2, works from 2200 to 3000, polls again. The caller
 * describes what task 2 did then. */
static void polls(struct synthetic *s)
{
	struct clew_wait poll = wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 5);

	SWITCH(s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	sleeps(s, 1500, 0, 1, poll);
	comes(s, 2200, 0, 1, (struct woken){.at = 2000, .by = 2});
	sleeps(s, 3000, 0, 1, poll);
}

static void test_waker_ran(void **state)
{
	struct synthetic s = {0};

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1050, .cpu = 1, .prev = IDLE, .next = 2);
	polls(&s);
	SWITCH(&s, .at = 3100, .cpu = 1, .prev = 2, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
	same_operations(&s, 4000, 1);
	synthetic_done(&s);
}

/* Some kernels hide switches: the waker seems to sleep all the time, or to be ready. Its act moves,
 * the end of the wait does not. */
static void test_waker_did_not(void **state)
{
	for (unsigned preempted = 0; preempted < 2; preempted++) {
		struct synthetic s = {0};

		(void)state;
		threads(&s, 2);
		SWITCH(&s, .at = 1050, .cpu = 1, .prev = IDLE, .next = 2);
		if (preempted)
			SWITCH(&s, .at = 1300, .cpu = 1, .prev = 2, .next = IDLE,
			       .flags = CLEW_SWITCH_PREEMPT);
		else
			sleeps(&s, 1300, 1, 2, wait_in(SYS_nanosleep));
		polls(&s);
		comes(&s, 3500, 1, 2, (struct woken){.at = 3400, .context = CLEW_WAKE_TIMER});
		same_operations(&s, 4000, 1);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waker_ran),
		cmocka_unit_test(test_waker_did_not),
	};

	return cmocka_run_group_tests_name("path_operations", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests which of a thread's operations hurts most. */
#include <sys/syscall.h>

#include "explain/classes.h"
#include "synthetic.h"

enum { THREAD = 1, OTHER };

/* A sleep by the thread's own choice. */
static uint64_t nap(struct synthetic *s, uint64_t at, uint64_t ns)
{
	sleeps(s, at, 0, THREAD, wait_in(SYS_nanosleep));
	comes(s, at + ns, 0, THREAD, (struct woken){.at = at + ns - 1, .context = CLEW_WAKE_IRQ});
	return at + ns;
}

/* A wait for the other thread. */
static uint64_t wait_for(struct synthetic *s, uint64_t at, uint64_t ns)
{
	sleeps(s, at, 0, THREAD, wait_on(SYS_read, CLEW_OBJECT_EVENTFD, 9));
	comes(s, at + ns, 0, THREAD, (struct woken){.at = at + ns - 1, .by = OTHER});
	return at + ns;
}

/* A thread naps between its works. In one it naps again and again before it goes on, in a shorter
 * one it waits for another thread: that one hurts. */
static void naps_do_not_hurt(void **state)
{
	const struct clew_chosen all = {};
	struct clew_operation_classes found;
	struct synthetic s = {0};
	struct clew_trace *trace;
	uint64_t at = 2000, hurts;

	(void)state;
	identify(&s, (struct identity){.task = THREAD});
	identify(&s, (struct identity){.task = OTHER});
	SWITCH(&s, .at = 1000, .cpu = 0, .prev = IDLE, .next = THREAD);
	SWITCH(&s, .at = 1001, .cpu = 1, .prev = IDLE, .next = OTHER);
	for (int i = 0; i < 6; i++)
		at = wait_for(&s, nap(&s, at, 1000) + 10, 20) + 10;
	for (int i = 0; i < 4; i++)
		at = nap(&s, at, 5000) + 10;
	at = wait_for(&s, at, 20) + 10;
	at = nap(&s, at, 1000) + 10;
	hurts = at;
	at = wait_for(&s, at, 8000) + 10;
	at = nap(&s, at, 1000) + 10;
	trace = synthetic_trace(&s, at + 10, 0);
	assert_int_equal(clew_classes_find(trace, &all, 0, UINT64_MAX, &found), 0);
	for (size_t i = 0; i < found.operation_count; i++)
		if (found.operations[i].operation.task == THREAD && found.operations[i].by) {
			assert_true(found.operations[i].operation.from <= hurts);
			assert_true(found.operations[i].operation.to > hurts + 8000);
			break;
		}
	clew_classes_done(&found);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A loop of `naps`, a wait for another thread, and as many naps again: a long loop ticks, and the
 * wait is an operation. A short one may wait for something. Returns the longest operation's length.
 */
static uint64_t longest_of_loop(int naps)
{
	const struct clew_chosen all = {};
	struct clew_operation_classes found;
	struct synthetic s = {0};
	struct clew_trace *trace;
	uint64_t at = 2000, length = 0;

	identify(&s, (struct identity){.task = THREAD});
	identify(&s, (struct identity){.task = OTHER});
	SWITCH(&s, .at = 1000, .cpu = 0, .prev = IDLE, .next = THREAD);
	SWITCH(&s, .at = 1001, .cpu = 1, .prev = IDLE, .next = OTHER);
	at = wait_for(&s, at, 20) + 10;
	for (int i = 0; i < naps; i++)
		at = nap(&s, at, 1000) + 10;
	at = wait_for(&s, at, 8000) + 10;
	for (int i = 0; i < naps; i++)
		at = nap(&s, at, 1000) + 10;
	at = wait_for(&s, at, 20) + 10;
	trace = synthetic_trace(&s, at + 10, 0);
	assert_int_equal(clew_classes_find(trace, &all, 0, UINT64_MAX, &found), 0);
	for (size_t i = 0; i < found.operation_count; i++) {
		const struct clew_operation *operation = &found.operations[i].operation;

		if (operation->task == THREAD && operation->to - operation->from > length)
			length = operation->to - operation->from;
	}
	clew_classes_done(&found);
	clew_trace_free(trace);
	synthetic_done(&s);
	return length;
}

static void a_long_loop_ticks(void **state)
{
	(void)state;
	assert_in_range(longest_of_loop(64), 8000, 9000);
	assert_true(longest_of_loop(63) > 63000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(naps_do_not_hurt),
		cmocka_unit_test(a_long_loop_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

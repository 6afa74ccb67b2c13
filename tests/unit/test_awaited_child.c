/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A wait for a child that nothing ends: which child is followed, and what is said of it. */
#include "explain/awaited_child.h"
#include "explain/why.h"
#include "synthetic.h"

#include "words/segment_text.h"

#define ANY UINT32_MAX /* -1 of wait4(2) */

/* Task 1 waits for `argument`; the children of its process are 2, which has the thread 3, and if
 * wanted 4. Task 5 is a child of 2. */
static struct clew_trace *family(uint64_t argument, bool other_child, uint32_t ended)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	identify(&s, (struct identity){.task = 1});
	identify(&s, (struct identity){.task = 2, .parent = 1});
	identify(&s, (struct identity){.task = 3, .process = 2, .parent = 1});
	if (other_child)
		identify(&s, (struct identity){.task = 4, .parent = 1});
	identify(&s, (struct identity){.task = 5, .parent = 2});
	sleeps(&s, 2000, 1, 1, wait_on(SYS_wait4, CLEW_OBJECT_CHILD, argument));
	if (ended != 2)
		sleeps(&s, 2100, 2, 2, wait_in(SYS_nanosleep));
	if (ended) {
		SWITCH(&s, .at = 2200, .cpu = 3, .prev = IDLE, .next = ended);
		life(&s, CLEW_KIND_EXIT, 2300, ended, 0);
		SWITCH(&s, .at = 2310, .cpu = 3, .prev = ended, .next = IDLE,
		       .flags = CLEW_SWITCH_DEAD);
	}
	trace = synthetic_trace(&s, 5000, 0);
	synthetic_done(&s);
	return trace;
}

static void check(uint64_t argument, bool other_child, uint32_t ended, uint32_t expected,
		  uint8_t expected_evidence)
{
	struct clew_trace *trace = family(argument, other_child, ended);
	const struct clew_sleep *sleeps;
	uint8_t evidence;
	size_t count, open = 0;

	sleeps = clew_trace_sleeps(trace, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t child = clew_awaited_child(trace, &sleeps[i], &evidence);

		if (sleeps[i].task != 1) {
			assert_int_equal(child, CLEW_NO_TASK);
			continue;
		}
		open++;
		assert_int_equal(child, expected);
		if (expected != CLEW_NO_TASK)
			assert_int_equal(evidence, expected_evidence);
	}
	assert_int_equal(open, 1);
	clew_trace_free(trace);
}

static void which_child(void **state)
{
	(void)state;
	/* By its number, whatever other children there are. */
	check(102, false, 0, 2, CLEW_EVIDENCE_OBSERVED);
	check(102, true, 0, 2, CLEW_EVIDENCE_OBSERVED);
	/* A thread of it has a number that wait4(2) does not know; a grandchild is no child. */
	check(103, false, 0, CLEW_NO_TASK, 0);
	check(105, false, 0, CLEW_NO_TASK, 0);
	/* Any child: the only one. */
	check(ANY, false, 0, 2, CLEW_EVIDENCE_CANDIDATE);
	check(ANY, true, 0, CLEW_NO_TASK, 0);
	check(ANY, true, 4, 2, CLEW_EVIDENCE_CANDIDATE);
	/* The first thread has ended, and the process lives: its other thread may do anything. */
	check(ANY, true, 2, CLEW_NO_TASK, 0);
	check(102, false, 2, CLEW_NO_TASK, 0);
	/* A process group. */
	check((uint32_t)-77, false, 0, CLEW_NO_TASK, 0);
}

static void what_is_said(void **state)
{
	struct clew_trace *trace = family(102, false, 0);
	struct clew_why why;
	const struct clew_segment *last;
	char *text;

	(void)state;
	assert_int_equal(clew_why_explain(trace, NULL, 1, 2000, 5000, &why), 0);
	last = &why.segments[why.segment_count - 1];
	assert_int_equal(last->task, 2);
	assert_int_equal(last->via_type, CLEW_EDGE_EXIT);
	assert_int_equal(last->via_evidence, CLEW_EVIDENCE_OBSERVED);
	text = clew_segment_text(trace, NULL, last, &(struct clew_beside){});
	assert_non_null(strstr(text, "task-102 is the child that task-101 waits for, and "));
	assert_null(strstr(text, "ended"));
	free(text);
	clew_why_done(&why);
	clew_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_child),
		cmocka_unit_test(what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

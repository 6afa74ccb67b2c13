/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chains keep their reasons: by which dependency each task of a chain was reached,
 * also where segments share a part of it.
 */
#include "explain/why.h"
#include "synthetic.h"
#include <stdio.h>
#include <stdlib.h>

#include "answers/why/restraints.h"
#include "words/hops.h"

#define MUTEX CLEW_FUTEX_CLASS_MUTEX

/* The segment at a moment. */
static const struct clew_segment *segment_at(const struct clew_why *why, uint64_t at)
{
	for (size_t i = 0; i < why->segment_count; i++)
		if (why->segments[i].start <= at && at < why->segments[i].end)
			return &why->segments[i];
	fail_msg("no segment at %llu", (unsigned long long)at);
	return NULL;
}

/* Place `i` of a chain: its task, and what led to it. */
static void assert_hop(const struct clew_segment *segment, uint32_t i, uint32_t task, int type,
		       unsigned evidence)
{
	assert_true(i < segment->chain_length);
	assert_int_equal(segment->chain[i], task);
	assert_int_equal(segment->vias[i].type, type);
	if (type >= 0)
		assert_int_equal(segment->vias[i].evidence, evidence);
}

static char *words_of(const struct clew_trace *t, const struct clew_segment *segment,
		      void (*print)(FILE *, const struct clew_trace *, const struct clew_segment *))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	print(out, t, segment);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_words(const struct clew_trace *t, const struct clew_segment *segment,
			 void (*print)(FILE *, const struct clew_trace *,
				       const struct clew_segment *),
			 const char *expected)
{
	char *text = words_of(t, segment, print);

	assert_string_equal(text, expected);
	free(text);
}

/* A why has one restraint: this task, for so many ns, in several segments. */
static void assert_restraint(const struct clew_trace *t, const struct clew_why *why, uint32_t task,
			     uint64_t ns, unsigned kind)
{
	struct clew_restraint *restraints;
	size_t count;

	assert_true(why->segment_count > 2);
	assert_int_equal(clew_restraints_make(t, why, &restraints, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(restraints[0].task, task);
	assert_int_equal(restraints[0].ns, ns);
	assert_int_equal(restraints[0].sleep->kind, kind);
	free(restraints);
}

/* 4 waits for a lock of 3, which reads a pipe that 2 writes to; 2 waits for a file lock of 1. */
static void each_hop_has_its_reason(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;
	const struct clew_segment *segment;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 2000, 1, 1, wait_in(SYS_nanosleep));
	sleeps(&s, 2100, 2, 2, wait_on(SYS_flock, CLEW_OBJECT_FILE, 9));
	sleeps(&s, 2200, 3, 3, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	sleeps(&s, 2300, 4, 4, wait_futex(MUTEX, 0x7000, 103));
	comes(&s, 4050, 1, 1, (struct woken){.at = 4000, .context = CLEW_WAKE_TIMER});
	comes(&s, 4150, 2, 2, (struct woken){.at = 4100, .by = 1});
	comes(&s, 4250, 3, 3, (struct woken){.at = 4200, .by = 2});
	comes(&s, 4350, 4, 4,
	      (struct woken){.at = 4300, .by = 3, .operation = CLEW_FUTEX_WAKE_ONE});
	t = synthetic_trace(&s, 6000, 0);
	assert_int_equal(clew_why_explain(t, NULL, 4, 2300, 4400, &why), 0);
	segment = segment_at(&why, 3000);
	assert_int_equal(segment->chain_length, 4);
	assert_hop(segment, 0, 4, -1, 0);
	assert_hop(segment, 1, 3, CLEW_EDGE_UNLOCK, CLEW_EVIDENCE_EXACT);
	assert_hop(segment, 2, 2, CLEW_EDGE_PIPE, CLEW_EVIDENCE_EXACT);
	assert_hop(segment, 3, 1, segment->via_type, segment->via_evidence);
	assert_words(t, segment, clew_print_hops,
		     "task-104 <- (futex 0x7000) task-103 <- (pipe:[7]) task-102 <- (flock "
		     "inode 9 on 0:0) ");
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/*
 * 2 waits for a lock that 1 has, then for a pipe that 1 writes to. 1 is asleep both
 * times: the two chains are of the same tasks, and told apart.
 */
static void siblings_differ_in_reason(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 2);
	sleeps(&s, 2000, 1, 1, wait_in(SYS_nanosleep));
	sleeps(&s, 2100, 2, 2, wait_futex(MUTEX, 0x7000, 101));
	comes(&s, 3050, 1, 1, (struct woken){.at = 3000, .context = CLEW_WAKE_TIMER});
	comes(&s, 3150, 2, 2,
	      (struct woken){.at = 3100, .by = 1, .operation = CLEW_FUTEX_WAKE_ONE});
	sleeps(&s, 3200, 1, 1, wait_in(SYS_nanosleep));
	sleeps(&s, 3300, 2, 2, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	comes(&s, 4050, 1, 1, (struct woken){.at = 4000, .context = CLEW_WAKE_TIMER});
	comes(&s, 4150, 2, 2, (struct woken){.at = 4100, .by = 1});
	t = synthetic_trace(&s, 6000, 0);
	assert_int_equal(clew_why_explain(t, NULL, 2, 2100, 4200, &why), 0);
	assert_hop(segment_at(&why, 2500), 1, 1, CLEW_EDGE_UNLOCK, CLEW_EVIDENCE_EXACT);
	assert_hop(segment_at(&why, 3500), 1, 1, CLEW_EDGE_PIPE, CLEW_EVIDENCE_EXACT);
	assert_false(clew_segment_same_chain(segment_at(&why, 2500), segment_at(&why, 3500)));
	assert_true(clew_segment_same_chain(segment_at(&why, 2500), segment_at(&why, 2900)));
	/* One hop whose object the words about it name says nothing more. */
	assert_words(t, segment_at(&why, 3500), clew_print_chain, "");
	assert_int_equal(clew_chain_key(t, segment_at(&why, 3500)), 0);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Threads that were stopped, short of memory or slowed down stay so, whoever ended it. */
static void held_back_is_not_lost(void **state)
{
	struct clew_wait memory = wait_on(SYS_write, CLEW_OBJECT_FILE, 9),
			 stopped = wait_in(SYS_pause), slowed = memory;
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	memory.reason = CLEW_REASON_RECLAIM;
	slowed.reason = CLEW_REASON_DIRTY;
	slowed.object_kind = CLEW_OBJECT_DEVICE;
	slowed.device = 8u << 20;
	threads(&s, 4);
	sleeps(&s, 2000, 1, 1, memory);
	sleeps(&s, 2050, 4, 4, slowed);
	SWITCH(&s, .at = 2100, .cpu = 2, .prev = 2, .next = IDLE, .wait = &stopped, .state = 4);
	sleeps(&s, 2200, 3, 3, wait_in(SYS_nanosleep));
	comes(&s, 3050, 3, 3, (struct woken){.at = 3000, .context = CLEW_WAKE_TIMER});
	comes(&s, 3150, 1, 1, (struct woken){.at = 3100, .by = 3});
	comes(&s, 3250, 2, 2, (struct woken){.at = 3200, .by = 3});
	comes(&s, 3350, 4, 4, (struct woken){.at = 3300, .by = 3});
	t = synthetic_trace(&s, 6000, 0);
	assert_int_equal(clew_why_explain(t, NULL, 1, 2000, 3200, &why), 0);
	assert_words(t, segment_at(&why, 2500), clew_print_chain,
		     "; task-101 <- (memory reclaim) task-103");
	assert_int_not_equal(clew_chain_key(t, segment_at(&why, 2500)), 0);
	assert_restraint(t, &why, 1, 1100, CLEW_WAIT_MEMORY);
	clew_why_done(&why);
	assert_int_equal(clew_why_explain(t, NULL, 2, 2100, 3300, &why), 0);
	assert_words(t, segment_at(&why, 2500), clew_print_chain,
		     "; task-102 <- (stopped) task-103");
	assert_restraint(t, &why, 2, 1100, CLEW_WAIT_STOPPED);
	clew_why_done(&why);
	assert_int_equal(clew_why_explain(t, NULL, 4, 2050, 3300, &why), 0);
	assert_words(t, segment_at(&why, 2500), clew_print_chain,
		     "; task-104 <- (throttle: device 8:0) task-103");
	assert_restraint(t, &why, 4, 1250, CLEW_WAIT_THROTTLE);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hop_has_its_reason),
		cmocka_unit_test(siblings_differ_in_reason),
		cmocka_unit_test(held_back_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

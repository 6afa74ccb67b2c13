/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sleeps that come late, numbers that stayed unused and equal times, put in order: against a plain
 * sort. */
#include "store_records.h"

#include "trace/internal.h"

#define MOST 400u

static int compare(const void *left, const void *right)
{
	const struct clew_sleep *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/* The share of each kind of disorder, in a hundred. Returns how many sleeps there are. */
static size_t fill(struct clew_trace *trace, struct random *random, size_t count, unsigned late,
		   unsigned unused)
{
	struct clew_sleep *sleeps = trace->sleeps.data;
	uint64_t now = 100000;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct clew_sleep *sleep = &sleeps[i];

		*sleep = (struct clew_sleep){.task = CLEW_NO_TASK};
		if (random_below(random, 100) < unused)
			continue;
		now += random_below(random, 3);
		*sleep = (struct clew_sleep){.task = 1 + random_below(random, 5),
					     .number = (uint32_t)i,
					     .start = now,
					     .end = i};
		if (random_below(random, 100) < late)
			sleep->start -= random_below(random, 1000);
		used++;
	}
	trace->sleeps.count = count;
	return used;
}

static void expect_order(struct random *random, size_t count, unsigned late, unsigned unused)
{
	static struct clew_sleep room[MOST], sorted[MOST];
	static uint32_t pieces[MOST];
	struct trace_task task = {.pieces = {.data = pieces}}, *tasks[] = {&task};
	struct clew_trace trace = {.sleeps = {.data = room}, .tasks = {.data = tasks, .count = 1}};
	size_t used = fill(&trace, random, count, late, unused), at = 0;

	for (size_t i = 0; i < count; i++) {
		if (room[i].task == CLEW_NO_TASK)
			continue;
		sorted[at++] = room[i];
		pieces[task.pieces.count++] = PIECE_SLEEP << PIECE_SHIFT | (uint32_t)i;
	}
	qsort(sorted, used, sizeof(*sorted), compare);

	assert_int_equal(trace_order_sleeps(&trace), 0);
	assert_int_equal(trace.sleeps.count, count);
	assert_int_equal(trace.first_sleep, count - used);
	for (size_t i = 0; i < used; i++) {
		const struct clew_sleep *sleep = &room[count - used + i];

		assert_int_equal(sleep->start, sorted[i].start);
		assert_int_equal(sleep->task, sorted[i].task);
		assert_int_equal(sleep->end, sorted[i].end);
		assert_int_equal(sleep->number, count - used + i);
	}
	/* Timelines refer to the same sleeps as before. */
	at = 0;
	for (size_t i = 0; i < task.pieces.count; i++) {
		uint64_t before = room[pieces[i] & PIECE_INDEX].end;

		assert_int_equal(pieces[i] >> PIECE_SHIFT, PIECE_SLEEP);
		assert_true(i == 0 || before > at);
		at = before;
	}
}

static void sorts(void **state)
{
	struct random random = {.state = 1};

	(void)state;
	expect_order(&random, 0, 0, 0);
	expect_order(&random, 1, 0, 0);
	expect_order(&random, 1, 0, 100);
	for (unsigned round = 0; round < 3000; round++)
		expect_order(&random, random_below(&random, MOST),
			     random_below(&random, 2) ? random_below(&random, 4)
						      : random_below(&random, 100),
			     random_below(&random, 2) ? random_below(&random, 3)
						      : random_below(&random, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sorts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

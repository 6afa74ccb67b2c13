/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of traced functions in a trace: which are open at a moment, and how time divides among
 * functions, compared with what a look at every ns says.
 */
#include "forest.h"
#include <time.h>

#define SPAN 600 /* ns that a random task lives */

/* The deepest of the frames that are open at a moment, by a look at each. */
static const struct clew_frame *deepest(const struct forest *forest, uint64_t at)
{
	const struct clew_frame *found = NULL;

	for (size_t i = 0; i < forest->count; i++)
		if (forest->frames[i].start <= at && at < forest->frames[i].end &&
		    (!found || forest->frames[i].depth > found->depth))
			found = &forest->frames[i];
	return found;
}

static struct clew_trace *trace_of(const struct forest *forests, size_t count)
{
	struct clew_trace *trace;

	assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
	for (size_t k = 0; k < count; k++)
		forest_feed(&forests[k], (unsigned)k, (unsigned)count, trace);
	add_functions(trace);
	assert_int_equal(clew_trace_finish(trace, START + 2 * SPAN), 0);
	return trace;
}

static bool same_frame(const struct clew_trace_frame *a, const struct clew_frame *b)
{
	return !a == !b && (!a || (a->start == b->start && a->end == b->end &&
				   a->function == b->function && a->depth == b->depth));
}

static void check_moments(const struct clew_trace *trace, const struct forest *forest)
{
	const struct clew_trace_frame *open[3];

	for (uint64_t at = START - 1; at < START + SPAN + 2; at++) {
		const struct clew_frame *expected = deepest(forest, at);
		size_t depth = clew_trace_frames_at(trace, forest->serial, at, open, 3);

		assert_true(same_frame(clew_trace_frame_at(trace, forest->serial, at), expected));
		assert_int_equal(depth, expected ? expected->depth + 1u : 0);
		if (depth > 1)
			assert_true(open[0]->depth + 1 == open[1]->depth);
		if (depth)
			assert_true(same_frame(open[depth < 3 ? depth - 1 : 2], expected));
	}
}

/* The sums over an interval, by a look at each ns. The last one is no function. */
static void check_interval(const struct clew_trace *trace, const struct forest *forest,
			   struct clew_function_sums *sums, uint64_t from, uint64_t to)
{
	uint64_t ns[FUNCTIONS + 1] = {0}, calls[FUNCTIONS + 1] = {0}, all = 0;

	for (uint64_t at = from; at < to; at++) {
		const struct clew_frame *in = deepest(forest, at);

		ns[in ? in->function : FUNCTIONS]++;
	}
	for (size_t i = 0; i < forest->count; i++)
		if (forest->frames[i].start >= from && forest->frames[i].start < to &&
		    !(forest->frames[i].flags & CLEW_FRAME_INHERITED))
			calls[forest->frames[i].function]++;
	clew_function_sums_clear(sums);
	assert_int_equal(clew_function_sums_add(sums, trace, forest->serial, from, to), 0);
	clew_function_sums_sort(sums);
	for (uint32_t i = 0; i < sums->count; i++) {
		const struct clew_function_time *time = &sums->times[i];
		uint32_t number = time->function == CLEW_NO_NUMBER ? FUNCTIONS : time->function;

		assert_int_equal(time->ns, ns[number]);
		assert_int_equal(time->calls, calls[number]);
		assert_true(time->probe <= time->ns + 3 * FOREST_MOST);
		assert_true(i == 0 || sums->times[i - 1].ns >= time->ns);
		ns[number] = calls[number] = 0;
		all += time->ns;
	}
	assert_int_equal(all, to - from);
	for (unsigned i = 0; i <= FUNCTIONS; i++)
		assert_true(!ns[i] && !calls[i]);
}

static void random_forests(void **state)
{
	static struct forest forests[3];

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct clew_function_sums sums;
		struct clew_trace *trace;

		random_state = seed * 7919;
		for (unsigned k = 0; k < 3; k++) {
			forests[k].count = 0;
			forests[k].serial = 5 - k;
			forests[k].longest = 120;
			forest_grow(&forests[k], CLEW_NO_NUMBER, 0, START + draw(20), START + SPAN);
		}
		trace = trace_of(forests, 3);
		assert_int_equal(clew_function_sums_begin(trace, &sums), 0);
		for (unsigned k = 0; k < 3; k++) {
			check_moments(trace, &forests[k]);
			for (unsigned i = 0; i < 12; i++) {
				uint64_t from = START + draw(SPAN + 3);

				check_interval(trace, &forests[k], &sums, from, from + draw(SPAN));
			}
		}
		clew_function_sums_done(&sums);
		clew_trace_free(trace);
	}
}

/* A task without frames is in no function, and so is one after its frames. */
static void nobody(void **state)
{
	struct forest forest = {.serial = 4};
	struct clew_trace *trace = trace_of(&forest, 1);
	struct clew_function_sums sums;
	size_t count;

	(void)state;
	assert_int_equal(clew_function_sums_begin(trace, &sums), 0);
	assert_int_equal(clew_function_sums_add(&sums, trace, 4, START, START + 10), 0);
	assert_int_equal(sums.count, 1);
	assert_int_equal(sums.times[0].function, CLEW_NO_NUMBER);
	assert_int_equal(sums.times[0].ns, 10);
	assert_null(clew_trace_frames(trace, 4, &count));
	assert_int_equal(count, 0);
	assert_null(clew_trace_frame_at(trace, 4, START));
	assert_null(clew_trace_function(trace, FUNCTIONS));
	assert_string_equal(clew_trace_function(trace, 3)->readable, "f3");
	clew_function_sums_done(&sums);
	clew_trace_free(trace);
}

static struct clew_frame frame_of(uint32_t number, uint32_t parent, uint64_t start, uint64_t end)
{
	return (struct clew_frame){.start = start,
				   .end = end,
				   .task = 2,
				   .end_task = 2,
				   .function = number % FUNCTIONS,
				   .number = number,
				   .parent = parent};
}

/*
 * Frames of two coroutines do not lie within each other: a task is in the function that it
 * entered last, and then in those it was called in. A parent that is not there is none.
 */
static void coroutines(void **state)
{
	struct forest forest = {.serial = 2, .count = 4};
	struct clew_trace *trace;

	(void)state;
	forest.frames[0] = frame_of(0, CLEW_NO_NUMBER, START, START + 50);
	forest.frames[1] = frame_of(1, CLEW_NO_NUMBER, START + 10, CLEW_TIME_OPEN);
	forest.frames[2] = frame_of(2, 0, START + 20, START + 30);
	forest.frames[3] = frame_of(3, 77, START + 60, START + 70);
	trace = trace_of(&forest, 1);
	assert_int_equal(clew_trace_frame_at(trace, 2, START + 5)->function, 0);
	assert_int_equal(clew_trace_frame_at(trace, 2, START + 15)->function, 1);
	assert_int_equal(clew_trace_frame_at(trace, 2, START + 25)->function, 2);
	assert_int_equal(clew_trace_frame_at(trace, 2, START + 40)->function, 0);
	assert_null(clew_trace_frame_at(trace, 2, START + 55));
	assert_int_equal(clew_trace_frame_at(trace, 2, START + 65)->function, 3);
	assert_null(clew_trace_frame_parent(trace, clew_trace_frame_at(trace, 2, START + 65)));
	clew_trace_free(trace);
}

/* The time of clew's probes in a function is without that in the functions that it called. */
static void probes(void **state)
{
	struct forest forest = {.serial = 2, .count = 2};
	struct clew_function_sums sums;
	struct clew_trace *trace;

	(void)state;
	forest.frames[0] = frame_of(0, CLEW_NO_NUMBER, START, START + 100);
	forest.frames[1] = frame_of(1, 0, START + 20, START + 80);
	forest.frames[0].probe = 30;
	forest.frames[1].probe = 20;
	trace = trace_of(&forest, 1);
	assert_int_equal(clew_function_sums_begin(trace, &sums), 0);
	assert_int_equal(clew_function_sums_add(&sums, trace, 2, START, START + 50), 0);
	clew_function_sums_sort(&sums);
	assert_int_equal(sums.times[0].function, 1);
	assert_int_equal(sums.times[0].ns, 30);
	assert_int_equal(sums.times[0].probe, 10);
	assert_int_equal(sums.times[1].ns, 20);
	assert_int_equal(sums.times[1].probe, 5);
	clew_function_sums_done(&sums);
	clew_trace_free(trace);
}

/* Values and the task after an exec are kept for the frames that have them. */
static void details(void **state)
{
	static const uint8_t values[] = {1, 0, 0, 0, 0, 0, 0, 0, 'a', 0};
	struct forest forest = {.serial = 2, .count = 2};
	const struct clew_frame_detail *detail;
	const struct clew_trace_frame *frames;
	struct clew_trace *trace;
	size_t count;

	(void)state;
	forest.frames[0] = frame_of(0, CLEW_NO_NUMBER, START, START + 100);
	forest.frames[1] = frame_of(1, 0, START + 20, START + 80);
	forest.frames[1].values = values;
	forest.frames[1].values_size = 8;
	forest.frames[1].returned_size = 2;
	forest.frames[1].end_task = 9;
	trace = trace_of(&forest, 1);
	frames = clew_trace_frames(trace, 2, &count);
	assert_int_equal(count, 2);
	assert_null(clew_trace_frame_detail(trace, &frames[0]));
	detail = clew_trace_frame_detail(trace, &frames[1]);
	assert_int_equal(detail->end_task, 9);
	assert_memory_equal(detail->values, values, sizeof(values));
	assert_ptr_equal(clew_trace_frame_parent(trace, &frames[1]), &frames[0]);
	clew_trace_free(trace);
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* A long interval costs a few searches: to walk its frames would take minutes here. */
static void many(void **state)
{
	enum { FRAMES = 500000, ASKED = 20000 };
	struct clew_finding_taker taker;
	struct clew_function_sums sums;
	struct clew_trace *trace;
	double before;

	(void)state;
	assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
	taker = clew_trace_taker(trace);
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct clew_frame frame = frame_of(i, CLEW_NO_NUMBER, START + 20 * (uint64_t)i,
						   START + 20 * (uint64_t)i + 10);

		assert_int_equal(
			taker.take(taker.context, (struct clew_finding){.tag = CLEW_FINDING_FRAME,
									.frame = &frame}),
			0);
	}
	add_functions(trace);
	assert_int_equal(clew_trace_finish(trace, START + 20 * FRAMES), 0);
	assert_int_equal(clew_function_sums_begin(trace, &sums), 0);
	before = cpu_seconds();
	for (uint64_t i = 0; i < ASKED; i++) {
		clew_function_sums_clear(&sums);
		assert_int_equal(
			clew_function_sums_add(&sums, trace, 2, START + i, START + 20 * FRAMES - i),
			0);
		assert_int_equal(sums.count, FUNCTIONS + 1);
	}
	assert_true(cpu_seconds() - before < 20);
	clew_function_sums_done(&sums);
	clew_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_forests), cmocka_unit_test(nobody),
		cmocka_unit_test(coroutines),	  cmocka_unit_test(probes),
		cmocka_unit_test(details),	  cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

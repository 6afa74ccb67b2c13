/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Explanations with traced functions: in which ones a task ran, and from which ones its waits
 * came. Task 2 parses, wants a lock in store(), and its holder, task 1, waits for the disk in
 * flush().
 */
#include "answers/why/causes.h"
#include "answers/why/why_text.h"
#include "explain/why.h"
#include "forest.h"
#include "words/functions.h"

#define MUTEX CLEW_FUTEX_CLASS_MUTEX
#define TO    9000

static const char *const names[FUNCTIONS] = {"handle", "_Z5parsePKc", "store", "flush",
					     "unused", "lock",	      "left"};

static void call(struct clew_trace *trace, struct clew_frame frame)
{
	struct clew_finding_taker taker = clew_trace_taker(trace);

	frame.end_task = frame.task;
	assert_int_equal(taker.take(taker.context, (struct clew_finding){.tag = CLEW_FINDING_FRAME,
									 .frame = &frame}),
			 0);
}

static void call_all(struct clew_trace *trace)
{
	const struct clew_frame frames[] = {
		{.task = 2,
		 .number = 0,
		 .parent = CLEW_NO_NUMBER,
		 .function = 0,
		 .start = 1500,
		 .end = 8500},
		{.task = 2,
		 .number = 1,
		 .parent = 0,
		 .function = 1,
		 .start = 2000,
		 .end = 3000,
		 .probe = 20},
		{.task = 2, .number = 2, .parent = 0, .function = 2, .start = 3500, .end = 7500},
		{.task = 2, .number = 4, .parent = 2, .function = 5, .start = 4000, .end = 6500},
		{.task = 1,
		 .number = 3,
		 .parent = CLEW_NO_NUMBER,
		 .function = 3,
		 .start = 1200,
		 .end = 5950},
	};

	for (uint32_t i = 0; i < FUNCTIONS; i++)
		assert_int_equal(
			trace_add_function(trace, i,
					   &(struct clew_trace_function){.name = names[i],
									 .object = "/bin/app"}),
			0);
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		call(trace, frames[i]);
}

/* `functions`: with frames, too. */
static struct clew_trace *make(bool functions)
{
	struct clew_finding_taker taker;
	struct synthetic s = {0};
	struct clew_trace *trace;

	threads(&s, 2);
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 1);
	SWITCH(&s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 2);
	sleeps(&s, 4500, 2, 2, wait_futex(MUTEX, 0x7000, 101));
	sleeps(&s, 4700, 1, 1, wait_in(SYS_fsync));
	comes(&s, 5700, 1, 1, (struct woken){.at = 5600, .context = CLEW_WAKE_IRQ});
	comes(&s, 6100, 2, 2,
	      (struct woken){.at = 6000, .by = 1, .operation = CLEW_FUTEX_WAKE_ONE});
	assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
	taker = clew_trace_taker(trace);
	synthetic_feed(&s, TO + 1000, 0, &taker, 1);
	if (functions)
		call_all(trace);
	assert_int_equal(clew_trace_finish(trace, TO + 1000), 0);
	synthetic_done(&s);
	return trace;
}

static char *text_of(const struct clew_trace *trace)
{
	struct clew_why_view view = {.steps = true, .lines = 60, .width = 200};
	struct clew_why_sums sums = {};
	struct clew_why why;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(clew_why_explain(trace, NULL, 2, 1500, TO, &why), 0);
	assert_int_equal(clew_print_why(out, trace, NULL, &why, &sums, &view), 0);
	fclose(out);
	clew_why_done(&why);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void in_text(void **state)
{
	struct clew_trace *trace = make(true);
	char *text = text_of(trace);

	(void)state;
	assert_has(text, "waited in lock() for task-101, holding futex 0x7000");
	assert_has(text, "it was running: all of it in flush\n");
	assert_has(text, "it waited for the disk: fsync, in flush()");
	assert_has(text, "was running: 2.00 us in handle, 1.50 us in store, 1.00 us in parse, "
			 "1.40 us in other functions");
	assert_null(strstr(text, "unused"));
	free(text);
	clew_trace_free(trace);
}

/* A trace that forgets its functions has the words of one that never had any. */
static void without(void **state)
{
	struct clew_trace *with = make(true), *never = make(false);
	char *text, *other = text_of(never);

	(void)state;
	clew_trace_forget_functions(with);
	text = text_of(with);
	assert_string_equal(text, other);
	assert_null(strstr(text, "flush"));
	free(text);
	free(other);
	clew_trace_free(with);
	clew_trace_free(never);
}

/* The functions' times in each segment in which the task ran add up to the segment's. */
static void sums(void **state)
{
	struct clew_trace *trace = make(true);
	struct clew_function_sums sums;
	struct clew_why why;
	unsigned running = 0;

	(void)state;
	assert_int_equal(clew_why_explain(trace, NULL, 2, 1500, TO, &why), 0);
	assert_int_equal(clew_function_sums_begin(trace, &sums), 0);
	for (size_t i = 0; i < why.segment_count; i++) {
		const struct clew_segment *segment = &why.segments[i];
		uint64_t ns = 0;

		if (segment->kind != CLEW_SEGMENT_RUNNING)
			continue;
		running++;
		clew_function_sums_clear(&sums);
		assert_int_equal(clew_function_sums_add(&sums, trace, segment->task, segment->start,
							segment->end),
				 0);
		for (uint32_t k = 0; k < sums.count; k++)
			ns += sums.times[k].ns;
		assert_int_equal(ns, clew_segment_length(segment));
	}
	assert_int_equal(running, 4);
	clew_function_sums_done(&sums);
	clew_why_done(&why);
	clew_trace_free(trace);
}

/* The wait of a task for one lock from two functions is two causes. */
static void causes(void **state)
{
	struct clew_trace *trace = make(true);
	struct clew_why_cause *causes;
	struct clew_why why;
	bool found = false;
	size_t count;

	(void)state;
	assert_int_equal(clew_why_explain(trace, NULL, 2, 1500, TO, &why), 0);
	assert_int_equal(clew_causes_make(trace, NULL, &why, &causes, &count), 0);
	for (size_t i = 0; i < count; i++)
		found |= !strcmp(causes[i].text,
				 "task-101 held the lock (futex 0x7000) that task-102 wanted in "
				 "lock(), and waited for the disk: fsync, in flush()");
	assert_true(found);
	clew_causes_free(causes, count);
	clew_why_done(&why);
	clew_trace_free(trace);
}

static bool everybody(void *context, const struct clew_trace_task *task)
{
	(void)context;
	return task != NULL;
}

static bool of_function(void *context, const struct clew_trace_frame *frame)
{
	return frame->function == *(const uint32_t *)context;
}

static void spans(void **state)
{
	struct clew_trace *trace = make(true);
	uint32_t store = 2;
	struct clew_asked asked = {
		.wanted = everybody, .activated = of_function, .context = &store, .to = UINT64_MAX};
	struct clew_operation *found;
	size_t count;

	(void)state;
	assert_int_equal(clew_operations_asked(trace, NULL, &asked, &found, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(found[0].task, 2);
	assert_int_equal(found[0].from, 3500);
	assert_int_equal(found[0].to, 7500);
	assert_int_equal(found[0].frame->function, store);
	free(found);
	clew_trace_free(trace);
}

/* Names are asked for as the symbol table has them, as people write them, or without arguments. */
/* Names are asked for as the symbol table has them, as people write them, or without arguments. */
static void globs(void **state)
{
	static const char *const mangled[] = {"_ZN12_GLOBAL__N_11a3mapIPFiiEE3putEi", "_ZN1bltES_",
					      "_ZNK1cclEi", "plain"};
	const struct clew_trace_function *functions[4];
	struct clew_trace *trace;

	(void)state;
	assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(
			trace_add_function(trace, i,
					   &(struct clew_trace_function){.name = mangled[i]}),
			0);
	for (uint32_t i = 0; i < 4; i++)
		functions[i] = clew_trace_function(trace, i);
	assert_string_equal(functions[0]->title,
			    "(anonymous namespace)::a::map<int (*)(int)>::put");
	assert_string_equal(functions[1]->title, "b::operator<");
	assert_string_equal(functions[2]->title, "c::operator()");
	assert_string_equal(functions[3]->title, "plain");
	assert_true(clew_match_function("_ZN*put*", functions[0]));
	assert_true(clew_match_function("*::put", functions[0]));
	assert_true(clew_match_function("*::put(int)", functions[0]));
	assert_false(clew_match_function("put", functions[0]));
	assert_true(clew_match_function("b::operator<", functions[1]));
	clew_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_text), cmocka_unit_test(without), cmocka_unit_test(sums),
		cmocka_unit_test(causes),  cmocka_unit_test(spans),   cmocka_unit_test(globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Activations of functions as spans of a causal trace: each is a child of the function that it was
 * called in, its time is that of the trace, and what becomes no span is in sums.
 */
#include "convert/convert.h"
#include "forest.h"
#include "model_span.h"
#include <clew/blame.h>
#include <clew/model_make.h>

#define TO 4000

/* Tasks 1 and 2: 2 waits for a lock from 1500 to 2500, and then for a CPU until 2600. */
static struct clew_trace *make(const struct forest *forests, size_t count)
{
	struct clew_finding_taker taker;
	struct synthetic s = {0};
	struct clew_trace *trace;

	threads(&s, 2);
	SWITCH(&s, .at = 1001, .cpu = 1, .prev = IDLE, .next = 1);
	SWITCH(&s, .at = 1001, .cpu = 2, .prev = IDLE, .next = 2);
	sleeps(&s, 1500, 2, 2, wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x7000, 101));
	comes(&s, 2600, 2, 2,
	      (struct woken){.at = 2500, .by = 1, .operation = CLEW_FUTEX_WAKE_ONE});
	assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
	taker = clew_trace_taker(trace);
	synthetic_feed(&s, TO, 0, &taker, 1);
	for (size_t i = 0; i < count; i++)
		forest_feed(&forests[i], (unsigned)i, (unsigned)count, trace);
	add_functions(trace);
	assert_int_equal(clew_trace_finish(trace, TO), 0);
	synthetic_done(&s);
	return trace;
}

static struct clew_frame *add_frame(struct forest *forest, uint32_t function, uint32_t parent,
				    uint64_t start, uint64_t end)
{
	struct clew_frame *frame = &forest->frames[forest->count];

	*frame = (struct clew_frame){.start = start,
				     .end = end,
				     .task = forest->serial,
				     .end_task = forest->serial,
				     .function = function,
				     .number = (uint32_t)forest->count++,
				     .parent = parent};
	return frame;
}

static struct clew_model *model_of(const struct clew_trace *trace, size_t most)
{
	struct clew_problem *problems;
	struct clew_model *model;
	size_t count;

	assert_int_equal(clew_model_with_frames(trace, most, &model), 0);
	assert_int_equal(clew_model_check(model, false, &problems, &count), 0);
	for (size_t i = 0; i < count; i++)
		fail_msg("%s: %s", problems[i].kind, problems[i].message);
	free(problems);
	return model;
}

static uint64_t own_time(const struct clew_model *model, uint32_t span)
{
	struct clew_range range = model->spans[span].elementary;
	uint64_t sum = 0;

	for (uint32_t i = range.first; i < range.first + range.count; i++)
		sum += (uint64_t)(model->es[i].end - model->es[i].start);
	return sum;
}

/* The only typed wait of a span, or CLEW_NONE. */
static uint32_t wait_of(const struct clew_model *model, uint32_t span)
{
	struct clew_range range = model->spans[span].elementary;
	uint32_t found = CLEW_NONE;

	for (uint32_t i = range.first; i < range.first + range.count; i++) {
		if (model->es[i].wait == CLEW_NONE)
			continue;
		assert_int_equal(found, CLEW_NONE);
		found = i;
	}
	return found;
}

static const char *attribute(const struct clew_model *model, uint32_t span, const char *key)
{
	return clew_model_attribute(model, model->spans[span].attributes, key);
}

static void nested(void **state)
{
	static struct forest forest;
	struct clew_trace *trace;
	struct clew_model *model;
	uint32_t outer, store, es;

	(void)state;
	forest = (struct forest){.serial = 2};
	add_frame(&forest, 0, CLEW_NO_NUMBER, 1100, 3000);
	add_frame(&forest, 1, 0, 1200, 1300)->closed = CLEW_FRAME_EXCEPTION;
	add_frame(&forest, 2, 0, 1400, 2900)->probe = 7;
	add_frame(&forest, 3, CLEW_NO_NUMBER, 3500, CLEW_TIME_OPEN)->closed = CLEW_FRAME_OPEN;
	trace = make(&forest, 1);
	model = model_of(trace, 10);
	outer = span_of(model, "task-102/f0");
	store = span_of(model, "task-102/f0/f2");
	assert_int_not_equal(outer, CLEW_NONE);
	assert_int_not_equal(store, CLEW_NONE);
	assert_int_equal(own_time(model, outer), 100 + 100 + 100);
	assert_int_equal(own_time(model, span_of(model, "task-102/f0/f1")), 100);
	/* It wanted the lock in f2, where the wait is, and waits nowhere else. */
	es = wait_of(model, store);
	assert_int_not_equal(es, CLEW_NONE);
	assert_int_equal(model->waits[model->es[es].wait].kind, CLEW_WAIT_FUTEX);
	assert_int_equal(model->es[es - 1].end, 1500);
	assert_int_equal(model->es[es].start, 2600);
	assert_int_equal(wait_of(model, outer), CLEW_NONE);
	assert_int_equal(own_time(model, store), 100 + 300);
	assert_string_equal(attribute(model, store, "object"), "/bin/x");
	assert_string_equal(attribute(model, store, "probe"), "7");
	assert_null(attribute(model, store, "closed"));
	assert_string_equal(attribute(model, span_of(model, "task-102/f0/f1"), "closed"),
			    "exception");
	/* An open frame lasts until the end, and returns there. */
	assert_string_equal(attribute(model, span_of(model, "task-102/f3"), "closed"), "open");
	assert_int_equal(model->spans[span_of(model, "task-102/f3")].end, TO);
	/* Calls and returns come first. */
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(model->dependencies[i].type,
				 i % 2 ? CLEW_DEPENDENCY_RETURN : CLEW_DEPENDENCY_CALL);
	assert_true(model->dependencies[8].type > CLEW_DEPENDENCY_RETURN);
	clew_model_free(model);
	clew_trace_free(trace);
}

/* The shortest become no spans, and neither does what they called. */
static void left_out(void **state)
{
	static struct forest forest;
	struct clew_trace *trace;
	struct clew_model *model;

	(void)state;
	forest = (struct forest){.serial = 2};
	add_frame(&forest, 0, CLEW_NO_NUMBER, 1100, 1480);
	for (unsigned i = 0; i < 5; i++)
		add_frame(&forest, 1, 0, 1110 + 20 * i, 1120 + 20 * i)->self = 10;
	add_frame(&forest, 2, 0, 1300, 1400);
	add_frame(&forest, 3, 6, 1310, 1315)->self = 5;
	add_frame(&forest, 4, CLEW_NO_NUMBER, 3000, 3001)->self = 1;
	trace = make(&forest, 1);
	model = model_of(trace, 2);
	assert_string_equal(attribute(model, span_of(model, "task-102/f0"), "frames_left_out"),
			    "1 5 50");
	assert_string_equal(attribute(model, span_of(model, "task-102/f0/f2"), "frames_left_out"),
			    "3 1 5");
	assert_string_equal(attribute(model, span_of(model, "task-102"), "frames_left_out"),
			    "4 1 1");
	assert_int_equal(span_of(model, "task-102/f0/f1"), CLEW_NONE);
	clew_model_free(model);
	clew_trace_free(trace);
}

/* A coroutine's frame that goes on while another one does is none of its task's spans. */
static void overlapping(void **state)
{
	static struct forest forest;
	struct clew_trace *trace;
	struct clew_model *model;

	(void)state;
	forest = (struct forest){.serial = 2};
	add_frame(&forest, 0, CLEW_NO_NUMBER, 1100, 1300);
	add_frame(&forest, 1, CLEW_NO_NUMBER, 1200, 1400)->self = 200;
	add_frame(&forest, 2, CLEW_NO_NUMBER, 1400, 1450);
	trace = make(&forest, 1);
	model = model_of(trace, 10);
	assert_int_not_equal(span_of(model, "task-102/f0"), CLEW_NONE);
	assert_int_equal(span_of(model, "task-102/f1"), CLEW_NONE);
	assert_int_not_equal(span_of(model, "task-102/f2"), CLEW_NONE);
	assert_string_equal(attribute(model, span_of(model, "task-102"), "frames_left_out"),
			    "1 1 200");
	clew_model_free(model);
	clew_trace_free(trace);
}

/* The running time of each function is that of its spans and of the sums, at random. */
static void random_times(void **state)
{
	static struct forest forests[2];
	unsigned spans = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t ns[FUNCTIONS] = {0}, self[FUNCTIONS] = {0};
		struct clew_trace *trace;
		struct clew_model *model;

		random_state = seed * 104729;
		for (unsigned k = 0; k < 2; k++) {
			forests[k].count = 0;
			forests[k].serial = 1 + k;
			forests[k].longest = 60;
			forest_grow(&forests[k], CLEW_NO_NUMBER, 0, 1010, k ? 1500 : TO);
		}
		trace = make(forests, 2);
		model = model_of(trace, SIZE_MAX);
		for (unsigned k = 0; k < 2; k++)
			for (size_t i = 0; i < forests[k].count; i++) {
				const struct clew_frame *frame = &forests[k].frames[i];

				self[frame->function] += frame->end - frame->start;
				if (frame->parent != CLEW_NO_NUMBER)
					self[forests[k].frames[frame->parent].function] -=
						frame->end - frame->start;
			}
		for (uint32_t i = 0; i < model->span_count; i++) {
			const char *name = clew_model_string(model, model->spans[i].name);

			if (name[0] != 'f' || model->spans[i].parent == CLEW_NONE)
				continue;
			ns[name[1] - '0'] += own_time(model, i);
			spans++;
		}
		assert_memory_equal(ns, self, sizeof(ns));
		clew_model_free(model);
		clew_trace_free(trace);
	}
	assert_in_range(spans, 1500, 100000);
}

/* ns by victim's task, antagonist's task, and kind. */
struct charged {
	uint64_t ns[2][2][CLEW_SEGMENT_KIND_COUNT];
};

static struct charged charge(const struct clew_model *model, bool innermost, unsigned *functions)
{
	struct clew_blame_options options = {.innermost = innermost};
	struct charged charged = {0};
	struct clew_blame_pair *pairs;
	size_t count;

	assert_int_equal(clew_blame_find(model, &options, &pairs, &count), 0);
	for (size_t i = 0; i < count; i++) {
		uint32_t victim = pairs[i].victim, antagonist = pairs[i].antagonist;

		*functions += model->spans[antagonist].parent != CLEW_NONE;
		while (model->spans[victim].parent != CLEW_NONE)
			victim = model->spans[victim].parent;
		while (model->spans[antagonist].parent != CLEW_NONE)
			antagonist = model->spans[antagonist].parent;
		assert_true(victim < 2 && antagonist < 2 && victim != antagonist);
		charged.ns[victim][antagonist][pairs[i].kind] += (uint64_t)pairs[i].ns;
	}
	free(pairs);
	return charged;
}

/* Functions divide what their threads cost each other, and change none of it. */
static void blame(void **state)
{
	static struct forest forests[2];
	unsigned none = 0, functions = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct clew_model *with, *without;
		struct charged a, b, c;
		struct clew_trace *trace;

		random_state = seed * 15485863;
		for (unsigned k = 0; k < 2; k++) {
			forests[k].count = 0;
			forests[k].serial = 1 + k;
			forests[k].longest = 1200;
			forest_grow(&forests[k], CLEW_NO_NUMBER, 0, 1010, TO);
		}
		trace = make(forests, 2);
		with = model_of(trace, SIZE_MAX);
		without = model_of(trace, 0);
		a = charge(without, false, &none);
		b = charge(with, false, &none);
		c = charge(with, true, &functions);
		assert_memory_equal(&a, &b, sizeof(a));
		assert_memory_equal(&a, &c, sizeof(a));
		assert_true(a.ns[1][0][CLEW_WAIT_FUTEX] == 1000);
		clew_model_free(with);
		clew_model_free(without);
		clew_trace_free(trace);
	}
	assert_true(functions > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested),      cmocka_unit_test(left_out),
		cmocka_unit_test(overlapping), cmocka_unit_test(random_times),
		cmocka_unit_test(blame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

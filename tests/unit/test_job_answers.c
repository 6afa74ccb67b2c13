/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logical spans as operations, in the why of requests, and as spans of causal traces. */
#include "runtime_scene.h"

#include <clew/model_make.h>

#include "convert/convert.h"
#include "explain/span_kinds.h"
#include "model_span.h"

static void keep(struct clew_jobs *jobs)
{
	(void)jobs; /* done() frees them */
}

static void join_kept(struct scene *scene, size_t count)
{
	join(scene, count);
	clew_trace_keep_jobs(scene->trace, scene->jobs, keep);
}

/* Threads 1 to 4 run from the start on, each on its own CPU. */
static void begin_running(struct scene *scene)
{
	begin(scene);
	for (unsigned task = 1; task <= 4; task++)
		SWITCH(&scene->s, .at = 1000 + task, .cpu = (uint16_t)task, .prev = IDLE,
		       .next = task);
}

/* ---- operations ---- */

/* Thread 1 submits spans that take 100 in thread 2, or `ns`. */
static uint64_t works(struct scene *scene, uint64_t at, unsigned key, uint64_t ns)
{
	met(scene, at, 1, PUT, key);
	met(scene, at + 10, 2, RUN, key);
	met(scene, at + 10 + ns, 2, END, 0);
	return at + ns + 50;
}

static const struct clew_operation_class *class_of(const struct clew_operation_classes *found,
						   enum clew_operation_kind kind)
{
	for (size_t i = 0; i < found->class_count; i++)
		if (found->classes[i].kind == kind)
			return &found->classes[i];
	return NULL;
}

static void spans_are_operations(void **state)
{
	const struct clew_chosen all = {};
	struct clew_operation_classes found;
	const struct clew_operation_class *class;
	struct scene scene;
	uint64_t at = 2000, slow;

	(void)state;
	begin_running(&scene);
	for (unsigned key = 1; key <= 5; key++)
		at = works(&scene, at, key, 100);
	slow = at;
	at = works(&scene, at, 6, 9000);
	/* It is under way when the capture ends, and so no operation. */
	met(&scene, at, 1, PUT, 7);
	met(&scene, at + 10, 2, RUN, 7);
	join_kept(&scene, 7);
	assert_int_equal(clew_classes_find(scene.trace, &all, 0, UINT64_MAX, &found), 0);
	class = &found.classes[0];
	assert_int_equal(class->kind, CLEW_OPERATION_SPAN);
	assert_int_equal(class->count, 6);
	assert_int_equal(class->usual, 110);
	assert_int_equal(found.operations[class->first].operation.from, slow);
	assert_int_equal(found.operations[class->first].operation.to, slow + 9010);
	assert_int_equal(found.operations[class->first].operation.task, 2);
	assert_int_equal(found.operations[class->first].operation.job, 6);
	clew_classes_done(&found);
	done(&scene);
}

/* A span that a thread is made for is the thread's own time. */
static void threads_are_no_spans(void **state)
{
	const struct clew_chosen all = {};
	struct clew_operation_classes found;
	struct scene scene;

	(void)state;
	begin_running(&scene);
	met(&scene, 2000, 1, PUT, 1);
	life(&scene.s, CLEW_KIND_FORK, 2100, 1, 6);
	identify(&scene.s, (struct identity){.task = 6, .process = 1, .at = 2100});
	SWITCH(&scene.s, .at = 2200, .cpu = 6, .prev = IDLE, .next = 6);
	met(&scene, 2300, 6, RUN, 1);
	met(&scene, 2900, 6, END, 0);
	life(&scene.s, CLEW_KIND_EXIT, 3000, 6, 0);
	met(&scene, 4000, 1, PUT, 2);
	met(&scene, 4100, 2, RUN, 2);
	met(&scene, 9000, 2, END, 0);
	join_kept(&scene, 2);
	assert_int_equal(clew_classes_find(scene.trace, &all, 0, UINT64_MAX, &found), 0);
	assert_non_null(class_of(&found, CLEW_OPERATION_SPAN));
	assert_int_equal(class_of(&found, CLEW_OPERATION_SPAN)->count, 1);
	assert_int_equal(class_of(&found, CLEW_OPERATION_SPAN)->longest, 5000);
	clew_classes_done(&found);
	done(&scene);
}

/* Spans that a span submits which answers requests are parts of these. */
static void parts_of_requests(void **state)
{
	const struct clew_chosen all = {};
	struct vector operations = {.item = sizeof(struct clew_kind_operation)};
	struct clew_kind_operation *found;
	struct scene scene;

	(void)state;
	begin_running(&scene);
	met(&scene, 2000, 1, PUT, 1);
	met(&scene, 2100, 2, RUN, 1);
	met(&scene, 2200, 2, PUT, 2); /* in the first one */
	met(&scene, 2300, 3, RUN, 2);
	met(&scene, 2400, 3, END, 0);
	met(&scene, 2500, 2, END, 0);
	met(&scene, 3000, 1, PUT, 3);
	met(&scene, 3100, 3, RUN, 3);
	met(&scene, 3200, 3, END, 0);
	join_kept(&scene, 3);
	assert_int_equal(vector_reserve(&operations, 1), 0);
	((struct clew_kind_operation *)operations.data)[operations.count++] =
		(struct clew_kind_operation){.operation = {.from = 2050, .to = 2450, .task = 2},
					     .kind = CLEW_OPERATION_SERVED};
	assert_int_equal(span_kinds_find(scene.trace, &all, 0, UINT64_MAX, &operations), 0);
	assert_int_equal(operations.count, 4);
	found = operations.data;
	assert_int_equal(found[0].operation.job, 1);
	assert_int_equal(found[1].inner, 1);
	assert_int_equal(found[2].inner, 1);
	assert_int_equal(found[2].inner_ns, 200);
	assert_int_equal(found[3].inner, 0);
	vector_done(&operations);
	done(&scene);
}

/* ---- requests ---- */

static void assert_segment_of(const struct clew_segment *segment, uint64_t start, uint64_t end,
			      unsigned kind, uint32_t task)
{
	assert_int_equal(segment->start, start);
	assert_int_equal(segment->end, end);
	assert_int_equal(segment->kind, kind);
	assert_int_equal(segment->task, task);
}

/* A request is the time of the span that answers it, in each thread that this ran in. */
static void request_is_its_span(void **state)
{
	struct clew_operation request = {.from = 1500, .to = 6500, .task = 4, .job = 1};
	struct clew_relations *relations;
	struct scene scene;
	struct clew_why why;

	(void)state;
	begin_running(&scene);
	met(&scene, 2000, 1, PUT, 7);
	met(&scene, 3000, 2, RUN, 7);
	met(&scene, 4000, 2, YIELD, 7);
	met(&scene, 6000, 4, RUN, 7);
	met(&scene, 7000, 4, END, 0);
	join_kept(&scene, 1);
	assert_int_equal(clew_relations_new(scene.trace, NULL, &relations), 0);
	assert_int_equal(clew_why_operation(scene.trace, relations, &request, &why), 0);
	assert_int_equal(why.segment_count, 5);
	assert_segment_of(&why.segments[0], 1500, 2000, CLEW_SEGMENT_RUNNING, 1);
	assert_segment_of(&why.segments[1], 2000, 3000, CLEW_WAIT_WORK, 2);
	assert_segment_of(&why.segments[2], 3000, 4000, CLEW_SEGMENT_RUNNING, 2);
	assert_segment_of(&why.segments[3], 4000, 6000, CLEW_WAIT_WORK, 2);
	assert_segment_of(&why.segments[4], 6000, 6500, CLEW_SEGMENT_RUNNING, 4);
	clew_why_done(&why);
	/* Without a span a thread answers for itself. */
	request.task = 3;
	request.job = 0;
	assert_int_equal(clew_why_operation(scene.trace, relations, &request, &why), 0);
	assert_int_equal(why.segment_count, 1);
	assert_segment_of(&why.segments[0], 1500, 6500, CLEW_SEGMENT_RUNNING, 3);
	clew_why_done(&why);
	clew_relations_free(relations);
	done(&scene);
}

/* ---- causal traces ---- */

static void runs_are_spans(void **state)
{
	struct clew_problem *problems;
	struct clew_model *model;
	struct scene scene;
	const char *number;
	uint32_t run;
	size_t count;

	(void)state;
	begin_running(&scene);
	met(&scene, 2000, 1, PUT, 7);
	met(&scene, 3000, 2, RUN, 7);
	met(&scene, 4000, 2, SLEEP, 7);
	met(&scene, 5000, 1, WAKE, 7);
	met(&scene, 6000, 3, RUN, 7);
	met(&scene, 7000, 3, END, 0);
	join_kept(&scene, 1);
	assert_int_equal(clew_model_from_trace(scene.trace, &model), 0);
	assert_int_equal(clew_model_check(model, false, &problems, &count), 0);
	assert_int_equal(count, 0);
	free(problems);
	run = span_of(model, "task-102/r.job");
	assert_int_not_equal(run, CLEW_NONE);
	assert_int_equal(model->spans[run].start, 3000);
	assert_int_equal(model->spans[run].end, 4000);
	number = clew_model_attribute(model, model->spans[run].attributes, "logical");
	assert_string_equal(number, "0 .s");
	run = span_of(model, "task-103/r.job");
	assert_int_not_equal(run, CLEW_NONE);
	assert_int_equal(model->spans[run].start, 6000);
	assert_int_equal(span_of(model, "task-101/r.job"), CLEW_NONE);
	clew_model_free(model);
	/* The longest ones alone. */
	assert_int_equal(clew_model_with_frames(scene.trace, 1, &model), 0);
	assert_int_equal((span_of(model, "task-102/r.job") != CLEW_NONE) +
				 (span_of(model, "task-103/r.job") != CLEW_NONE),
			 1);
	clew_model_free(model);
	done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_operations), cmocka_unit_test(threads_are_no_spans),
		cmocka_unit_test(parts_of_requests),	cmocka_unit_test(request_is_its_span),
		cmocka_unit_test(runs_are_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

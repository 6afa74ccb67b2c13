/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of operations, of activations of functions, and of samples of running threads. */
#include <clew/tokens.h>
#include <stdlib.h>

#include "explain/classes.h"
#include "explain/operations.h"
#include "tables/internal.h"
#include "trace/frames.h"
#include "trace/stacks.h"
#include "words/frame.h"

enum {
	OPERATION_ID,
	OPERATION_TID,
	OPERATION_PID,
	OPERATION_COMM,
	OPERATION_KIND,
	OPERATION_CLASS,
	OPERATION_USUAL,
	OPERATION_START,
	OPERATION_END,
	OPERATION_NS
};

static const struct clew_column operation_columns[] = {
	[OPERATION_ID] = CLEW_INTEGER("id", "number of the operation, 0 the slowest"),
	[OPERATION_TID] = CLEW_INTEGER("tid", "the thread"),
	[OPERATION_PID] = CLEW_INTEGER("pid", "its process"),
	[OPERATION_COMM] = CLEW_TEXT("comm", "its name then"),
	[OPERATION_KIND] =
		CLEW_TEXT("kind", "`request`, `served`, `pipeline`, `connect`, `work`, `start`, "
				  "`command` or `span`"),
	[OPERATION_CLASS] = CLEW_INTEGER(
		"class", "equal for those of one kind, program and endpoint; 0 hurts most"),
	[OPERATION_USUAL] = CLEW_INTEGER(
		"usual_ns", "what is usual in its class; NULL: there are too few to say"),
	[OPERATION_START] = CLEW_INTEGER("start", "when it began"),
	[OPERATION_END] = CLEW_INTEGER("end", "when it was over, or the recording ended"),
	[OPERATION_NS] = CLEW_INTEGER("ns", "how long it took"),
	{},
};

static int longest_first(const void *left, const void *right)
{
	const struct clew_kind_operation *a = left, *b = right;

	return clew_operation_compare(&a->operation, &b->operation)
		       ?: (a->kind > b->kind) - (a->kind < b->kind);
}

static size_t operation_count(struct table_source *source)
{
	struct clew_operation_classes *found = &source->operations;

	if (source->has_operations)
		return found->operation_count;
	source->error =
		clew_classes_find(source->trace, &source->chosen, source->from, source->to, found);
	source->has_operations = source->error >= 0;
	if (found->operation_count)
		qsort(found->operations, found->operation_count, sizeof(*found->operations),
		      longest_first);
	return found->operation_count;
}

static size_t one_part(const struct table_source *source, size_t item)
{
	(void)source;
	(void)item;
	return 1;
}

static int operation_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_operation_classes *found = &source->operations;
	const struct clew_kind_operation *it = &found->operations[cursor->item];
	const struct clew_operation *operation = &it->operation;

	switch (column) {
	case OPERATION_KIND:
		clew_set_string(value,
				clew_operation_kind_name((enum clew_operation_kind)it->kind));
		break;
	case OPERATION_CLASS:
		clew_set_number(value, it->class);
		break;
	case OPERATION_USUAL:
		clew_set_known(value, found->classes[it->class].usual, 0);
		break;
	case OPERATION_ID:
		clew_set_number(value, cursor->item);
		break;
	case OPERATION_TID:
		clew_set_tid(source->trace, operation->task, value);
		break;
	case OPERATION_PID:
		clew_set_pid(source->trace, operation->task, value);
		break;
	case OPERATION_COMM:
		clew_set_comm(source->trace, operation->task, operation->to, value);
		break;
	case OPERATION_START:
		clew_set_number(value, operation->from);
		break;
	case OPERATION_END:
		clew_set_number(value, operation->to);
		break;
	case OPERATION_NS:
		clew_set_number(value, operation->to - operation->from);
		break;
	}
	return 0;
}

const struct table table_operations = {
	.name = "operations",
	.meaning = "requests, commands and other work by kind and class, the slowest first",
	.columns = operation_columns,
	.count = operation_count,
	.parts = one_part,
	.value = operation_value};

/* ---- activations of functions ---- */

enum {
	SPAN_TASK,
	SPAN_TID,
	SPAN_PID,
	SPAN_COMM,
	SPAN_NAME,
	SPAN_OBJECT,
	SPAN_START,
	SPAN_END,
	SPAN_NS,
	SPAN_SELF,
	SPAN_PROBE,
	SPAN_DEPTH,
	SPAN_PARENT,
	SPAN_CLOSED
};

static const struct clew_column span_columns[] = {
	[SPAN_TASK] = CLEW_INTEGER("task", "the thread, tasks.id"),
	[SPAN_TID] = CLEW_INTEGER("tid", "its thread id"),
	[SPAN_PID] = CLEW_INTEGER("pid", "its process"),
	[SPAN_COMM] = CLEW_TEXT("comm", "its name when it entered the function"),
	[SPAN_NAME] = CLEW_TEXT("name", "the function, as its file has it"),
	[SPAN_OBJECT] = CLEW_TEXT("object", "path of that file"),
	[SPAN_START] = CLEW_INTEGER("start", "when the thread entered it"),
	[SPAN_END] = CLEW_INTEGER("end", "when it left; NULL not in the capture"),
	[SPAN_NS] = CLEW_INTEGER("ns", "how long it took; NULL unknown"),
	[SPAN_SELF] = CLEW_INTEGER("self_ns", "of that in no traced function that it called"),
	[SPAN_PROBE] = CLEW_INTEGER("probe_ns", "of that in clew's own probes"),
	[SPAN_DEPTH] = CLEW_INTEGER("depth", "how many traced functions it was called in"),
	[SPAN_PARENT] = CLEW_TEXT("parent", "the innermost one of these; NULL none"),
	[SPAN_CLOSED] = CLEW_TEXT("closed", "how it ended, as in clew spans"),
	{},
};

static size_t task_count(struct table_source *source)
{
	return clew_trace_task_count(source->trace);
}

static size_t span_parts(const struct table_source *source, size_t item)
{
	uint32_t serial = clew_trace_task_at(source->trace, item)->serial;
	size_t count;

	if (!clew_is_chosen(&source->chosen, source->trace, serial))
		return 0;
	clew_trace_frames(source->trace, serial, &count);
	return count;
}

static const struct clew_trace_frame *span_at(const struct table_cursor *cursor,
					      uint32_t *ret_serial)
{
	const struct clew_trace *trace = cursor->source->trace;
	size_t count;

	*ret_serial = clew_trace_task_at(trace, cursor->item)->serial;
	return clew_trace_frames(trace, *ret_serial, &count) + cursor->part;
}

static bool span_wanted(const struct table_cursor *cursor)
{
	uint32_t serial;
	const struct clew_trace_frame *frame = span_at(cursor, &serial);

	return row_wanted(cursor->source, serial, frame->start, frame->end);
}

static void function_value(const struct table_source *source, const struct clew_trace_frame *frame,
			   bool object, struct clew_cell *value)
{
	const struct clew_trace_function *function =
		frame ? clew_trace_function(source->trace, frame->function) : NULL;

	if (function)
		clew_set_string(value, object ? function->object : function->name);
}

static void span_plain_value(const struct clew_trace_frame *frame, unsigned column,
			     struct clew_cell *value)
{
	switch (column) {
	case SPAN_START:
		clew_set_number(value, frame->start);
		break;
	case SPAN_END:
		clew_set_known(value, frame->end, CLEW_TIME_OPEN);
		break;
	case SPAN_NS:
		if (frame_has_time(frame))
			clew_set_number(value, frame->end - frame->start);
		break;
	case SPAN_SELF:
		clew_set_number(value, frame->self);
		break;
	case SPAN_PROBE:
		clew_set_number(value, frame->probe);
		break;
	case SPAN_DEPTH:
		clew_set_number(value, frame->depth);
		break;
	case SPAN_CLOSED:
		clew_set_string(value, clew_frame_closed_name(frame->closed));
		break;
	}
}

static int span_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	uint32_t serial;
	const struct clew_trace_frame *frame = span_at(cursor, &serial);

	switch (column) {
	case SPAN_TASK:
		clew_set_number(value, cursor->item);
		break;
	case SPAN_TID:
		clew_set_tid(source->trace, serial, value);
		break;
	case SPAN_PID:
		clew_set_pid(source->trace, serial, value);
		break;
	case SPAN_COMM:
		clew_set_comm(source->trace, serial, frame->start, value);
		break;
	case SPAN_NAME:
	case SPAN_OBJECT:
		function_value(source, frame, column == SPAN_OBJECT, value);
		break;
	case SPAN_PARENT:
		function_value(source, clew_trace_frame_parent(source->trace, frame), false, value);
		break;
	default:
		span_plain_value(frame, column, value);
		break;
	}
	return 0;
}

const struct table table_spans = {.name = "spans",
				  .meaning = "activations of traced functions",
				  .columns = span_columns,
				  .count = task_count,
				  .parts = span_parts,
				  .wanted = span_wanted,
				  .value = span_value};

/* ---- samples ---- */

enum {
	SAMPLE_ID,
	SAMPLE_TID,
	SAMPLE_PID,
	SAMPLE_COMM,
	SAMPLE_AT,
	SAMPLE_FUNCTION,
	SAMPLE_OBJECT,
	SAMPLE_KERNEL
};

static const struct clew_column sample_columns[] = {
	[SAMPLE_ID] = CLEW_INTEGER("id", "number of the sample"),
	[SAMPLE_TID] = CLEW_INTEGER("tid", "the thread that ran"),
	[SAMPLE_PID] = CLEW_INTEGER("pid", "its process"),
	[SAMPLE_COMM] = CLEW_TEXT("comm", "its name then"),
	[SAMPLE_AT] = CLEW_INTEGER("at", "when the sample was taken"),
	[SAMPLE_FUNCTION] = CLEW_TEXT("function", "function of the program that it was in"),
	[SAMPLE_OBJECT] = CLEW_TEXT("object", "path of that function's file"),
	[SAMPLE_KERNEL] = CLEW_TEXT("kernel", "function of the kernel; NULL: not in the kernel"),
	{},
};

static const struct clew_task_stacks *sample_at(const struct table_source *source, size_t item)
{
	size_t count;

	return clew_trace_all_samples(source->trace, &count) + item;
}

static size_t sample_count(struct table_source *source)
{
	size_t count;

	return clew_trace_all_samples(source->trace, &count) ? count : 0;
}

static size_t sample_parts(const struct table_source *source, size_t item)
{
	const struct clew_task_stacks *sample = sample_at(source, item);

	return row_wanted(source, sample->task, sample->header.time, sample->header.time);
}

/* The innermost function of a stack. */
static void place_value(const struct table_source *source, const struct clew_trace_stack *stack,
			bool kernel, bool object, struct clew_cell *value)
{
	struct clew_stack_place place;

	if (!stack || !stack->count)
		return;
	clew_trace_stack_place(source->trace, stack->frames[0], kernel, &place);
	clew_set_string(value, object ? place.object : place.name);
}

static int sample_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_task_stacks *sample = sample_at(source, cursor->item);
	struct clew_sleep_stacks stacks;

	switch (column) {
	case SAMPLE_ID:
		clew_set_number(value, cursor->item);
		break;
	case SAMPLE_TID:
		clew_set_tid(source->trace, sample->task, value);
		break;
	case SAMPLE_PID:
		clew_set_pid(source->trace, sample->task, value);
		break;
	case SAMPLE_COMM:
		clew_set_comm(source->trace, sample->task, sample->header.time, value);
		break;
	case SAMPLE_AT:
		clew_set_number(value, sample->header.time);
		break;
	default:
		clew_trace_sample_stacks(source->trace, sample, &stacks);
		place_value(source, column == SAMPLE_KERNEL ? stacks.kernel : stacks.user,
			    column == SAMPLE_KERNEL, column == SAMPLE_OBJECT, value);
		break;
	}
	return 0;
}

const struct table table_samples = {.name = "samples",
				    .meaning = "moments at which running threads were looked at",
				    .columns = sample_columns,
				    .count = sample_count,
				    .parts = sample_parts,
				    .value = sample_value};

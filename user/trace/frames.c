/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of traced functions, and the functions themselves. Frames come in order of their ends,
 * which is not that of the array: until the trace is finished a key beside each frame has its
 * task and the number that the builder gave it.
 */
#include "symbol/elf/demangle.h"
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_detail(struct clew_trace *trace, const struct clew_frame *frame,
		      uint32_t *ret_detail)
{
	size_t bytes = (size_t)frame->values_size + frame->returned_size;
	struct vector *details = &trace->frame_details;
	struct clew_frame_detail detail = {
		.values_size = frame->values_size,
		.returned_size = frame->returned_size,
		.unread = frame->unread,
		.end_task = frame->end_task == frame->task ? CLEW_NO_TASK : frame->end_task,
	};

	*ret_detail = CLEW_NO_NUMBER;
	if (!bytes && !detail.unread && !detail.end_task)
		return 0;
	if (bytes) {
		detail.values = arena_copy(&trace->arena, frame->values, bytes);
		if (!detail.values)
			return -ENOMEM;
	}
	if (vector_reserve(details, details->count + 1) < 0)
		return -ENOMEM;
	*ret_detail = (uint32_t)details->count;
	((struct clew_frame_detail *)details->data)[details->count++] = detail;
	return 0;
}

int trace_add_frame(struct clew_trace *trace, const struct clew_frame *frame)
{
	size_t index = trace->frames.count;
	uint32_t detail;

	if (trace_nobody(frame->task) || frame->function == CLEW_NO_NUMBER)
		return 0;
	if (index >= CLEW_NO_NUMBER)
		return -EFBIG;
	if (!trace_task_get(trace, frame->task) || vector_reserve(&trace->frames, index + 1) < 0 ||
	    vector_reserve(&trace->frame_keys, index + 1) < 0 ||
	    add_detail(trace, frame, &detail) < 0)
		return -ENOMEM;
	((struct clew_trace_frame *)trace->frames.data)[index] = (struct clew_trace_frame){
		.start = frame->start,
		.end = frame->end,
		.self = frame->self,
		.probe = frame->probe,
		.function = frame->function,
		.parent = frame->parent,
		.detail = detail,
		.depth = frame->depth,
		.closed = frame->closed,
		.flags = frame->flags,
	};
	((struct frame_key *)trace->frame_keys.data)[index] =
		(struct frame_key){.task = frame->task, .number = frame->number};
	trace->frames.count++;
	trace->frame_keys.count++;
	return 0;
}

/* ---- functions ---- */

static const char *copy_text(struct clew_trace *trace, const char *text)
{
	return arena_copy(&trace->arena, text ?: "", strlen(text ?: ""));
}

/* The name without mangling in the trace's memory; NULL: no memory. */
static const char *demangle(struct clew_trace *trace, const char *name, bool parameters)
{
	char *text = symbol_demangle(name, parameters);
	const char *copy = copy_text(trace, text ?: name);

	free(text);
	return copy;
}

int trace_add_function(struct clew_trace *trace, uint32_t number,
		       const struct clew_trace_function *function)
{
	struct clew_trace_function *place, copy = *function;

	if (number >= TRACE_MOST_FUNCTIONS)
		return 0;
	if (vector_reserve(&trace->functions, (size_t)number + 1) < 0)
		return -ENOMEM;
	place = (struct clew_trace_function *)trace->functions.data + number;
	if (number >= trace->functions.count)
		trace->functions.count = (size_t)number + 1;
	if (place->name)
		return 0;
	copy.name = copy_text(trace, function->name);
	copy.title = demangle(trace, function->name, false);
	copy.readable = demangle(trace, function->name, true);
	copy.object = copy_text(trace, function->object);
	copy.arguments = copy_text(trace, function->arguments);
	copy.build_id = arena_copy(&trace->arena, function->build_id ?: (const uint8_t *)"",
				   function->build_id ? function->build_id_size : 0);
	if (!copy.name || !copy.readable || !copy.title || !copy.object || !copy.arguments ||
	    !copy.build_id)
		return -ENOMEM;
	*place = copy;
	return 0;
}

/* The strings behind a SITE record; false: it is cut off. */
static bool read_strings(const struct clew_site_record *site, const char **strings, size_t count)
{
	const char *at = (const char *)(site + 1), *end = at + site->size;

	for (size_t i = 0; i < count; i++) {
		strings[i] = at;
		at = memchr(at, '\0', (size_t)(end - at));
		if (!at++)
			return false;
	}
	return true;
}

int trace_take_site(struct clew_trace *trace, const struct clew_site_record *site)
{
	const char *strings[3];

	if (!read_strings(site, strings, 3))
		return 0;
	return trace_add_function(
		trace, site->function,
		&(struct clew_trace_function){
			.object = strings[0],
			.name = strings[1],
			.arguments = strings[2],
			.offset = site->start,
			.length = site->length,
			.build_id = site->build_id,
			.build_id_size = site->build_id_size < sizeof(site->build_id)
						 ? site->build_id_size
						 : (uint8_t)sizeof(site->build_id),
		});
}

int trace_take_dropped(struct clew_trace *trace, const struct clew_dropped *record)
{
	struct vector *dropped = &trace->dropped;
	struct clew_trace_dropped *all;

	dropped->item = sizeof(*all);
	if (vector_reserve(dropped, dropped->count + 1) < 0)
		return -ENOMEM;
	all = dropped->data;
	/* Each further file of a recording says it again. */
	for (size_t i = 0; i < dropped->count; i++)
		if (all[i].function == record->function)
			return 0;
	all[dropped->count++] = (struct clew_trace_dropped){
		.time = record->header.time,
		.function = record->function,
		.calls = record->calls,
		.cost = record->cost,
		.period = record->period,
	};
	return 0;
}

const struct clew_trace_dropped *clew_trace_dropped(const struct clew_trace *trace,
						    size_t *ret_count)
{
	*ret_count = trace->dropped.count;
	return trace->dropped.data;
}

uint32_t clew_trace_function_count(const struct clew_trace *trace)
{
	return (uint32_t)trace->functions.count;
}

const struct clew_trace_function *clew_trace_function(const struct clew_trace *trace,
						      uint32_t number)
{
	const struct clew_trace_function *functions = trace->functions.data;

	return number < trace->functions.count && functions[number].name ? &functions[number]
									 : NULL;
}

/* ---- order ---- */

/* Frames that were entered before a fork of their process start later than their number says. */
static bool is_in_order(const struct clew_trace *trace, const struct sort_key *order)
{
	const struct clew_trace_frame *frames = trace->frames.data;
	const struct frame_key *keys = trace->frame_keys.data;

	for (size_t i = 1; i < trace->frames.count; i++)
		if (keys[order[i].index].task == keys[order[i - 1].index].task &&
		    frames[order[i].index].start < frames[order[i - 1].index].start)
			return false;
	return true;
}

/* Sorts by task, then start, then number. `order` has room for twice as many. */
static void sort_frames(const struct clew_trace *trace, struct sort_key *order)
{
	const struct clew_trace_frame *frames = trace->frames.data;
	const struct frame_key *keys = trace->frame_keys.data;
	size_t count = trace->frames.count;

	for (size_t i = 0; i < count; i++)
		order[i] = (struct sort_key){.key = (uint64_t)keys[i].task << 32 | keys[i].number,
					     .index = (uint32_t)i};
	sort_keys(order, order + count, count);
	if (is_in_order(trace, order))
		return;
	for (size_t i = 0; i < count; i++)
		order[i].key = frames[order[i].index].start;
	sort_keys(order, order + count, count);
	for (size_t i = 0; i < count; i++)
		order[i].key = keys[order[i].index].task;
	sort_keys(order, order + count, count);
}

/* Turns builder's numbers of parents into places in the array, from which depths follow.
 * `places`: by builder's number. */
static void join_parents(struct clew_trace *trace, const uint32_t *places, size_t numbers)
{
	struct clew_trace_frame *frames = trace->frames.data;
	const struct frame_key *keys = trace->frame_keys.data;

	for (size_t i = 0; i < trace->frames.count; i++) {
		uint32_t parent =
			frames[i].parent < numbers ? places[frames[i].parent] : CLEW_NO_NUMBER;

		/* A called function comes after its caller, or records contradict each other. */
		if (parent != CLEW_NO_NUMBER && (keys[parent].task != keys[i].task || parent >= i))
			parent = CLEW_NO_NUMBER;
		frames[i].parent = parent;
		frames[i].depth = 0;
		if (parent != CLEW_NO_NUMBER)
			frames[i].depth =
				frames[parent].depth + (frames[parent].depth < UINT16_MAX);
	}
}

static int put_in_order(struct clew_trace *trace)
{
	size_t count = trace->frames.count, numbers = 0;
	struct sort_key *order = calloc(2 * count, sizeof(*order));
	struct vector frames = {.item = sizeof(struct clew_trace_frame)},
		      keys = {.item = sizeof(struct frame_key)};
	uint32_t *places = NULL;
	int r = order && vector_reserve(&frames, count) >= 0 && vector_reserve(&keys, count) >= 0
			? 0
			: -ENOMEM;

	if (r == 0)
		sort_frames(trace, order);
	for (size_t i = 0; i < count && r == 0; i++) {
		struct frame_key key = ((struct frame_key *)trace->frame_keys.data)[order[i].index];

		((struct frame_key *)keys.data)[i] = key;
		((struct clew_trace_frame *)frames.data)[i] =
			((struct clew_trace_frame *)trace->frames.data)[order[i].index];
		numbers = key.number >= numbers ? (size_t)key.number + 1 : numbers;
	}
	free(order);
	places = r == 0 ? malloc(numbers * sizeof(*places)) : NULL;
	if (!places) {
		vector_done(&frames);
		vector_done(&keys);
		return -ENOMEM;
	}
	memset(places, 0xff, numbers * sizeof(*places));
	frames.count = keys.count = count;
	for (size_t i = 0; i < count; i++)
		places[((struct frame_key *)keys.data)[i].number] = (uint32_t)i;
	vector_done(&trace->frames);
	vector_done(&trace->frame_keys);
	trace->frames = frames;
	trace->frame_keys = keys;
	join_parents(trace, places, numbers);
	free(places);
	return 0;
}

int trace_finish_frames(struct clew_trace *trace)
{
	const struct frame_key *keys;
	int r = trace->frames.count ? put_in_order(trace) : 0;

	if (r < 0)
		return r;
	keys = trace->frame_keys.data;
	for (size_t i = 0; i < trace->frames.count; i++) {
		struct trace_task *task = trace_task_find(trace, keys[i].task);

		if (!task->frame_count++)
			task->frame_first = (uint32_t)i;
	}
	vector_done(&trace->frame_keys);
	return 0;
}

/* ---- reading them ---- */

void clew_trace_forget_functions(struct clew_trace *trace)
{
	for (size_t i = 0; i < trace->tasks.count; i++)
		trace_task_at(trace, i)->frame_count = 0;
	trace->frames.count = trace->functions.count = 0;
}

void clew_trace_replace_frame(struct clew_trace *trace, const struct clew_trace_frame *frame)
{
	struct clew_trace_frame *frames = trace->frames.data;

	frames[frame - frames].flags |= CLEW_FRAME_REPLACED;
}

bool clew_trace_has_frames(const struct clew_trace *trace)
{
	return trace->frames.count > 0;
}

const struct clew_trace_frame *clew_trace_frames(const struct clew_trace *trace, uint32_t serial,
						 size_t *ret_count)
{
	const struct trace_task *task = trace_task_find(trace, serial);

	*ret_count = task ? task->frame_count : 0;
	return *ret_count ? trace_frame(trace, task->frame_first) : NULL;
}

const struct clew_trace_frame *clew_trace_frame_parent(const struct clew_trace *trace,
						       const struct clew_trace_frame *frame)
{
	return trace_frame(trace, frame->parent);
}

const struct clew_frame_detail *clew_trace_frame_detail(const struct clew_trace *trace,
							const struct clew_trace_frame *frame)
{
	return frame->detail == CLEW_NO_NUMBER
		       ? NULL
		       : (const struct clew_frame_detail *)trace->frame_details.data +
				 frame->detail;
}

size_t trace_frames_until(const struct clew_trace_frame *frames, size_t count, uint64_t at)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (frames[middle].start <= at)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

const struct clew_trace_frame *clew_trace_frame_at(const struct clew_trace *trace, uint32_t serial,
						   uint64_t at)
{
	size_t count, entered;
	const struct clew_trace_frame *frames = clew_trace_frames(trace, serial, &count);

	entered = trace_frames_until(frames, count, at);
	return entered ? trace_open_frame(trace, &frames[entered - 1], at) : NULL;
}

size_t clew_trace_frames_at(const struct clew_trace *trace, uint32_t serial, uint64_t at,
			    const struct clew_trace_frame **ret_frames, size_t room)
{
	const struct clew_trace_frame *frame = clew_trace_frame_at(trace, serial, at);
	size_t count = 0, kept;

	for (; frame; frame = trace_open_frame(trace, trace_frame(trace, frame->parent), at)) {
		if (count < room)
			ret_frames[count] = frame;
		count++;
	}
	kept = count < room ? count : room;
	for (size_t i = 0; i < kept / 2; i++) {
		const struct clew_trace_frame *inner = ret_frames[i];

		ret_frames[i] = ret_frames[kept - 1 - i];
		ret_frames[kept - 1 - i] = inner;
	}
	return count;
}

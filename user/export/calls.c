/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Begins are merged: the announced calls are one stream, the functions of each thread another.
 * Ends wait in a heap. Ids grow inwards in each thread, and those of announced calls are lower than
 * those of functions, so that of several ends at one time the higher id comes first.
 */
#include "export/calls.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"
#include "store/merge.h"

#define PROGRESS_EVERY 65536

/* The calls that begin in order. */
struct stream {
	const struct clew_activity *activities; /* or NULL */
	const struct clew_trace_frame *frames;
	size_t next;
	size_t count;
	uint64_t first; /* id of the first call */
	uint32_t task;	/* of the frames */
};

struct calls {
	const struct clew_export *export;
	struct stream *streams;
	struct store_heads heads; /* their next begins */
	struct vector ends;	  /* struct export_call: a heap, the first end first */
};

uint64_t export_activity_id(const struct clew_export *export, const struct clew_activity *activity)
{
	size_t count;

	return (uint64_t)(activity - clew_relations_activities(export->relations, &count)) + 1;
}

/* ---- ends ---- */

static bool ends_earlier(const struct export_call *a, const struct export_call *b)
{
	return a->end != b->end ? a->end < b->end : a->id > b->id;
}

static int push_end(struct vector *ends, const struct export_call *call)
{
	struct export_call *heap;
	size_t at = ends->count;

	if (vector_reserve(ends, ends->count + 1) < 0)
		return -ENOMEM;
	ends->count++;
	heap = ends->data;
	for (; at && ends_earlier(call, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *call;
	return 0;
}

static struct export_call pop_end(struct vector *ends)
{
	struct export_call *heap = ends->data, first = heap[0], last = heap[--ends->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < ends->count) {
		if (child + 1 < ends->count && ends_earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!ends_earlier(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return first;
}

/* ---- begins ---- */

/* Goes on to a call that is in the export; false: there is none. */
static bool find_next(const struct calls *calls, struct stream *stream, uint64_t *ret_start)
{
	for (; stream->next < stream->count; stream->next++) {
		const struct clew_activity *activity = stream->activities + stream->next;
		const struct clew_trace_frame *frame = stream->frames + stream->next;
		uint64_t end;

		if (stream->activities &&
		    (!clew_export_wants(calls->export, activity->task) ||
		     !clew_export_has(calls->export, activity->begin, activity->end)))
			continue;
		*ret_start = stream->activities ? activity->begin : frame->start;
		end = stream->activities ? activity->end : frame->end;
		if (clew_export_has(calls->export, *ret_start, end))
			return true;
	}
	return false;
}

static void add_stream(struct calls *calls, struct stream stream)
{
	struct store_heads *heads = &calls->heads;
	uint64_t start;

	if (!find_next(calls, &stream, &start))
		return;
	calls->streams[heads->count] = stream;
	heads->heads[heads->count] = (struct store_head){
		.time = start, .order = (uint32_t)heads->count, .input = (uint32_t)heads->count};
	heads->count++;
}

static int begin(struct calls *calls)
{
	const struct clew_trace *trace = calls->export->trace;
	size_t tasks = clew_trace_task_count(trace), count = 0;
	struct stream stream = {.first = 1};

	calls->streams = malloc((tasks + 1) * sizeof(*calls->streams));
	calls->heads.heads = malloc((tasks + 1) * sizeof(*calls->heads.heads));
	if (!calls->streams || !calls->heads.heads)
		return -ENOMEM;
	if (calls->export->relations)
		stream.activities = clew_relations_activities(calls->export->relations, &count);
	stream.count = count;
	add_stream(calls, stream);
	stream = (struct stream){.first = count + 1};
	for (size_t i = 0; i < tasks; i++) {
		stream.task = clew_trace_task_at(trace, i)->serial;
		stream.frames = clew_trace_frames(trace, stream.task, &stream.count);
		if (clew_export_wants(calls->export, stream.task))
			add_stream(calls, stream);
		stream.first += stream.count;
	}
	store_heads_order(&calls->heads);
	return 0;
}

static struct export_call call_of(const struct calls *calls, const struct stream *stream)
{
	struct export_call call = {.id = stream->first + stream->next};

	if (stream->activities) {
		call.activity = stream->activities + stream->next;
		call.parent = call.activity->parent == CLEW_NO_NUMBER
				      ? 0
				      : (uint64_t)call.activity->parent + 1;
		call.start = call.activity->begin;
		call.end = call.activity->end;
		call.task = call.activity->task;
	} else {
		const struct clew_trace_frame *parent;

		call.frame = stream->frames + stream->next;
		parent = clew_trace_frame_parent(calls->export->trace, call.frame);
		call.parent = parent ? stream->first + (uint64_t)(parent - stream->frames) : 0;
		call.start = call.frame->start;
		call.end = call.frame->end;
		call.task = stream->task;
	}
	return call;
}

static struct export_call take_begin(struct calls *calls)
{
	struct store_head *head = calls->heads.heads;
	struct stream *stream = &calls->streams[head->input];
	struct export_call call = call_of(calls, stream);

	stream->next++;
	if (find_next(calls, stream, &head->time))
		store_heads_sink(&calls->heads, 0);
	else
		store_heads_drop(&calls->heads);
	return call;
}

/* ---- both ---- */

/* True if a call of no length at `inner` lies in `outer`, which ends at that time. */
static bool lies_in(const struct calls *calls, const struct export_call *inner,
		    const struct export_call *outer)
{
	size_t count;

	if (inner->frame && outer->frame) {
		const struct clew_trace_frame *frame = inner->frame;

		while (frame && frame != outer->frame && frame->end == outer->end)
			frame = clew_trace_frame_parent(calls->export->trace, frame);
		return frame == outer->frame;
	}
	if (inner->activity && outer->activity) {
		const struct clew_activity *first = clew_relations_activities(
						   calls->export->relations, &count),
					   *activity = inner->activity;

		while (activity && activity != outer->activity && activity->end == outer->end)
			activity = activity->parent == CLEW_NO_NUMBER ? NULL
								      : first + activity->parent;
		return activity == outer->activity;
	}
	return false;
}

/* True if the first end precedes the next begin, or is that of a call before at the same time. */
static bool end_is_next(const struct calls *calls)
{
	const struct store_head *head = calls->heads.heads;
	const struct export_call *end = calls->ends.data;
	struct export_call next;

	if (!calls->ends.count || !calls->heads.count || end->end != head->time)
		return calls->ends.count && (!calls->heads.count || end->end < head->time);
	next = call_of(calls, &calls->streams[head->input]);
	return !lies_in(calls, &next, end);
}

int export_calls(const struct clew_export *export,
		 int (*take)(void *context, const struct export_call *call, bool ends),
		 void *context)
{
	struct calls calls = {.export = export, .ends.item = sizeof(struct export_call)};
	const uint64_t first = clew_trace_start(export->trace),
		       length = clew_trace_end(export->trace) - first;
	int r = begin(&calls);

	for (size_t i = 1; r >= 0 && (calls.heads.count || calls.ends.count); i++) {
		bool ends = end_is_next(&calls);
		struct export_call call = ends ? pop_end(&calls.ends) : take_begin(&calls);
		uint64_t at = ends ? call.end : call.start;

		r = take(context, &call, ends);
		if (r >= 0 && !ends && call.end != CLEW_TIME_OPEN)
			r = push_end(&calls.ends, &call);
		if (i % PROGRESS_EVERY == 0 && export->progress && length)
			export->progress(export->progress_context,
					 (double)(at - first) / (double)length);
	}
	vector_done(&calls.ends);
	free(calls.streams);
	free(calls.heads.heads);
	return r;
}

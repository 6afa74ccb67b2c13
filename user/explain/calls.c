/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of traced functions, added up. */
#include "explain/calls.h"

#include <errno.h>
#include <stdlib.h>

/* Frames of one task; `take` gets those that are wanted. */
static void walk_task(const struct clew_calls *calls, const struct clew_trace_task *task,
		      clew_calls_take *take, void *context)
{
	const struct clew_trace_frame *frames;
	size_t count;

	frames = clew_trace_frames(calls->trace, task->serial, &count);
	for (size_t i = 0; i < count; i++)
		if (calls->wanted[frames[i].function] && frames[i].start <= calls->to &&
		    clew_trace_until(calls->trace, frames[i].end) >= calls->from)
			take(context, task, &frames[i]);
}

void clew_calls_each(const struct clew_calls *calls, clew_calls_take *take, void *context)
{
	for (size_t i = 0; i < clew_trace_task_count(calls->trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(calls->trace, i);

		if (!calls->chosen.wants || calls->chosen.wants(calls->chosen.context, task))
			walk_task(calls, task, take, context);
	}
}

static unsigned count_unread(const struct clew_trace *trace, const struct clew_trace_frame *frame)
{
	const struct clew_frame_detail *detail = clew_trace_frame_detail(trace, frame);

	return detail ? (unsigned)__builtin_popcount(detail->unread & CLEW_FRAME_UNREAD) : 0;
}

static void add_frame(void *context, const struct clew_trace_task *task,
		      const struct clew_trace_frame *frame)
{
	struct clew_calls *calls = context;
	struct clew_calls_row *rows[] = {&calls->rows[frame->function], &calls->all};
	const struct clew_frame_detail *detail = clew_trace_frame_detail(calls->trace, frame);
	bool entry = frame_is_entry(frame), timed = frame_has_time(frame);

	if (frame->flags & CLEW_FRAME_INHERITED)
		return;
	if (!frame->depth)
		calls->outermost_probe += frame->probe;
	calls->cross_thread +=
		detail && detail->end_task != CLEW_NO_TASK && detail->end_task != task->serial;
	for (unsigned i = 0; i < 2; i++) {
		struct clew_calls_row *row = rows[i];

		row->count++;
		row->unread += count_unread(calls->trace, frame);
		row->probe += frame->probe;
		row->self += frame->self;
		if (entry)
			row->entries++;
		else if (frame->closed == CLEW_FRAME_POINT)
			row->points++;
		else
			row->closed[frame->closed]++;
		row->jumped += frame->closed == CLEW_FRAME_TAIL_CALL &&
			       !(frame->flags & CLEW_FRAME_INCLUSIVE);
		if (timed) {
			row->timed++;
			row->total += frame->end - frame->start;
		}
	}
	if (timed)
		calls->timed[calls->timed_count++] = (struct sort_key){
			.key = frame->end - frame->start, .index = frame->function};
}

static void count_frame(void *context, const struct clew_trace_task *task,
			const struct clew_trace_frame *frame)
{
	struct clew_calls *calls = context;

	(void)task;
	(void)frame;
	calls->timed_count++;
}

/* Gives each row its total times in order. */
static int sort_totals(struct clew_calls *calls)
{
	struct sort_key *spare = malloc((calls->timed_count + 1) * sizeof(*spare));
	uint64_t *next = calls->totals;

	if (!spare)
		return -1;
	sort_keys(calls->timed, spare, calls->timed_count);
	free(spare);
	for (uint32_t i = 0; i < calls->row_count; i++) {
		calls->rows[i].totals = next;
		next += calls->rows[i].timed;
		calls->rows[i].timed = 0;
	}
	for (size_t i = 0; i < calls->timed_count; i++) {
		struct clew_calls_row *row = &calls->rows[calls->timed[i].index];

		row->totals[row->timed++] = calls->timed[i].key;
	}
	return 0;
}

/* The calls that hurt most come first. */
static int by_self(const void *a, const void *b)
{
	const struct clew_calls_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return x->count != y->count ? (x->count < y->count ? 1 : -1)
				    : (x->function > y->function) - (x->function < y->function);
}

int clew_calls_add_up(struct clew_calls *calls)
{
	uint32_t functions = clew_trace_function_count(calls->trace), kept = 0;

	calls->row_count = functions;
	calls->rows = calloc(functions + 1, sizeof(*calls->rows));
	if (!calls->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < functions; i++)
		calls->rows[i].function = i;
	clew_calls_each(calls, count_frame, calls);
	calls->timed = malloc((calls->timed_count + 1) * sizeof(*calls->timed));
	calls->totals = malloc((calls->timed_count + 1) * sizeof(*calls->totals));
	if (!calls->timed || !calls->totals)
		return -ENOMEM;
	calls->timed_count = 0;
	clew_calls_each(calls, add_frame, calls);
	if (sort_totals(calls))
		return -ENOMEM;
	for (uint32_t i = 0; i < functions; i++)
		if (calls->rows[i].count)
			calls->rows[kept++] = calls->rows[i];
	calls->row_count = kept;
	if (kept)
		qsort(calls->rows, kept, sizeof(*calls->rows), by_self);
	return 0;
}

uint64_t clew_calls_percentile(const struct clew_calls_row *row, double share)
{
	uint64_t place = (uint64_t)(share * (double)row->timed);

	if ((double)place < share * (double)row->timed)
		place++;
	return row->totals[place ? place - 1 : 0];
}

void clew_calls_done(struct clew_calls *calls)
{
	free(calls->rows);
	free(calls->timed);
	free(calls->totals);
}

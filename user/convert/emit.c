/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ESs of a span, one after the other, from its gaps and endpoints in order of
 * time. Between two gaps there is always an ES, of no length if they abut. An
 * endpoint splits the ES it falls into; what an origin's split leaves without length
 * and purpose is dropped.
 */
#include "convert/internal.h"
#include <errno.h>
#include <string.h>

struct stretches capture_stretches(const struct clew_trace *trace, const struct trace_task *task)
{
	return (struct stretches){.trace = trace, .task = task, .cursor = task->begin};
}

static struct stretch stretch_of(const struct clew_trace *trace, uint32_t piece)
{
	uint32_t index = piece & PIECE_INDEX;
	const struct clew_sleep *sleep;
	const struct clew_ready *ready;
	const struct clew_run *run;

	switch (piece >> PIECE_SHIFT) {
	case PIECE_RUN:
		run = (const struct clew_run *)trace->runs.data + index;
		return (struct stretch){
			.start = run->start, .end = run->end, .index = index, .kind = STRETCH_RUN};
	case PIECE_READY:
		ready = (const struct clew_ready *)trace->readies.data + index;
		return (struct stretch){.start = ready->start,
					.end = ready->end,
					.index = index,
					.kind = STRETCH_READY};
	default:
		sleep = (const struct clew_sleep *)trace->sleeps.data + index;
		return (struct stretch){.start = sleep->start,
					.end = sleep->end == CLEW_TIME_OPEN ? CLEW_TIME_OPEN
									    : sleep->switch_in,
					.index = index,
					.kind = STRETCH_SLEEP};
	}
}

bool capture_stretch(struct stretches *stretches, struct stretch *ret_stretch)
{
	const struct trace_task *task = stretches->task;
	struct stretch stretch;

	if (!stretches->pending && stretches->next < task->pieces.count) {
		stretch = stretch_of(stretches->trace, task->pieces.data[stretches->next++]);
		if (stretch.end > task->end)
			stretch.end = task->end;
		if (stretch.start < stretches->cursor)
			stretch.start = stretches->cursor;
		if (stretch.start > stretch.end)
			stretch.start =
				stretch.end < stretches->cursor ? stretches->cursor : stretch.end;
		if (stretch.end < stretch.start)
			stretch.end = stretch.start;
		stretches->then = stretch;
		stretches->pending = true;
	}
	if (stretches->pending && stretches->then.start <= stretches->cursor) {
		*ret_stretch = stretches->then;
		stretches->pending = false;
		stretches->cursor = ret_stretch->end;
		return true;
	}
	if (!stretches->pending && stretches->cursor >= task->end)
		return false;
	*ret_stretch =
		(struct stretch){.start = stretches->cursor,
				 .end = stretches->pending ? stretches->then.start : task->end,
				 .kind = STRETCH_UNKNOWN};
	stretches->cursor = ret_stretch->end;
	return true;
}

/* ---- one span ---- */

static void open_es(struct conversion *conversion, uint64_t at, uint32_t wait, bool fresh)
{
	conversion->open = (struct open_es){
		.es = {.start = (clew_time)at,
		       .span = conversion->span,
		       .in = CLEW_NONE,
		       .out = CLEW_NONE,
		       .wait = wait,
		       .mark = (uint32_t)conversion->marks.count},
		.fresh = fresh,
	};
}

void capture_span_begin(struct conversion *conversion, uint32_t span, uint64_t start)
{
	conversion->span = span;
	conversion->next_endpoint = conversion->endpoint_begin[span];
	conversion->last_call_id = 0;
	((struct clew_range *)conversion->ranges.data)[span].first = (uint32_t)conversion->es.count;
	open_es(conversion, start, CLEW_NONE, false);
}

/* The ES that is open ends. */
static int push(struct conversion *conversion, uint64_t end)
{
	uint32_t number = (uint32_t)conversion->es.count;
	struct clew_es *es;

	if (conversion->es.count >= CLEW_NONE - 1)
		return -E2BIG;
	if (vector_reserve(&conversion->es, conversion->es.count + 1) < 0)
		return -ENOMEM;
	es = (struct clew_es *)conversion->es.data + conversion->es.count++;
	*es = conversion->open.es;
	es->end = (clew_time)end;
	if (es->in != CLEW_NONE)
		((uint32_t *)conversion->destinations.data)[conversion->open.slot] = number;
	return 0;
}

static int apply(struct conversion *conversion, const struct endpoint *endpoint)
{
	struct clew_es *open = &conversion->open.es;
	int r = 0;

	if (endpoint->rank == EVENT_RANK_OUT) {
		open->out = endpoint->dependency;
		r = push(conversion, endpoint->at);
		((uint32_t *)conversion->origins.data)[endpoint->slot] =
			(uint32_t)conversion->es.count - 1;
		open_es(conversion, endpoint->at, CLEW_NONE, true);
		return r;
	}
	if (open->start != (clew_time)endpoint->at || open->in != CLEW_NONE ||
	    (conversion->open.after_sleep && !endpoint->ends_sleep)) {
		r = push(conversion, endpoint->at);
		open_es(conversion, endpoint->at, CLEW_NONE, false);
	}
	open->in = endpoint->dependency;
	conversion->open.slot = endpoint->slot;
	conversion->open.fresh = false;
	return r;
}

static int apply_until(struct conversion *conversion, uint64_t limit)
{
	uint32_t end = conversion->endpoint_begin[conversion->span + 1];
	int r = 0;

	while (r == 0 && conversion->next_endpoint < end &&
	       conversion->endpoints[conversion->next_endpoint].at <= limit)
		r = apply(conversion, &conversion->endpoints[conversion->next_endpoint++]);
	return r;
}

/* Ends the ES that is open, unless it is a split's rest. */
static int close_es(struct conversion *conversion, uint64_t at)
{
	const struct open_es *open = &conversion->open;

	if (open->fresh && open->es.start == (clew_time)at &&
	    conversion->marks.count == open->es.mark)
		return 0;
	return push(conversion, at);
}

int capture_gap(struct conversion *conversion, uint64_t start, uint64_t end, uint32_t wait)
{
	uint32_t last = conversion->endpoint_begin[conversion->span + 1];
	int r = apply_until(conversion, start);

	if (r == 0)
		r = close_es(conversion, start);
	/* What falls into a gap of which nothing is known has an ES of its own. */
	while (r == 0 && conversion->next_endpoint < last &&
	       conversion->endpoints[conversion->next_endpoint].at < end) {
		uint64_t at = conversion->endpoints[conversion->next_endpoint].at;

		open_es(conversion, at, wait, false);
		r = apply_until(conversion, at);
		if (r == 0)
			r = close_es(conversion, at);
	}
	open_es(conversion, end, wait, false);
	conversion->open.after_sleep =
		wait != conversion->unknown_wait &&
		((const struct clew_model_wait *)conversion->waits.data)[wait].kind <
			CLEW_WAIT_KIND_COUNT;
	return r;
}

int capture_cut(struct conversion *conversion, uint64_t at)
{
	int r = 0;

	if (conversion->open.es.start != (clew_time)at) {
		r = push(conversion, at);
		open_es(conversion, at, CLEW_NONE, false);
	}
	return r;
}

int capture_mark(struct conversion *conversion, uint64_t at, uint32_t label)
{
	int r = apply_until(conversion, at);

	if (r < 0 || conversion->marks.count >= CLEW_NONE - 1)
		return r < 0 ? r : -E2BIG;
	if (vector_reserve(&conversion->marks, conversion->marks.count + 1) < 0)
		return -ENOMEM;
	((struct clew_mark *)conversion->marks.data)[conversion->marks.count++] =
		(struct clew_mark){.at = (clew_time)at, .label = label};
	return 0;
}

int capture_span_end(struct conversion *conversion, uint64_t end)
{
	struct clew_range *range = (struct clew_range *)conversion->ranges.data + conversion->span;
	int r = apply_until(conversion, UINT64_MAX);

	if (r == 0)
		r = close_es(conversion, end);
	range->count = (uint32_t)conversion->es.count - range->first;
	return r;
}

/* ---- threads ---- */

static int emit_stretch(struct conversion *conversion, const struct stretch *stretch)
{
	const struct clew_trace *trace = conversion->trace;
	const struct clew_ready *ready;
	uint32_t wait;
	int r = 0;

	switch ((enum stretch_kind)stretch->kind) {
	case STRETCH_RUN:
		return 0;
	case STRETCH_UNKNOWN:
		return capture_gap(conversion, stretch->start, stretch->end,
				   conversion->unknown_wait);
	case STRETCH_READY:
		ready = (const struct clew_ready *)trace->readies.data + stretch->index;
		if (ready->end == CLEW_TIME_OPEN)
			pairs_add(&conversion->pairs, ATTRIBUTE_OPEN, "end");
		else if (ready->end != stretch->end)
			pairs_add_number(&conversion->pairs, ATTRIBUTE_UNTIL, ready->end);
		if (ready->start != stretch->start)
			pairs_add_number(&conversion->pairs, ATTRIBUTE_SINCE, ready->start);
		r = pairs_make(&conversion->pairs, conversion->maker, &wait);
		if (r == 0)
			r = capture_wait_row(conversion, CLEW_SEGMENT_RUNQUEUE, wait, &wait);
		if (r < 0 || stretch->start == stretch->end)
			return r;
		return capture_gap(conversion, stretch->start, stretch->end, wait);
	default:
		break;
	}
	if (stretch->start == stretch->end) {
		r = capture_sleep_label(
			conversion, (const struct clew_sleep *)trace->sleeps.data + stretch->index,
			stretch->start, &wait);
		return r < 0 ? r : capture_mark(conversion, stretch->start, wait | LABEL_OF_LIST);
	}
	r = capture_sleep_wait(conversion,
			       (const struct clew_sleep *)trace->sleeps.data + stretch->index,
			       stretch->start, stretch->end, &wait);
	return r < 0 ? r : capture_gap(conversion, stretch->start, stretch->end, wait);
}

int capture_emit_threads(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	int r = 0;

	for (uint32_t span = 0; span < conversion->actor_count && r == 0; span++) {
		const struct trace_task *task =
			span < conversion->task_count ? trace_task_at(trace, span) : NULL;
		uint64_t start = task ? task->begin : trace->start;
		struct stretches stretches;
		struct stretch stretch;

		capture_span_begin(conversion, span, start);
		if (!task) {
			if (conversion->end > start)
				r = capture_gap(conversion, start, conversion->end,
						conversion->unknown_wait);
			if (r == 0)
				r = capture_span_end(conversion, conversion->end);
			continue;
		}
		stretches = capture_stretches(trace, task);
		while (r == 0 && capture_stretch(&stretches, &stretch))
			r = emit_stretch(conversion, &stretch);
		if (r == 0)
			r = capture_span_end(conversion, task->end);
	}
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ESs of a span, one after the other, from its gaps and endpoints in order
 * of time. Between two gaps there is always an ES, of no length if they abut.
 * An endpoint splits the ES that it falls into; what an origin's split leaves
 * without length and purpose is dropped.
 */
#include "convert/to_model.h"
#include <errno.h>

int capture_wait_row(struct conversion *conversion, unsigned kind, uint32_t attributes,
		     uint32_t *ret_wait)
{
	const uint64_t *known = map_get(&conversion->wait_index, attributes, kind);
	struct vector *waits = &conversion->waits;

	if (known) {
		*ret_wait = (uint32_t)*known;
		return 0;
	}
	if (waits->count >= CLEW_NONE - 1)
		return -E2BIG;
	if (vector_reserve(waits, waits->count + 1) < 0 ||
	    map_set(&conversion->wait_index, attributes, kind, waits->count) < 0)
		return -ENOMEM;
	((struct clew_model_wait *)waits->data)[waits->count] =
		(struct clew_model_wait){.kind = kind, .attributes = attributes};
	*ret_wait = (uint32_t)waits->count++;
	return 0;
}

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

/* Ends the open ES. */
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

/* Ends the open ES, or drops it if a split left nothing of it. */
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
	/* An endpoint within a gap of which nothing is known gets an ES of its
	 * own. */
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides a trace at the ends of added dependencies, and at cuts, at its recorded times. An end
 * lands in the first ES that is not over by then, at its start if that is later;
 * incoming ones before outgoing ones, then in order of the statements. Dependencies that the ES
 * waited for stay at its beginning, those that it led to at its end.
 */
#include "analyse/whatif/internal.h"

struct splitter {
	struct whatif *w;
	struct clew_es *es;
	uint32_t count;
	uint32_t *moved; /* the same as of the application */
	uint32_t *trigger, *arrivals;
};

static int compare_ends(const void *a, const void *b)
{
	const struct added_end *x = a, *y = b;

	if (x->span != y->span)
		return x->span < y->span ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->destination != y->destination)
		return x->destination ? -1 : 1;
	return x->dependency < y->dependency ? -1 : x->dependency > y->dependency;
}

/* Begins the next part at a moment; its marks are those from there on. */
static struct clew_es *part(struct splitter *s, struct clew_es *es, clew_time at)
{
	const struct clew_model *model = s->w->model;
	struct clew_es *next = &s->es[s->count++];
	uint32_t mark = es->mark, end = es->mark_end;

	if (s->w->cut_before)
		s->w->cut_before[next - s->es] = 0;
	while (mark < end && model->marks[mark].at < at)
		mark++;
	*next = (struct clew_es){.start = at,
				 .end = es->end,
				 .span = es->span,
				 .in = CLEW_NONE,
				 .out = es->out,
				 .wait = CLEW_NONE};
	next->mark = mark;
	next->mark_end = end;
	es->mark_end = mark;
	es->end = at;
	es->out = CLEW_NONE;
	return next;
}

/* An ES with the ends from `end` on that land in it; returns the first that does not. */
static uint32_t split_es(struct splitter *s, uint32_t number, uint32_t end)
{
	struct whatif *w = s->w;
	const struct clew_es *old = &w->model->es[number];
	struct clew_range marks = clew_model_marks(w->model, number);
	struct clew_es *es = &s->es[s->count];

	if (w->cut_before)
		w->cut_before[s->count] = 0;
	s->moved[number] = s->count++;
	*es = *old;
	es->mark_end = marks.first + marks.count;
	for (; end < w->end_count && w->ends[end].span == old->span && w->ends[end].at <= old->end;
	     end++) {
		const struct added_end *e = &w->ends[end];
		uint32_t dependency = w->model->dependency_count + e->dependency;
		clew_time at = e->at > old->start ? e->at : old->start;

		if (e->dependency == CLEW_NONE) {
			if (es->start < at && at < es->end) {
				es = part(s, es, at);
				w->cut_before[es - s->es] = 1;
			}
			continue;
		}
		if (e->destination) {
			if (es->start < at || es->in != CLEW_NONE)
				es = part(s, es, at);
			es->in = dependency;
			s->arrivals[end] = (uint32_t)(es - s->es);
		} else {
			struct clew_es *before = es;

			es = part(s, es, at);
			before->out = dependency;
			s->trigger[e->dependency] = (uint32_t)(before - s->es);
		}
	}
	/* Nothing is left for the last part: what it was made for took the rest. */
	if (es->start == es->end && es->in == CLEW_NONE && es->out == CLEW_NONE &&
	    s->count - 1 > s->moved[number]) {
		es[-1].mark_end = es->mark_end;
		s->count--;
	}
	return end;
}

static int split_spans(struct splitter *s)
{
	struct whatif *w = s->w;
	uint32_t end = 0;

	for (uint32_t i = 0; i < w->model->span_count; i++) {
		struct clew_range range = w->model->spans[i].elementary;

		w->base_spans[i].elementary.first = s->count;
		for (uint32_t es = range.first; es < range.first + range.count; es++)
			end = split_es(s, es, end);
		w->base_spans[i].elementary.count = s->count - w->base_spans[i].elementary.first;
	}
	s->moved[w->model->es_count] = s->count;
	for (uint32_t i = 0; i < s->count; i++)
		s->es[i].reserved = 0;
	return end == w->end_count ? 0 : -EBADMSG;
}

/* The last part of an ES has its outgoing dependency, the first its incoming one. */
static uint32_t last_part(const struct splitter *s, uint32_t number, uint32_t dependency)
{
	uint32_t es = s->moved[number];

	while (es + 1 < s->count && s->es[es].out != dependency)
		es++;
	return es;
}

static void join(struct splitter *s)
{
	struct whatif *w = s->w;
	const struct clew_model *model = w->model;
	uint32_t destination = model->destination_count;

	if (model->dependency_count)
		memcpy(w->base_dependencies, model->dependencies,
		       model->dependency_count * sizeof(*w->base_dependencies));
	for (uint32_t d = 0; d < model->dependency_count; d++)
		for (uint32_t i = 0; i < model->dependencies[d].origins.count; i++) {
			uint32_t at = model->dependencies[d].origins.first + i;

			w->base_origins[at] = last_part(s, model->origins[at], d);
		}
	for (uint32_t i = 0; i < model->destination_count; i++)
		w->base_destinations[i] = s->moved[model->destinations[i]];
	for (uint32_t i = 0; i < w->added_count; i++) {
		struct clew_dependency *d = &w->base_dependencies[model->dependency_count + i];

		w->base_origins[model->origin_count + i] = s->trigger[i];
		*d = (struct clew_dependency){
			.type = w->added[i].type == CLEW_NONE ? 0 : w->added[i].type,
			.attributes = CLEW_NONE};
		d->origins = (struct clew_range){model->origin_count + i, 1};
		d->destinations.first = destination;
		for (uint32_t end = 0; end < w->end_count; end++)
			if (w->ends[end].destination && w->ends[end].dependency == i)
				w->base_destinations[destination++] = s->arrivals[end];
		d->destinations.count = destination - d->destinations.first;
	}
}

int whatif_split(struct whatif *w)
{
	const struct clew_model *model = w->model;
	size_t es_count = (size_t)model->es_count + w->end_count,
	       destinations = (size_t)model->destination_count + w->end_count;
	struct splitter s = {.w = w};
	int r = -ENOMEM;

	w->base = *model;
	if (w->end_count == 0)
		return 0;
	if (es_count >= CLEW_NONE - 1 || destinations >= CLEW_NONE - 1 ||
	    (size_t)model->dependency_count + w->added_count >= CLEW_NONE - 1)
		return -E2BIG;
	qsort(w->ends, w->end_count, sizeof(*w->ends), compare_ends);
	w->base_es = s.es = calloc(es_count + 1, sizeof(*s.es));
	w->base_spans = malloc(model->span_count * sizeof(*w->base_spans));
	w->base_dependencies = calloc((size_t)model->dependency_count + w->added_count,
				      sizeof(*w->base_dependencies));
	w->base_origins =
		calloc((size_t)model->origin_count + w->added_count, sizeof(*w->base_origins));
	w->base_destinations = calloc(destinations, sizeof(*w->base_destinations));
	w->moved = s.moved = calloc((size_t)model->es_count + 1, sizeof(*s.moved));
	w->cut_before = w->cut_count ? calloc(es_count + 1, 1) : NULL;
	s.trigger = calloc((size_t)w->added_count + 1, sizeof(*s.trigger));
	s.arrivals = calloc(w->end_count, sizeof(*s.arrivals));
	if (s.es && w->base_spans && w->base_dependencies && w->base_origins &&
	    w->base_destinations && s.moved && s.trigger && s.arrivals &&
	    (w->cut_before || !w->cut_count)) {
		memcpy(w->base_spans, model->spans, model->span_count * sizeof(*w->base_spans));
		r = split_spans(&s);
		if (r == 0)
			join(&s);
	}
	w->base.es = w->base_es;
	w->base.es_count = s.count;
	w->base.spans = w->base_spans;
	w->base.dependencies = w->base_dependencies;
	w->base.dependency_count += w->added_count;
	w->base.origins = w->base_origins;
	w->base.origin_count += w->added_count;
	w->base.destinations = w->base_destinations;
	w->base.destination_count =
		(uint32_t)(model->destination_count + w->end_count - w->added_count - w->cut_count);
	free(s.trigger);
	free(s.arrivals);
	return r;
}

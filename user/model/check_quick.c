/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds out which checks may find a problem, in one pass over the ESs and one
 * over the dependencies. Most traces have no problem, and then no check needs
 * to run. A suspicion may be wrong, but without one there is no problem.
 */
#include "model/check_internal.h"
#include <stdlib.h>

/* The number of dependencies ahead of which ESs are prefetched. */
enum { AHEAD = 12 };

enum { KNOWN_ORIGIN = 1, KNOWN_DESTINATION = 2 };

struct quick {
	const struct clew_model *model;
	uint64_t leading, led;		/* ESs with an outgoing, with an incoming dependency */
	uint64_t origins, destinations; /* of all dependencies */
	uint8_t *known; /* of each ES, of dependencies with several ends; NULL: there were none yet
			 */
	unsigned suspects;
};

/* Without a suspicion from here, the spans' ranges follow each other and cover
 * all ESs, which are in order and name their span. */
static void look_at_spans(struct quick *quick)
{
	const struct clew_model *model = quick->model;
	uint64_t seen = 0, leading = 0, led = 0;
	bool wrong = false;

	for (uint32_t i = 0; i < model->span_count && !wrong; i++) {
		const struct clew_span *span = &model->spans[i];
		const struct clew_es *es = &model->es[span->elementary.first],
				     *end = es + span->elementary.count;
		clew_time at = span->start;

		wrong = es == end || es->start != span->start || end[-1].end != span->end;
		seen += span->elementary.count;
		for (; es < end; es++) {
			wrong |= (es->start < at) | (es->end < es->start) | (es->span != i);
			at = es->end;
			leading += es->out != CLEW_NONE;
			led += es->in != CLEW_NONE;
		}
	}
	if (wrong || seen != model->es_count)
		quick->suspects |= SUSPECT_ALL;
	quick->leading = leading;
	quick->led = led;
}

static void fetch(const struct clew_es *es)
{
	__builtin_prefetch(es);
	__builtin_prefetch(&es->out);
}

static void fetch_ends(const struct clew_model *model, uint32_t dependency)
{
	const struct clew_dependency *d = &model->dependencies[dependency];

	if (d->origins.count)
		fetch(&model->es[model->origins[d->origins.first]]);
	if (d->destinations.count)
		fetch(&model->es[model->destinations[d->destinations.first]]);
}

static bool has_no_length(const struct clew_es *es, clew_time moment)
{
	return es->start == moment && es->end == moment;
}

/*
 * If spans are in order, time never goes back along an edge: ESs in a cycle
 * have no length and lie at one moment, and so does a follower of the ES that
 * the edge leads to.
 */
static bool may_close_cycle(const struct clew_model *model, const struct clew_es *from,
			    const struct clew_es *to)
{
	return from->start == from->end && has_no_length(to, from->end) &&
	       (to->out != CLEW_NONE || (to + 1 < model->es + model->es_count &&
					 to[1].span == to->span && has_no_length(&to[1], to->end)));
}

static bool is_known(struct quick *quick, uint32_t es, uint8_t what)
{
	bool known = quick->known[es] & what;

	quick->known[es] |= what;
	return known;
}

/* A dependency with several origins or several destinations, or with none. */
static int look_at_several(struct quick *quick, uint32_t dependency)
{
	const struct clew_model *model = quick->model;
	const struct clew_dependency *d = &model->dependencies[dependency];
	const uint32_t *origins = model->origins + d->origins.first,
		       *destinations = model->destinations + d->destinations.first;

	if (!quick->known)
		quick->known = calloc(model->es_count ? model->es_count : 1, 1);
	if (!quick->known)
		return -ENOMEM;
	if (!d->origins.count != !d->destinations.count)
		quick->suspects |= SUSPECT_ENDS;
	if (d->origins.count > 1 && d->mode == CLEW_MODE_SINGLE)
		quick->suspects |= SUSPECT_TRIGGER;
	for (uint32_t i = 0; i < d->origins.count; i++) {
		const struct clew_es *from = &model->es[origins[i]],
				     *first = &model->es[origins[0]];

		if (from->out != dependency || is_known(quick, origins[i], KNOWN_ORIGIN))
			quick->suspects |= SUSPECT_SYMMETRY;
		if (d->mode == CLEW_MODE_AND ? from->end > first->end : from->end < first->end)
			quick->suspects |= SUSPECT_TRIGGER;
		for (uint32_t j = 0; j < d->destinations.count && from->start == from->end; j++)
			if (may_close_cycle(model, from, &model->es[destinations[j]]))
				quick->suspects |= SUSPECT_CYCLES;
	}
	for (uint32_t i = 0; i < d->destinations.count; i++) {
		const struct clew_es *to = &model->es[destinations[i]];

		if (to->in != dependency || is_known(quick, destinations[i], KNOWN_DESTINATION))
			quick->suspects |= SUSPECT_SYMMETRY;
		if (d->origins.count && to->start < model->es[origins[0]].end)
			quick->suspects |= SUSPECT_NEGATIVE_EDGES;
	}
	return 0;
}

static int look_at_dependencies(struct quick *quick)
{
	const struct clew_model *model = quick->model;
	unsigned suspects = 0;
	int r = 0;

	for (uint32_t i = 0; i < model->dependency_count && r == 0; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		const struct clew_es *from, *to;

		if (model->dependency_count - i > AHEAD)
			fetch_ends(model, i + AHEAD);
		quick->origins += d->origins.count;
		quick->destinations += d->destinations.count;
		if (d->origins.count != 1 || d->destinations.count != 1) {
			r = look_at_several(quick, i);
			continue;
		}
		from = &model->es[model->origins[d->origins.first]];
		to = &model->es[model->destinations[d->destinations.first]];
		if (from->out != i || to->in != i)
			suspects |= SUSPECT_SYMMETRY;
		if (to->start < from->end)
			suspects |= SUSPECT_NEGATIVE_EDGES;
		if (may_close_cycle(model, from, to))
			suspects |= SUSPECT_CYCLES;
	}
	quick->suspects |= suspects;
	return r;
}

int check_quick(const struct clew_model *model, unsigned *ret_suspects)
{
	struct quick quick = {.model = model};
	int r = 0;

	look_at_spans(&quick);
	if (quick.suspects != SUSPECT_ALL)
		r = look_at_dependencies(&quick);
	/* All listed ESs name their dependency, and none is listed twice: if as
	 * many ESs name one, they are the same. */
	if (quick.leading != quick.origins || quick.led != quick.destinations)
		quick.suspects |= SUSPECT_SYMMETRY;
	/* Edges of an ES that is not among the origins of its dependency were
	 * not visited. */
	if (quick.suspects & SUSPECT_SYMMETRY)
		quick.suspects |= SUSPECT_CYCLES;
	free(quick.known);
	*ret_suspects = quick.suspects;
	return r;
}

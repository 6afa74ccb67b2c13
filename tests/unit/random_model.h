/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Small causal traces at random for the oracles of the analyses: root spans with
 * gaps, ESs without length, dependencies of several origins and destinations, some
 * of them dangling, some backwards in time, some in a cycle at one moment. Made as
 * bare arrays, so that they owe nothing to the code that makes models.
 */
#ifndef CLEW_TESTS_RANDOM_MODEL_H
#define CLEW_TESTS_RANDOM_MODEL_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <clew/model.h>
#include <clew/model_make.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SPANS = 8, MOST_ES = 48, MOST_EDGES = 48 };

struct random_model {
	uint64_t seed;
	struct clew_model model;
	struct clew_es es[MOST_ES];
	struct clew_span spans[MOST_SPANS];
	struct clew_dependency dependencies[MOST_EDGES];
	uint32_t origins[MOST_ES], destinations[MOST_ES];
};

struct random_shape {
	unsigned spans; /* at most */
	unsigned es;	/* a span, at most */
	bool gaps;	/* and delays: else whatever follows something starts when that ends */
	bool backwards; /* edges against time, too */
	bool several;	/* origins */
};

/* The names of random traces: root spans s0 .. s7 and the type send. More may be
 * added. */
static __attribute__((unused)) struct clew_maker *random_names(void)
{
	struct clew_maker *maker;
	uint32_t number;

	assert_int_equal(clew_maker_new(&maker), 0);
	for (unsigned i = 0; i < MOST_SPANS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "s%u", i);
		assert_int_equal(clew_maker_root(maker, name, 0, 1, &number), 0);
	}
	assert_int_equal(clew_maker_type(maker, "send", &number), 0);
	return maker;
}

static __attribute__((unused)) unsigned pick(struct random_model *m, unsigned below)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return (unsigned)(m->seed >> 20) % below;
}

static __attribute__((unused)) void random_edge(struct random_model *m,
						const struct random_shape *shape)
{
	struct clew_model *model = &m->model;
	struct clew_dependency *d = &m->dependencies[model->dependency_count];
	unsigned origins = shape->several && pick(m, 3) == 0 ? 2 + pick(m, 2) : pick(m, 20) != 0;
	unsigned destinations = pick(m, 20) == 0 ? 0 : 1 + (pick(m, 4) == 0);
	clew_time ready = INT64_MIN, soonest = INT64_MAX;
	bool backwards = shape->backwards && pick(m, 10) == 0;

	*d = (struct clew_dependency){
		.type = 2, .attributes = CLEW_NONE, .origins.first = model->origin_count};
	d->destinations.first = model->destination_count;
	d->mode = origins > 1 ? CLEW_MODE_AND + pick(m, 2) : CLEW_MODE_SINGLE;
	for (unsigned tries = 0; d->origins.count < origins && tries < 20; tries++) {
		uint32_t es = pick(m, model->es_count), *first = &m->origins[d->origins.first];

		if (m->es[es].out != CLEW_NONE)
			continue;
		m->es[es].out = model->dependency_count;
		first[d->origins.count++] = es;
		model->origin_count++;
		if (d->mode == CLEW_MODE_AND ? m->es[es].end > m->es[first[0]].end
					     : m->es[es].end < m->es[first[0]].end) {
			first[d->origins.count - 1] = first[0];
			first[0] = es;
		}
		ready = m->es[es].end > ready ? m->es[es].end : ready;
		soonest = m->es[es].end < soonest ? m->es[es].end : soonest;
	}
	for (unsigned tries = 0; d->destinations.count < destinations && tries < 60; tries++) {
		uint32_t es = pick(m, model->es_count);

		if (m->es[es].in != CLEW_NONE)
			continue;
		if (!backwards && m->es[es].start < (d->mode == CLEW_MODE_OR ? soonest : ready))
			continue;
		m->es[es].in = model->dependency_count;
		m->destinations[model->destination_count++] = es;
		d->destinations.count++;
	}
	model->dependency_count++;
}

/* Made anew from m->seed, which goes on. */
static __attribute__((unused)) void random_model(struct random_model *m,
						 const struct random_shape *shape)
{
	uint64_t seed = m->seed;
	unsigned spans, edges;

	memset(m, 0, sizeof(*m));
	m->seed = seed;
	spans = 1 + pick(m, shape->spans);
	for (uint32_t span = 0; span < spans; span++) {
		unsigned count = 1 + pick(m, shape->es);
		clew_time at = pick(m, 8);

		m->spans[span] =
			(struct clew_span){.start = at,
					   .parent = CLEW_NONE,
					   .first_child = CLEW_NONE,
					   .next_sibling = span + 1 < spans ? span + 1 : CLEW_NONE,
					   .attributes = CLEW_NONE,
					   .elementary = {m->model.es_count, count}};
		for (unsigned i = 0; i < count; i++) {
			struct clew_es *es = &m->es[m->model.es_count++];

			if (i && shape->gaps && pick(m, 3) == 0)
				at += pick(m, 5);
			*es = (struct clew_es){.start = at,
					       .span = span,
					       .in = CLEW_NONE,
					       .out = CLEW_NONE,
					       .wait = CLEW_NONE};
			at += pick(m, 3) ? pick(m, 6) : 0;
			es->end = at;
		}
		m->spans[span].end = at;
	}
	m->model.es = m->es;
	m->model.spans = m->spans;
	m->model.dependencies = m->dependencies;
	m->model.origins = m->origins;
	m->model.destinations = m->destinations;
	m->model.span_count = spans;
	m->model.unit = 1;
	m->model.type_count = 3;
	edges = pick(m, m->model.es_count + 1);
	for (unsigned i = 0; i < edges && m->model.origin_count + 4 < MOST_ES &&
			     m->model.destination_count + 3 < MOST_ES;
	     i++)
		random_edge(m, shape);
}

#endif

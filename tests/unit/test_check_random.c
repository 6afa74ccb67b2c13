/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The consistency check of small random traces, most of them broken somewhere: the
 * kinds of problems that it names are those that looking at everything, one condition
 * at a time, finds.
 */
#include <clew/model_make.h>
#include <stdlib.h>

#include "random_model.h"

enum { ROUNDS = 60000 };

enum {
	ORDER,
	OVERLAP,
	LENGTH,
	CYCLE,
	NO_ORIGIN,
	NO_DESTINATION,
	SYMMETRY,
	TRIGGER,
	NEGATIVE_EDGE,
	OWNER,
	KINDS
};

static const char *const kinds[KINDS] = {
	"order",	  "overlap",  "negative-length", "cycle",	  "no-origin",
	"no-destination", "symmetry", "trigger",	 "negative-edge", "owner"};

static const struct random_shape shape = {
	.spans = 6, .es = 7, .gaps = true, .backwards = true, .several = true};

static void spoil(struct random_model *m)
{
	struct clew_es *es = &m->es[pick(m, m->model.es_count)];
	struct clew_span *span = &m->spans[pick(m, m->model.span_count)];
	uint32_t dependencies = m->model.dependency_count;
	struct clew_dependency *d = dependencies ? &m->dependencies[pick(m, dependencies)] : NULL;

	switch (pick(m, 12)) {
	case 0:
		es->start += (clew_time)pick(m, 5) - 2;
		break;
	case 1:
		es->end += (clew_time)pick(m, 5) - 2;
		break;
	case 2:
		es->span = pick(m, m->model.span_count);
		break;
	case 3:
		es->in = dependencies && pick(m, 2) ? pick(m, dependencies) : CLEW_NONE;
		break;
	case 4:
		es->out = dependencies && pick(m, 2) ? pick(m, dependencies) : CLEW_NONE;
		break;
	case 5:
		span->start -= pick(m, 2);
		break;
	case 6:
		span->end += pick(m, 2);
		break;
	case 7:
		span->elementary.count -= span->elementary.count > 1;
		break;
	case 8:
		if (m->model.origin_count)
			m->origins[pick(m, m->model.origin_count)] = pick(m, m->model.es_count);
		break;
	case 9:
		if (m->model.destination_count)
			m->destinations[pick(m, m->model.destination_count)] =
				pick(m, m->model.es_count);
		break;
	case 10:
		if (d)
			d->mode = pick(m, 3);
		break;
	case 11:
		if (d && d->destinations.count)
			d->destinations.count--;
		break;
	}
}

/* The number of dependency ends at an ES. */
static unsigned times_among(const uint32_t *ends, struct clew_range range, uint32_t es)
{
	unsigned times = 0;

	for (uint32_t i = range.first; i < range.first + range.count; i++)
		times += ends[i] == es;
	return times;
}

static void look_at_spans(const struct random_model *m, bool *found)
{
	for (uint32_t i = 0; i < m->model.span_count; i++) {
		const struct clew_span *span = &m->spans[i];
		uint32_t first = span->elementary.first, last = first + span->elementary.count - 1;

		found[ORDER] |= m->es[first].start != span->start || m->es[last].end != span->end;
		for (uint32_t es = first + 1; es <= last; es++) {
			found[ORDER] |= m->es[es].start < m->es[es - 1].start;
			found[OVERLAP] |= m->es[es].start >= m->es[es - 1].start &&
					  m->es[es].start < m->es[es - 1].end;
		}
	}
	for (uint32_t es = 0; es < m->model.es_count; es++) {
		const struct clew_range *range = &m->spans[m->es[es].span].elementary;

		found[LENGTH] |= m->es[es].end < m->es[es].start;
		found[OWNER] |= es < range->first || es >= range->first + range->count;
	}
}

static void look_at_dependencies(const struct random_model *m, bool *found)
{
	for (uint32_t i = 0; i < m->model.dependency_count; i++) {
		const struct clew_dependency *d = &m->dependencies[i];

		found[NO_ORIGIN] |= !d->origins.count && d->destinations.count;
		found[NO_DESTINATION] |= d->origins.count && !d->destinations.count;
		for (uint32_t es = 0; es < m->model.es_count; es++) {
			found[SYMMETRY] |=
				times_among(m->origins, d->origins, es) != (m->es[es].out == i);
			found[SYMMETRY] |= times_among(m->destinations, d->destinations, es) !=
					   (m->es[es].in == i);
		}
		for (uint32_t j = 0; j < d->origins.count; j++) {
			clew_time end = m->es[m->origins[d->origins.first + j]].end,
				  first = m->es[m->origins[d->origins.first]].end;

			found[TRIGGER] |=
				j && (d->mode == CLEW_MODE_SINGLE ||
				      (d->mode == CLEW_MODE_AND ? end > first : end < first));
		}
		for (uint32_t j = 0; d->origins.count && j < d->destinations.count; j++)
			found[NEGATIVE_EDGE] |=
				m->es[m->destinations[d->destinations.first + j]].start <
				m->es[m->origins[d->origins.first]].end;
	}
}

/* Where every dependency knows its ends, and they it. */
static bool has_cycle(const struct random_model *m)
{
	static bool leads[MOST_ES][MOST_ES];
	uint32_t count = m->model.es_count;

	memset(leads, 0, sizeof(leads));
	for (uint32_t i = 0; i < m->model.span_count; i++)
		for (uint32_t es = m->spans[i].elementary.first;
		     es + 1 < m->spans[i].elementary.first + m->spans[i].elementary.count; es++)
			leads[es][es + 1] = true;
	for (uint32_t from = 0; from < count; from++)
		for (uint32_t to = 0; to < count; to++)
			if (from != to && m->es[from].out != CLEW_NONE &&
			    m->es[from].out == m->es[to].in && m->es[from].end <= m->es[to].start)
				leads[from][to] = true;
	for (uint32_t over = 0; over < count; over++)
		for (uint32_t from = 0; from < count; from++)
			for (uint32_t to = 0; to < count && leads[from][over]; to++)
				leads[from][to] |= leads[over][to];
	for (uint32_t es = 0; es < count; es++)
		if (leads[es][es])
			return true;
	return false;
}

static void test_kinds(void **state)
{
	static struct random_model m = {.seed = 314159};
	struct clew_maker *maker = random_names();
	struct clew_model *like;
	unsigned seen[KINDS] = {0}, good = 0;

	(void)state;
	assert_int_equal(clew_maker_finish(maker, &like), 0);
	clew_maker_free(maker);
	for (unsigned round = 0; round < ROUNDS; round++) {
		bool expected[KINDS] = {false}, named[KINDS] = {false};
		struct clew_problem *problems;
		struct clew_model *model;
		size_t count;

		random_model(&m, &shape);
		for (uint32_t i = 0; i < m.model.span_count; i++)
			m.spans[i].name = like->spans[i].name;
		for (unsigned times = pick(&m, 4); times > 0; times--)
			spoil(&m);
		look_at_spans(&m, expected);
		look_at_dependencies(&m, expected);
		assert_int_equal(clew_model_from_arrays(like, &m.model, &model), 0);
		assert_int_equal(clew_model_check(model, false, &problems, &count), 0);
		for (size_t i = 0; i < count; i++) {
			const char *text = strcmp(problems[i].kind, "unreachable")
						   ? problems[i].kind
						   : kinds[CYCLE];
			unsigned kind = 0;

			while (kind < KINDS && strcmp(kinds[kind], text))
				kind++;
			assert_true(kind < KINDS);
			named[kind] = true;
		}
		/* ESs that have no owner, or that the dependency does not know, have no order. */
		expected[CYCLE] =
			expected[SYMMETRY] || expected[OWNER] ? named[CYCLE] : has_cycle(&m);
		for (unsigned kind = 0; kind < KINDS; kind++) {
			if (named[kind] != expected[kind])
				print_error("round %u: %s: %d, not %d\n", round, kinds[kind],
					    named[kind], expected[kind]);
			assert_int_equal(named[kind], expected[kind]);
			seen[kind] += named[kind];
		}
		good += count == 0;
		free(problems);
		clew_model_free(model);
	}
	for (unsigned kind = 0; kind < KINDS; kind++)
		assert_true(seen[kind] > 100);
	assert_true(good > 1000);
	clew_model_free(like);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

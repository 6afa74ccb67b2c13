/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slack and drag of small random traces against their definitions applied by brute
 * force; and, where nothing was ever late, the drag of what is critical against the
 * time the whole takes when that ES takes none.
 */
#include <clew/slack.h>
#include <errno.h>
#include <stdlib.h>

#include "random_model.h"

enum { ROUNDS = 15000 };

/* ---- the definitions ---- */

struct oracle {
	struct random_model *m;
	bool eligible[MOST_ES];
	clew_time earliest[MOST_ES], latest[MOST_ES];
};

/* True if slack follows the edge. */
static bool edge(const struct random_model *m, uint32_t a, uint32_t b)
{
	const struct clew_dependency *d;

	if (b == a + 1 && m->es[a].span == m->es[b].span)
		return true;
	if (m->es[b].in == CLEW_NONE || m->es[b].in != m->es[a].out ||
	    m->es[a].end > m->es[b].start)
		return false;
	d = &m->dependencies[m->es[b].in];
	return d->mode != CLEW_MODE_OR || m->origins[d->origins.first] == a;
}

/* True if a path may follow it. */
static bool path_edge(const struct random_model *m, uint32_t a, uint32_t b)
{
	return edge(m, a, b) && ((b == a + 1 && m->es[a].span == m->es[b].span) ||
				 m->origins[m->dependencies[m->es[b].in].origins.first] == a);
}

static void spread(const struct random_model *m, uint32_t es, bool back, bool *reached)
{
	if (reached[es])
		return;
	reached[es] = true;
	for (uint32_t other = 0; other < m->model.es_count; other++)
		if (back ? path_edge(m, other, es) : path_edge(m, es, other))
			spread(m, other, back, reached);
}

static void solve(struct oracle *o)
{
	const struct random_model *m = o->m;
	uint32_t count = m->model.es_count;
	clew_time first = INT64_MAX, last = INT64_MIN;
	bool changed;

	for (uint32_t es = 0; es < count; es++) {
		if (!o->eligible[es])
			continue;
		first = m->es[es].start < first ? m->es[es].start : first;
		last = m->es[es].end > last ? m->es[es].end : last;
	}
	for (uint32_t es = 0; es < count; es++) {
		o->earliest[es] = first;
		o->latest[es] = last;
	}
	do {
		changed = false;
		for (uint32_t a = 0; a < count; a++) {
			for (uint32_t b = 0; b < count; b++) {
				clew_time finish = o->earliest[a] + m->es[a].end - m->es[a].start;
				clew_time start = o->latest[b] - (m->es[b].end - m->es[b].start);

				if (!o->eligible[a] || !o->eligible[b] || !edge(m, a, b))
					continue;
				if (finish > o->earliest[b]) {
					o->earliest[b] = finish;
					changed = true;
				}
				if (start < o->latest[a]) {
					o->latest[a] = start;
					changed = true;
				}
			}
		}
	} while (changed);
}

static void check(const struct oracle *o, const struct clew_slack *slack)
{
	const struct random_model *m = o->m;
	uint32_t row = 0;

	for (uint32_t es = 0; es < m->model.es_count; es++) {
		clew_time drag = m->es[es].end - m->es[es].start;

		if (!o->eligible[es])
			continue;
		assert_true(row < slack->count);
		assert_int_equal(slack->rows[row].es, es);
		assert_int_equal(slack->rows[row].earliest_start, o->earliest[es]);
		assert_int_equal(slack->rows[row].latest_finish, o->latest[es]);
		for (uint32_t a = 0; a < m->model.es_count; a++) {
			clew_time of =
				o->latest[a] - o->earliest[a] - (m->es[a].end - m->es[a].start);

			if (a != es && o->eligible[a] && o->earliest[a] < m->es[es].end &&
			    o->latest[a] > m->es[es].start && of < drag)
				drag = of;
		}
		assert_int_equal(slack->rows[row].drag, drag);
		row++;
	}
	assert_int_equal(row, slack->count);
}

static void test_definitions(void **state)
{
	static const struct random_shape shape = {
		.spans = 6, .es = 7, .gaps = true, .backwards = true, .several = true};
	static struct random_model m;
	static struct oracle o = {.m = &m};
	unsigned between = 0;

	(void)state;
	m.seed = 20061;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_slack slack = {};
		uint32_t from, to;
		bool back[MOST_ES] = {false}, on[MOST_ES] = {false};
		int r;

		random_model(&m, &shape);
		for (uint32_t es = 0; es < m.model.es_count; es++)
			o.eligible[es] = true;
		solve(&o);
		assert_int_equal(clew_slack_find(&m.model, NULL, NULL, &slack), 0);
		check(&o, &slack);
		clew_slack_done(&slack);

		from = pick(&m, m.model.es_count);
		to = pick(&m, m.model.es_count);
		spread(&m, to, true, back);
		spread(&m, from, false, on);
		r = clew_slack_find(&m.model, &(struct clew_position){from, m.es[from].start},
				    &(struct clew_position){to, m.es[to].end}, &slack);
		assert_int_equal(r, back[from] ? 0 : -ENOENT);
		if (r < 0)
			continue;
		between++;
		for (uint32_t es = 0; es < m.model.es_count; es++)
			o.eligible[es] = back[es] && on[es];
		solve(&o);
		check(&o, &slack);
		clew_slack_done(&slack);
	}
	assert_true(between > 1000);
}

/* ---- taking an ES away ---- */

enum { SPANS = 5, LONGEST = 6 };

struct plan {
	unsigned count; /* ESs, in the order they were thought up: an edge leads to a later one */
	uint32_t span[SPANS * LONGEST], place[SPANS * LONGEST];
	clew_time length[SPANS * LONGEST];
	bool before[SPANS * LONGEST][SPANS * LONGEST]; /* [b][a]: b waits for a */
};

static clew_time simulate(const struct plan *plan, unsigned without, clew_time *starts)
{
	clew_time whole = 0;

	for (unsigned b = 0; b < plan->count; b++) {
		starts[b] = 0;
		for (unsigned a = 0; a < b; a++) {
			clew_time end = starts[a] + (a == without ? 0 : plan->length[a]);

			if (plan->before[b][a] && end > starts[b])
				starts[b] = end;
		}
		if (starts[b] + (b == without ? 0 : plan->length[b]) > whole)
			whole = starts[b] + (b == without ? 0 : plan->length[b]);
	}
	return whole;
}

/* A trace in which everything starts as soon as it can. `number`: the ES of each of the plan. */
static void plan_trace(struct random_model *m, struct plan *plan, uint32_t *number)
{
	static const unsigned NOBODY = UINT32_MAX;
	clew_time starts[SPANS * LONGEST];
	uint32_t lengths[SPANS] = {0}, firsts[SPANS];
	uint64_t seed = m->seed;
	unsigned spans;

	memset(m, 0, sizeof(*m));
	memset(plan, 0, sizeof(*plan));
	m->seed = seed;
	spans = 1 + pick(m, SPANS);
	plan->count = 1 + pick(m, spans * LONGEST);
	for (unsigned i = 0; i < plan->count; i++) {
		do
			plan->span[i] = i < spans ? i : pick(m, spans);
		while (lengths[plan->span[i]] == LONGEST);
		plan->place[i] = lengths[plan->span[i]]++;
		plan->length[i] = pick(m, 4) ? 1 + pick(m, 9) : 0;
	}
	if (plan->count < spans)
		spans = plan->count;
	for (unsigned s = 0; s < spans; s++) {
		firsts[s] = m->model.es_count;
		m->spans[s] = (struct clew_span){.parent = CLEW_NONE,
						 .elementary = {firsts[s], lengths[s]}};
		m->model.es_count += lengths[s];
	}
	for (unsigned i = 0; i < plan->count; i++) {
		number[i] = firsts[plan->span[i]] + plan->place[i];
		m->es[number[i]] = (struct clew_es){.span = plan->span[i],
						    .in = CLEW_NONE,
						    .out = CLEW_NONE,
						    .wait = CLEW_NONE};
		for (unsigned a = 0; a < i; a++)
			plan->before[i][a] = plan->span[a] == plan->span[i] &&
					     plan->place[a] + 1 == plan->place[i];
	}
	for (unsigned b = 1; b < plan->count; b++) {
		uint32_t edge_number = m->model.dependency_count;
		struct clew_dependency *d = &m->dependencies[edge_number];
		unsigned origins = pick(m, 2) ? 1 + pick(m, 3) : 0;

		*d = (struct clew_dependency){.origins.first = m->model.origin_count,
					      .mode = CLEW_MODE_AND};
		for (; origins; origins--) {
			unsigned a = pick(m, b);

			if (m->es[number[a]].out != CLEW_NONE)
				continue;
			plan->before[b][a] = true;
			m->es[number[a]].out = edge_number;
			m->origins[m->model.origin_count++] = number[a];
			d->origins.count++;
		}
		if (!d->origins.count)
			continue;
		d->destinations = (struct clew_range){m->model.destination_count, 1};
		m->destinations[m->model.destination_count++] = number[b];
		m->es[number[b]].in = edge_number;
		m->model.dependency_count++;
	}
	simulate(plan, NOBODY, starts);
	for (unsigned i = 0; i < plan->count; i++) {
		m->es[number[i]].start = starts[i];
		m->es[number[i]].end = starts[i] + plan->length[i];
	}
	m->model.es = m->es;
	m->model.spans = m->spans;
	m->model.dependencies = m->dependencies;
	m->model.origins = m->origins;
	m->model.destinations = m->destinations;
	m->model.span_count = spans;
	/* The triggering origin is the latest. */
	for (uint32_t i = 0; i < m->model.dependency_count; i++) {
		uint32_t *origins = &m->origins[m->dependencies[i].origins.first];

		for (uint32_t j = 1; j < m->dependencies[i].origins.count; j++) {
			if (m->es[origins[j]].end > m->es[origins[0]].end) {
				uint32_t swap = origins[0];

				origins[0] = origins[j];
				origins[j] = swap;
			}
		}
	}
}

static void test_removal(void **state)
{
	static struct random_model m;
	static struct plan plan;
	unsigned critical = 0, gained = 0;

	(void)state;
	m.seed = 777;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t number[SPANS * LONGEST];
		clew_time starts[SPANS * LONGEST], whole;
		struct clew_slack slack;

		plan_trace(&m, &plan, number);
		whole = simulate(&plan, UINT32_MAX, starts);
		assert_int_equal(clew_slack_find(&m.model, NULL, NULL, &slack), 0);
		assert_int_equal(slack.count, plan.count);
		for (unsigned i = 0; i < plan.count; i++) {
			const struct clew_slack_row *row = &slack.rows[number[i]];

			assert_int_equal(row->earliest_start, m.es[number[i]].start);
			assert_true(clew_slack_of(&m.model, row) >= 0);
			if (clew_slack_of(&m.model, row))
				continue;
			critical++;
			gained += row->drag > 0;
			assert_int_equal(row->drag, whole - simulate(&plan, i, starts));
		}
		clew_slack_done(&slack);
	}
	assert_true(critical > 10000 && gained > 5000);
}

/* ---- many ESs: the drags alone, from the slacks that were found ---- */

enum { WIDTH = 30, EACH = 90 };

static void test_many(void **state)
{
	static struct clew_es es[WIDTH * EACH];
	static struct clew_dependency dependencies[WIDTH * EACH];
	static uint32_t origins[WIDTH * EACH], destinations[WIDTH * EACH];
	static struct random_model m;
	struct clew_span spans[WIDTH];

	(void)state;
	m.seed = 4711;
	for (unsigned round = 0; round < 8; round++) {
		struct clew_model model = {
			.es = es, .spans = spans, .dependencies = dependencies, .origins = origins};
		struct clew_slack slack;
		uint32_t edges = 0;

		model.destinations = destinations;
		model.span_count = WIDTH;
		model.es_count = WIDTH * EACH;
		for (uint32_t i = 0; i < WIDTH * EACH; i++) {
			clew_time at = i % EACH ? es[i - 1].end : (clew_time)pick(&m, 100);

			if (i % EACH == 0)
				spans[i / EACH] = (struct clew_span){
					.start = at, .parent = CLEW_NONE, .elementary = {i, EACH}};
			at += pick(&m, 3) ? 0 : pick(&m, round % 2 ? 40 : 3);
			es[i] = (struct clew_es){.start = at,
						 .span = i / EACH,
						 .in = CLEW_NONE,
						 .out = CLEW_NONE,
						 .wait = CLEW_NONE};
			es[i].end = at + (pick(&m, 5) ? pick(&m, 20) : pick(&m, 300));
		}
		for (uint32_t i = 0; i < WIDTH * EACH; i++) {
			uint32_t a = pick(&m, WIDTH * EACH), b = pick(&m, WIDTH * EACH);

			if (es[a].out != CLEW_NONE || es[b].in != CLEW_NONE ||
			    es[a].end > es[b].start || es[b].start - es[a].end > 50)
				continue;
			dependencies[edges] = (struct clew_dependency){.origins = {edges, 1},
								       .destinations = {edges, 1}};
			origins[edges] = a;
			destinations[edges] = b;
			es[a].out = es[b].in = edges++;
		}
		model.dependency_count = model.origin_count = model.destination_count = edges;
		assert_int_equal(clew_slack_find(&model, NULL, NULL, &slack), 0);
		for (uint32_t x = 0; x < slack.count; x++) {
			clew_time drag = es[x].end - es[x].start;

			for (uint32_t a = 0; a < slack.count; a++) {
				const struct clew_slack_row *row = &slack.rows[a];

				if (a != x && row->earliest_start < es[x].end &&
				    row->latest_finish > es[x].start &&
				    clew_slack_of(&model, row) < drag)
					drag = clew_slack_of(&model, row);
			}
			assert_int_equal(slack.rows[x].drag, drag);
		}
		clew_slack_done(&slack);
	}
}

static void test_arguments(void **state)
{
	static const struct random_shape shape = {.spans = 2, .es = 3};
	static struct random_model m;
	struct clew_position position = {0, 0};
	struct clew_slack slack = {};

	(void)state;
	m.seed = 5;
	random_model(&m, &shape);
	assert_int_equal(clew_slack_find(&m.model, &position, NULL, &slack), -EINVAL);
	position.es = m.model.es_count;
	assert_int_equal(clew_slack_find(&m.model, &position, &position, &slack), -EINVAL);
	assert_null(slack.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_removal),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

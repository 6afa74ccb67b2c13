/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths of small random traces against oracles that try everything: every simple
 * path for most and least work and for the order of further paths, a plain recursion
 * for the greedy strategies, every order of ESs for the temporal one.
 */
#include <clew/path.h>
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

#include "random_model.h"

enum { ROUNDS = 20000, MOST_PATHS = 3000, MOST_LENGTH = MOST_ES };

struct oracle {
	struct random_model *m;
	bool all_origins;
	uint32_t from, to;
	bool on[MOST_ES];
	uint32_t path[MOST_LENGTH];
	unsigned length;
	clew_time works[MOST_PATHS];
	unsigned paths; /* MOST_PATHS: too many */
	bool cycle; /* more than one ES without length at one moment was on the way back to itself
		     */
};

static bool edge(const struct oracle *o, uint32_t a, uint32_t b)
{
	const struct random_model *m = o->m;
	const struct clew_dependency *d;

	if (b == a + 1 && m->es[a].span == m->es[b].span)
		return true;
	if (m->es[b].in == CLEW_NONE || m->es[b].in != m->es[a].out ||
	    m->es[a].end > m->es[b].start)
		return false;
	d = &m->dependencies[m->es[b].in];
	return o->all_origins || m->origins[d->origins.first] == a;
}

/* All simple paths, from the end back. */
static void enumerate(struct oracle *o, uint32_t es, clew_time work)
{
	work += o->m->es[es].end - o->m->es[es].start;
	if (o->on[es]) {
		o->cycle = true;
		return;
	}
	if (o->paths == MOST_PATHS)
		return;
	if (es == o->from) {
		o->works[o->paths++] = work;
		return;
	}
	o->on[es] = true;
	for (uint32_t before = 0; before < o->m->model.es_count; before++)
		if (edge(o, before, es))
			enumerate(o, before, work);
	o->on[es] = false;
}

static int descending(const void *a, const void *b)
{
	clew_time x = *(const clew_time *)a, y = *(const clew_time *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void check_path(const struct oracle *o, const struct clew_path *path, bool causal)
{
	const struct random_model *m = o->m;
	struct clew_path_segment *segments;
	clew_time work = 0, at = path->start, running = 0, within = 0;
	size_t count;

	assert_true(path->count > 0);
	assert_int_equal(path->es[0], o->from);
	assert_int_equal(path->es[path->count - 1], o->to);
	for (uint32_t i = 0; i < path->count; i++) {
		const struct clew_es *es = &m->es[path->es[i]];
		clew_time start = es->start > path->start ? es->start : path->start,
			  end = es->end < path->end ? es->end : path->end;

		work += es->end - es->start;
		within += end > start ? end - start : 0;
		if (i) {
			assert_true(m->es[path->es[i - 1]].end <= es->start);
			assert_true(!causal || edge(o, path->es[i - 1], path->es[i]));
		}
	}
	assert_int_equal(work, path->work);
	assert_int_equal(clew_path_segments(&m->model, path, &segments, &count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(segments[i].start, at);
		assert_true(segments[i].end > at);
		assert_true(segments[i].kind < CLEW_SEGMENT_KIND_COUNT);
		at = segments[i].end;
		if (segments[i].on_path)
			running += segments[i].end - segments[i].start;
		if (segments[i].kind == CLEW_SEGMENT_RUNNING)
			assert_true(m->es[segments[i].es].start <= segments[i].start &&
				    segments[i].end <= m->es[segments[i].es].end);
	}
	assert_int_equal(at, path->end);
	assert_int_equal(running, within);
	free(segments);
}

static void check_distinct(const struct clew_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		for (size_t j = 0; j < i; j++)
			assert_false(paths->paths[i].count == paths->paths[j].count &&
				     !memcmp(paths->paths[i].es, paths->paths[j].es,
					     sizeof(uint32_t) * paths->paths[i].count));
}

static int find(const struct oracle *o, struct clew_path_finder *finder,
		enum clew_strategy strategy, uint32_t top, struct clew_paths *paths)
{
	const struct clew_position from = {.es = o->from, .at = o->m->es[o->from].end};
	const struct clew_position to = {
		.es = o->to, .at = o->from == o->to ? o->m->es[o->to].end : o->m->es[o->to].start};
	const struct clew_path_options options = {
		.strategy = strategy, .all_origins = o->all_origins, .top = top};

	return clew_path_find(finder, &from, &to, &options, paths);
}

static bool choose(struct oracle *o)
{
	struct random_model *m = o->m;

	o->all_origins = pick(m, 3) == 0;
	o->from = pick(m, m->model.es_count);
	o->to = pick(m, m->model.es_count);
	o->paths = 0;
	o->cycle = false;
	memset(o->on, 0, sizeof(o->on));
	return m->es[o->from].end <= m->es[o->to].start || o->from == o->to;
}

static const struct random_shape SHAPE = {
	.spans = 4, .es = 5, .gaps = true, .backwards = true, .several = true};

static void test_work(void **state)
{
	static struct random_model m;
	static struct oracle o = {.m = &m};
	unsigned found = 0, cycles = 0;

	(void)state;
	m.seed = 88172645463325252u;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_path_finder *finder;

		random_model(&m, &SHAPE);
		assert_int_equal(clew_path_finder_new(&m.model, &finder), 0);
		for (unsigned i = 0; i < 3; i++) {
			struct clew_paths one = {}, top = {};
			int most, least;

			if (!choose(&o))
				continue;
			enumerate(&o, o.to, 0);
			if (o.paths == MOST_PATHS)
				continue;
			qsort(o.works, o.paths, sizeof(o.works[0]), descending);
			most = find(&o, finder, CLEW_STRATEGY_MOST_WORK, 1, &one);
			assert_int_equal(most, o.paths ? 0 : -ENOENT);
			if (most < 0) {
				assert_int_equal(
					find(&o, finder, CLEW_STRATEGY_LEAST_WORK, 9, &top),
					-ENOENT);
				continue;
			}
			found++;
			cycles += o.cycle;
			check_path(&o, &one.paths[0], true);
			assert_int_equal(one.paths[0].work, o.works[0]);
			assert_int_equal(find(&o, finder, CLEW_STRATEGY_MOST_WORK, 12, &top), 0);
			assert_memory_equal(top.paths[0].es, one.paths[0].es,
					    sizeof(uint32_t) * one.paths[0].count);
			check_distinct(&top);
			if (!o.cycle)
				assert_int_equal(top.count, o.paths < 12 ? o.paths : 12);
			for (size_t j = 0; j < top.count; j++) {
				check_path(&o, &top.paths[j], true);
				if (!o.cycle)
					assert_int_equal(top.paths[j].work, o.works[j]);
			}
			clew_paths_done(&one);
			clew_paths_done(&top);

			least = find(&o, finder, CLEW_STRATEGY_LEAST_WORK, 5, &top);
			assert_int_equal(least, 0);
			for (size_t j = 0; j < top.count; j++) {
				check_path(&o, &top.paths[j], true);
				if (!o.cycle || j == 0)
					assert_int_equal(top.paths[j].work,
							 o.works[o.paths - 1 - j]);
			}
			clew_paths_done(&top);
		}
		clew_path_finder_free(finder);
	}
	assert_true(found > 5000);
	assert_true(cycles > 100);
}

/* ---- greedy ---- */

static unsigned preferred(const struct oracle *o, uint32_t es, enum clew_strategy strategy,
			  uint32_t ret[2])
{
	const struct random_model *m = o->m;
	uint32_t p = CLEW_NONE, k = CLEW_NONE;
	bool k_first;

	if (es && m->es[es - 1].span == m->es[es].span)
		p = es - 1;
	if (m->es[es].in != CLEW_NONE) {
		const struct clew_dependency *d = &m->dependencies[m->es[es].in];

		for (uint32_t i = 0; i < (o->all_origins     ? d->origins.count
					  : d->origins.count ? 1
							     : 0);
		     i++) {
			uint32_t origin = m->origins[d->origins.first + i];

			if (m->es[origin].end > m->es[es].start)
				continue;
			if (k == CLEW_NONE ||
			    (strategy == CLEW_STRATEGY_LEAST_PROX &&
			     m->es[origin].end < m->es[k].end) ||
			    (strategy != CLEW_STRATEGY_LEAST_PROX &&
			     m->es[origin].end >= m->es[k].end))
				k = origin;
		}
	}
	if (p == CLEW_NONE || k == CLEW_NONE) {
		ret[0] = p == CLEW_NONE ? k : p;
		return ret[0] != CLEW_NONE;
	}
	k_first = strategy == CLEW_STRATEGY_CAUSAL ||
		  (strategy == CLEW_STRATEGY_MOST_PROX && m->es[k].end >= m->es[p].end) ||
		  (strategy == CLEW_STRATEGY_LEAST_PROX && m->es[k].end < m->es[p].end);
	ret[0] = k_first ? k : p;
	ret[1] = k_first ? p : k;
	return 2;
}

/* Depth first with a set of what was visited. The path is in o->path, the end first. */
static bool recurse(struct oracle *o, uint32_t es, enum clew_strategy strategy)
{
	uint32_t from[2];
	unsigned count;

	if (o->on[es])
		return false;
	o->on[es] = true;
	o->path[o->length++] = es;
	if (es == o->from)
		return true;
	count = preferred(o, es, strategy, from);
	for (unsigned i = 0; i < count; i++)
		if (recurse(o, from[i], strategy))
			return true;
	o->length--;
	return false;
}

static void test_greedy(void **state)
{
	static const enum clew_strategy strategies[] = {
		CLEW_STRATEGY_CAUSAL, CLEW_STRATEGY_PREDECESSOR, CLEW_STRATEGY_MOST_PROX,
		CLEW_STRATEGY_LEAST_PROX};
	static struct random_model m;
	static struct oracle o = {.m = &m};
	unsigned found = 0;

	(void)state;
	m.seed = 1234567;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_path_finder *finder;

		random_model(&m, &SHAPE);
		assert_int_equal(clew_path_finder_new(&m.model, &finder), 0);
		for (unsigned i = 0; i < 4; i++) {
			struct clew_paths one = {}, top = {};
			bool any;

			if (!choose(&o))
				continue;
			o.length = 0;
			any = recurse(&o, o.to, strategies[i]);
			assert_int_equal(find(&o, finder, strategies[i], 1, &one),
					 any ? 0 : -ENOENT);
			assert_int_equal(find(&o, finder, strategies[i], 9, &top),
					 any ? 0 : -ENOENT);
			if (!any)
				continue;
			found++;
			check_path(&o, &one.paths[0], true);
			assert_int_equal(one.paths[0].count, o.length);
			for (unsigned j = 0; j < o.length; j++)
				assert_int_equal(one.paths[0].es[o.length - 1 - j], o.path[j]);
			check_distinct(&top);
			for (size_t j = 0; j < top.count; j++)
				check_path(&o, &top.paths[j], true);
			clew_paths_done(&one);
			clew_paths_done(&top);
		}
		clew_path_finder_free(finder);
	}
	assert_true(found > 5000);
}

/* ---- temporal ---- */

/* The most work of a chain from this ES to the end. */
static clew_time longest(const struct oracle *o, uint32_t es, clew_time *known)
{
	const struct random_model *m = o->m;
	clew_time most = m->es[o->to].end - m->es[o->to].start;

	if (known[es] >= 0)
		return known[es];
	for (uint32_t next = 0; next < m->model.es_count; next++)
		if (m->es[next].end > m->es[next].start && m->es[next].start >= m->es[es].end &&
		    m->es[next].end <= m->es[o->to].start) {
			clew_time work = longest(o, next, known);

			most = work > most ? work : most;
		}
	return known[es] = most + m->es[es].end - m->es[es].start;
}

static void test_temporal(void **state)
{
	static struct random_model m;
	static struct oracle o = {.m = &m};

	(void)state;
	m.seed = 987654321;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_path_finder *finder;
		struct clew_paths one = {}, top = {};
		clew_time known[MOST_ES];

		random_model(&m, &SHAPE);
		assert_int_equal(clew_path_finder_new(&m.model, &finder), 0);
		memset(known, -1, sizeof(known));
		if (choose(&o) && o.from != o.to) {
			assert_int_equal(
				find(&o, finder, CLEW_STRATEGY_TEMPORAL_MOST_WORK, 1, &one), 0);
			check_path(&o, &one.paths[0], false);
			assert_int_equal(one.paths[0].work, longest(&o, o.from, known));
			assert_int_equal(
				find(&o, finder, CLEW_STRATEGY_TEMPORAL_MOST_WORK, 9, &top), 0);
			assert_int_equal(top.paths[0].work, one.paths[0].work);
			check_distinct(&top);
			for (size_t j = 0; j < top.count; j++) {
				check_path(&o, &top.paths[j], false);
				assert_true(!j || top.paths[j].work <= top.paths[j - 1].work);
			}
		}
		clew_paths_done(&one);
		clew_paths_done(&top);
		clew_path_finder_free(finder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_greedy),
		cmocka_unit_test(test_temporal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

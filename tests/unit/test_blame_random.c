/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blame on small random traces against counting, moment by moment, who waited and
 * who ran.
 */
#include <clew/blame.h>
#include <clew/tokens.h>
#include <stdlib.h>

#include "random_model.h"

enum { ROUNDS = 15000, LAST = 200 };

/* From when an ES waits: the definition. */
static clew_time waits_from(const struct random_model *m, uint32_t es, clew_time begin)
{
	clew_time from = begin;

	if (es && m->es[es - 1].span == m->es[es].span)
		from = m->es[es - 1].end;
	if (m->es[es].in != CLEW_NONE) {
		const struct clew_dependency *d = &m->dependencies[m->es[es].in];

		if (d->origins.count) {
			clew_time end = m->es[m->origins[d->origins.first]].end;

			if (end <= m->es[es].start && end > from)
				from = end;
		}
	}
	return from;
}

/* Counts the moments from `from` on and before `to`. */
static void count_moments(const struct random_model *m, clew_time begin, clew_time from,
			  clew_time to, clew_time sums[MOST_SPANS][MOST_SPANS])
{
	for (clew_time at = from > begin ? from : begin; at < to; at++) {
		bool waits[MOST_SPANS] = {false}, runs[MOST_SPANS] = {false};

		for (uint32_t es = 0; es < m->model.es_count; es++) {
			if (waits_from(m, es, begin) <= at && at < m->es[es].start)
				waits[m->es[es].span] = true;
			if (m->es[es].start <= at && at < m->es[es].end)
				runs[m->es[es].span] = true;
		}
		for (uint32_t v = 0; v < m->model.span_count; v++)
			for (uint32_t a = 0; a < m->model.span_count; a++)
				sums[v][a] += waits[v] && runs[a];
	}
}

static void test_running(void **state)
{
	static const struct random_shape shape = {
		.spans = 7, .es = 6, .gaps = true, .backwards = true, .several = true};
	static struct random_model m;
	unsigned found = 0;

	(void)state;
	m.seed = 31337;
	for (unsigned round = 0; round < ROUNDS; round++) {
		clew_time sums[MOST_SPANS][MOST_SPANS] = {{0}}, begin = INT64_MAX;
		uint32_t victims[MOST_SPANS], antagonists[MOST_SPANS];
		struct clew_blame_options options = {
			.all_running = true, .victims = victims, .antagonists = antagonists};
		bool victim[MOST_SPANS] = {false}, antagonist[MOST_SPANS] = {false};
		struct clew_blame_pair *pairs;
		size_t count, expected = 0;

		random_model(&m, &shape);
		for (uint32_t span = 0; span < m.model.span_count; span++) {
			begin = m.spans[span].start < begin ? m.spans[span].start : begin;
			if (pick(&m, 4)) {
				victims[options.victim_count++] = span;
				victim[span] = true;
			}
			if (pick(&m, 4)) {
				antagonists[options.antagonist_count++] = span;
				antagonist[span] = true;
			}
		}
		if (pick(&m, 2)) {
			options.from = pick(&m, LAST / 2);
			options.to = options.from + 1 + pick(&m, LAST / 2);
		}
		count_moments(&m, begin, options.from, options.to ?: LAST, sums);
		for (uint32_t v = 0; v < m.model.span_count; v++)
			for (uint32_t a = 0; a < m.model.span_count; a++)
				expected += victim[v] && antagonist[a] && v != a && sums[v][a];
		assert_int_equal(clew_blame_find(&m.model, &options, &pairs, &count), 0);
		assert_int_equal(count, expected);
		for (size_t i = 0; i < count; i++) {
			assert_true(victim[pairs[i].victim] && antagonist[pairs[i].antagonist]);
			assert_int_equal(pairs[i].ns, sums[pairs[i].victim][pairs[i].antagonist]);
			assert_int_equal(pairs[i].kind, CLEW_WAIT_UNKNOWN);
			assert_true(!i || pairs[i - 1].ns >= pairs[i].ns);
		}
		found += count > 0;
		free(pairs);
	}
	assert_true(found > 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

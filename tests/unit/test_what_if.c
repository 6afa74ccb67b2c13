/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests what-if on small random traces: programs that change nothing leave the trace as it
 * is, whatever it is; times are those of a naive simulator that applies the rules over and
 * over until nothing is unknown, in order of time or not; gates let so many in and nobody waits
 * beside a free slot. And lengths, against arithmetic done otherwise.
 */
#include "analyse/whatif/internal.h"
#include <clew/model_make.h>
#include <clew/what_if.h>
#include <stdio.h>

#include "random_model.h"

enum { ROUNDS = 30000, ENOUGH = 10000 };

static const struct random_shape shape = {
	.spans = 6, .es = 7, .gaps = true, .backwards = true, .several = true};

/* Root spans s0 .. s7 and the type send: what random traces take their names from. */
static struct clew_model *names(void)
{
	struct clew_maker *maker = random_names();
	struct clew_model *model;

	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

static struct clew_model *random_trace(struct random_model *m, const struct clew_model *like)
{
	struct clew_model arrays, *model;

	random_model(m, &shape);
	for (uint32_t i = 0; i < m->model.span_count; i++)
		m->spans[i].name = like->spans[i].name;
	arrays = m->model;
	assert_int_equal(clew_model_from_arrays(like, &arrays, &model), 0);
	return model;
}

static struct clew_program *program_of(const char *text)
{
	struct clew_program *program;
	struct clew_query_error error;
	int r = clew_program_compile(text, strlen(text), false, &program, &error);

	if (r < 0)
		print_error("%s: byte %zu: %s\n", text, error.offset, error.message);
	assert_int_equal(r, 0);
	return program;
}

static void assert_same(const struct clew_model *a, const struct clew_model *b)
{
	assert_int_equal(a->es_count, b->es_count);
	assert_int_equal(a->span_count, b->span_count);
	assert_int_equal(a->dependency_count, b->dependency_count);
	assert_int_equal(a->origin_count, b->origin_count);
	assert_int_equal(a->destination_count, b->destination_count);
	assert_memory_equal(a->es, b->es, a->es_count * sizeof(*a->es));
	assert_memory_equal(a->spans, b->spans, a->span_count * sizeof(*a->spans));
	for (uint32_t i = 0; i < a->dependency_count; i++)
		assert_memory_equal(&a->dependencies[i], &b->dependencies[i],
				    sizeof(a->dependencies[i]));
	for (uint32_t i = 0; i < a->origin_count; i++)
		assert_int_equal(a->origins[i], b->origins[i]);
	for (uint32_t i = 0; i < a->destination_count; i++)
		assert_int_equal(a->destinations[i], b->destinations[i]);
}

/* ---- the naive simulator ---- */

struct naive {
	const struct clew_model *model;
	clew_time start[MOST_ES], end[MOST_ES];
	bool known[MOST_ES];
	/* The changes: the lengths of span 0 by a factor, delays by another, gaps of span 1 go. */
	int64_t length_half, delay_half;
	bool drops;
};

/* When a dependency's cause happened now. False: that is not known yet. */
static bool cause(const struct naive *n, const struct clew_dependency *d, clew_time *ret_at)
{
	for (uint32_t i = 0; i < d->origins.count; i++) {
		uint32_t es = n->model->origins[d->origins.first + i];

		if (!n->known[es])
			return false;
		if (i == 0 ||
		    (d->mode == CLEW_MODE_AND ? n->end[es] > *ret_at
					      : d->mode == CLEW_MODE_OR && n->end[es] < *ret_at))
			*ret_at = n->end[es];
	}
	return true;
}

static bool try_es(struct naive *n, uint32_t number)
{
	const struct clew_model *model = n->model;
	const struct clew_es *es = &model->es[number];
	const struct clew_dependency *d = es->in == CLEW_NONE ? NULL : &model->dependencies[es->in];
	bool first = clew_model_is_first(model, number);
	clew_time length = es->end - es->start, at = es->start, arrival = 0, delay;

	if (d &&
	    (d->origins.count == 0 || model->es[model->origins[d->origins.first]].end > es->start))
		d = NULL;
	if (!first) {
		if (!n->known[number - 1])
			return false;
		at = n->end[number - 1];
		if (!d && !(n->drops && es->span == 1))
			at += es->start - es[-1].end;
	}
	if (d) {
		if (!cause(n, d, &arrival))
			return false;
		delay = es->start - model->es[model->origins[d->origins.first]].end;
		arrival += delay * n->delay_half / 2;
		at = first || arrival > at ? arrival : at;
	}
	n->start[number] = at;
	n->end[number] = at + (es->span == 0 ? length * n->length_half / 2 : length);
	n->known[number] = true;
	return true;
}

static bool solve(struct naive *n)
{
	uint32_t known = 0, before;

	do {
		before = known;
		for (uint32_t es = 0; es < n->model->es_count; es++)
			known += !n->known[es] && try_es(n, es);
	} while (known > before);
	return known == n->model->es_count;
}

static void test_identity(void **state)
{
	static const char *const texts[] = {
		"",
		"scale spans(**) by 1; scale dependencies(all) from spans(**) to spans(**) by 1; "
		"scale waits spans(**) by 1;",
		"change spans(**) by duration(0ns); cap spans(**) above duration(1h); apply "
		"concurrency(100) to spans(**);",
	};
	static struct random_model m = {.seed = 4711};
	static struct naive n;
	struct clew_model *like = names();

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct clew_program *program = program_of(texts[i]);
		unsigned compared = 0;

		for (unsigned round = 0; round < ROUNDS; round++) {
			struct clew_model *model = random_trace(&m, like), *after;
			struct clew_query_error error;
			struct clew_what_if result;

			assert_int_equal(
				clew_what_if(model, program, NULL, &after, &result, &error), 0);
			/* An ES that waits for itself or for any other one waits for the other
			 * one, once it runs again. */
			n = (struct naive){.model = model, .length_half = 2, .delay_half = 2};
			if (i == 0 || solve(&n)) {
				compared++;
				assert_same(model, after);
				assert_int_equal(result.before_end, result.after_end);
			}
			clew_model_free(after);
			clew_model_free(model);
		}
		clew_program_free(program);
		assert_true(compared >= ENOUGH);
	}
	clew_model_free(like);
}

static void test_naive(void **state)
{
	struct clew_what_if_time times[MOST_ES];
	const struct clew_what_if_options options = {.hierarchy = CLEW_NONE, .times = times};
	static struct random_model m = {.seed = 1234567};
	static struct naive n;
	struct clew_model *like = names();
	unsigned compared = 0, merged = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_model *model = random_trace(&m, like), *after;
		struct clew_query_error error;
		struct clew_what_if result;
		struct clew_program *program;
		char text[256];
		int used;

		n = (struct naive){.model = model,
				   .length_half = pick(&m, 6),
				   .delay_half = pick(&m, 6),
				   .drops = pick(&m, 4) == 0};
		used = snprintf(text, sizeof(text), "scale spans(s0) by %d.%d; %s",
				(int)n.length_half / 2, n.length_half % 2 ? 5 : 0,
				n.drops ? "drop waits spans(s1);" : "");
		if (n.delay_half != 2 || pick(&m, 2))
			used += snprintf(
				text + used, sizeof(text) - (size_t)used,
				"scale dependencies(*) from spans(**) to spans(**) by %d.%d;",
				(int)n.delay_half / 2, n.delay_half % 2 ? 5 : 0);
		assert_true(used < (int)sizeof(text));
		program = program_of(text);
		assert_int_equal(clew_what_if(model, program, &options, &after, &result, &error),
				 0);
		if (solve(&n)) {
			compared++;
			for (uint32_t i = 0; i < model->es_count; i++) {
				assert_int_equal(times[i].start, n.start[i]);
				assert_int_equal(times[i].end, n.end[i]);
			}
			merged += after->es_count < model->es_count;
			for (uint32_t i = 0; i < model->span_count; i++) {
				struct clew_range range = model->spans[i].elementary;

				assert_int_equal(after->spans[i].start, n.start[range.first]);
				assert_int_equal(after->spans[i].end,
						 n.end[range.first + range.count - 1]);
			}
			for (uint32_t i = 0;
			     i < model->es_count && after->es_count == model->es_count; i++) {
				assert_int_equal(after->es[i].start, n.start[i]);
				assert_int_equal(after->es[i].end, n.end[i]);
			}
		}
		clew_program_free(program);
		clew_model_free(after);
		clew_model_free(model);
	}
	assert_true(compared >= ENOUGH && merged > 0);
	clew_model_free(like);
}

/* Where nobody competes, times are found without going through them in order; a statement that
 * changes nothing makes it go. */
static void test_two_ways(void **state)
{
	static const char *const texts[] = {
		"scale spans(s0) by .5;",
		"scale spans(s0) by 3; drop waits spans(s1);",
		"start spans(s2) as early as possible; change spans(**) by duration(3ns);",
		"scale waits spans(**) by 1.5;",
	};
	static const char unchanged[] = "scale dependencies(*) from spans(**) to spans(**) by 1;";
	static struct random_model m = {.seed = 777};
	struct clew_model *like = names();
	unsigned backward = 0, changed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct clew_program *programs[2] = {program_of(texts[i])};
		char text[256];

		snprintf(text, sizeof(text), "%s %s", texts[i], unchanged);
		programs[1] = program_of(text);
		for (unsigned round = 0; round < ROUNDS / 3; round++) {
			struct clew_model *model = random_trace(&m, like), *after[2];
			struct clew_query_error error;
			struct clew_what_if results[2];

			for (unsigned way = 0; way < 2; way++)
				assert_int_equal(clew_what_if(model, programs[way], NULL,
							      &after[way], &results[way], &error),
						 0);
			assert_same(after[0], after[1]);
			assert_int_equal(results[0].backward_edges, results[1].backward_edges);
			assert_int_equal(results[0].after_start, results[1].after_start);
			assert_int_equal(results[0].after_end, results[1].after_end);
			backward += results[0].backward_edges > 0;
			changed += results[0].after_end != results[0].before_end;
			for (unsigned way = 0; way < 2; way++)
				clew_model_free(after[way]);
			clew_model_free(model);
		}
		clew_program_free(programs[0]);
		clew_program_free(programs[1]);
	}
	assert_true(backward > 1000 && changed > 1000);
	clew_model_free(like);
}

/* ---- gates ---- */

static unsigned active_at(const struct clew_model *model, clew_time at)
{
	unsigned active = 0;

	for (uint32_t i = 0; i < model->span_count; i++)
		active += model->spans[i].start <= at && model->spans[i].end > at;
	return active;
}

static void test_gates(void **state)
{
	static struct random_model m = {.seed = 99};
	struct clew_model *like = names();
	unsigned waited = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_model *model, *after;
		struct clew_query_error error;
		struct clew_what_if result;
		unsigned limit = 1 + pick(&m, 3);
		struct clew_program *program;
		char text[64];

		random_model(&m, &shape);
		/* Spans that depend on nothing: a gate alone decides when they start. */
		for (uint32_t i = 0; i < m.model.es_count; i++)
			m.es[i].in = m.es[i].out = CLEW_NONE;
		m.model.dependency_count = m.model.origin_count = m.model.destination_count = 0;
		for (uint32_t i = 0; i < m.model.span_count; i++)
			m.spans[i].name = like->spans[i].name;
		assert_int_equal(clew_model_from_arrays(like, &m.model, &model), 0);
		snprintf(text, sizeof(text), "apply concurrency(%u) to spans(**);", limit);
		program = program_of(text);
		assert_int_equal(clew_what_if(model, program, NULL, &after, &result, &error), 0);
		for (uint32_t i = 0; i < after->span_count; i++) {
			const struct clew_span *a = &model->spans[i], *b = &after->spans[i];

			assert_int_equal(b->end - b->start, a->end - a->start);
			assert_true(b->start >= a->start);
			if (b->end > b->start)
				assert_true(active_at(after, b->start) <= limit);
			for (clew_time at = a->start; at < b->start; at++)
				assert_true(active_at(after, at) >= limit);
			waited += b->start > a->start;
			/* An ES that could have started before starts no later. */
			for (uint32_t j = 0; j < after->span_count; j++)
				assert_true(model->spans[j].start >= a->start ||
					    after->spans[j].start <= b->start);
		}
		clew_program_free(program);
		clew_model_free(after);
		clew_model_free(model);
	}
	assert_true(waited > ROUNDS / 10);
	clew_model_free(like);
}

/* ---- arithmetic ---- */

static void test_lengths(void **state)
{
	struct random_model m = {.seed = 5};
	clew_time got;

	(void)state;
	for (unsigned round = 0; round < 100000; round++) {
		clew_time old = 1 + pick(&m, 1000), length = pick(&m, (unsigned)old + 1);
		struct span_rule rule = {.kind = RULE_FACTOR,
					 .old = old,
					 .factor = {pick(&m, 300), 1 + pick(&m, 100)}};
		int64_t numerator;

		rule.delta = (clew_time)pick(&m, 2000) - 1000;
		numerator = length *
			    (rule.factor.numerator * old + rule.delta * rule.factor.denominator);
		if (numerator < 0)
			continue;
		assert_int_equal(whatif_length(&rule, length, 1, &got), 0);
		assert_int_equal(got, numerator / (rule.factor.denominator * old));
	}
	assert_int_equal(whatif_multiply(INT64_MAX, &(struct factor){999999999, 1000000000}, &got),
			 0);
	assert_int_equal(got, INT64_C(9223372027631403770));
	assert_int_equal(whatif_multiply(INT64_MAX, &(struct factor){3, 2}, &got), -EOVERFLOW);
	assert_int_equal(whatif_multiply(-3, &(struct factor){1, 2}, &got), 0);
	assert_int_equal(got, -2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity), cmocka_unit_test(test_naive),
		cmocka_unit_test(test_two_ways), cmocka_unit_test(test_gates),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

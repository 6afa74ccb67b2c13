/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random traces divided in two or three, the clocks of the parts moved, and stitched
 * again: the dependencies are those of the whole, the offsets found hold the true ones
 * and are as tight as bare arithmetic says; of contradictory ones the least wrong.
 */
#include <clew/model_make.h>
#include <clew/stitch.h>
#include <stdio.h>
#include <stdlib.h>

#include "random_model.h"

enum { ROUNDS = 10000, MOST_PARTS = 3 };

/* Root spans s0 .., type send, and attribute list i: call=i. */
static struct clew_model *names(void)
{
	struct clew_maker *maker = random_names();
	struct clew_model *model;
	uint32_t number;

	for (unsigned i = 0; i < MOST_EDGES; i++) {
		char value[8];
		const char *pair[] = {"call", value};

		snprintf(value, sizeof(value), "%u", i);
		assert_int_equal(clew_maker_attributes(maker, pair, 1, &number), 0);
		assert_int_equal(number, i);
	}
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

/* A whole, which part each of its spans is in, and how much later that part's clock is behind. */
struct division {
	struct random_model *m;
	const struct clew_model *like;
	unsigned parts;
	unsigned part_of[MOST_SPANS];
	clew_time true_offset[MOST_PARTS];
};

static unsigned part_of_es(const struct division *d, uint32_t es)
{
	return d->part_of[d->m->es[es].span];
}

/* The spans of one part, with those ends of dependencies that are there. */
static struct clew_model *make_part(const struct division *d, unsigned part)
{
	const struct random_model *m = d->m;
	struct random_model p = {};
	struct clew_model *model;
	uint32_t es_of[MOST_ES];

	p.model = m->model;
	p.model.es_count = p.model.span_count = p.model.dependency_count = p.model.origin_count =
		p.model.destination_count = 0;
	for (uint32_t i = 0; i < m->model.span_count; i++) {
		struct clew_span *span = &p.spans[p.model.span_count];

		if (d->part_of[i] != part)
			continue;
		*span = m->spans[i];
		span->start -= d->true_offset[part];
		span->end -= d->true_offset[part];
		span->elementary.first = p.model.es_count;
		for (uint32_t j = 0; j < span->elementary.count; j++) {
			struct clew_es *es = &p.es[p.model.es_count];
			uint32_t from = m->spans[i].elementary.first + j;

			*es = m->es[from];
			es->start -= d->true_offset[part];
			es->end -= d->true_offset[part];
			es->span = p.model.span_count;
			es->in = es->out = CLEW_NONE;
			es_of[from] = p.model.es_count++;
		}
		p.model.span_count++;
	}
	for (uint32_t i = 0; i < m->model.dependency_count; i++) {
		const struct clew_dependency *from = &m->dependencies[i];
		struct clew_dependency *to = &p.dependencies[p.model.dependency_count];

		*to = (struct clew_dependency){.type = from->type,
					       .mode = from->mode,
					       .attributes = i,
					       .origins = {p.model.origin_count, 0},
					       .destinations = {p.model.destination_count, 0}};
		for (uint32_t j = from->origins.first;
		     j < from->origins.first + from->origins.count; j++) {
			if (part_of_es(d, m->origins[j]) != part)
				continue;
			p.origins[p.model.origin_count] = es_of[m->origins[j]];
			p.es[p.origins[p.model.origin_count++]].out = p.model.dependency_count;
			to->origins.count++;
		}
		for (uint32_t j = from->destinations.first;
		     j < from->destinations.first + from->destinations.count; j++) {
			if (part_of_es(d, m->destinations[j]) != part)
				continue;
			p.destinations[p.model.destination_count] = es_of[m->destinations[j]];
			p.es[p.destinations[p.model.destination_count++]].in =
				p.model.dependency_count;
			to->destinations.count++;
		}
		p.model.dependency_count += to->origins.count + to->destinations.count > 0;
	}
	p.model.es = p.es;
	p.model.spans = p.spans;
	p.model.dependencies = p.dependencies;
	p.model.origins = p.origins;
	p.model.destinations = p.destinations;
	p.model.types = NULL;
	assert_int_equal(clew_model_from_arrays(d->like, &p.model, &model), 0);
	return model;
}

static void divide(struct division *d, unsigned parts, const struct random_shape *shape)
{
	random_model(d->m, shape);
	d->parts = parts;
	for (uint32_t i = 0; i < d->m->model.span_count; i++) {
		d->m->spans[i].name = d->like->spans[i].name;
		d->part_of[i] = pick(d->m, parts);
	}
	for (unsigned i = 1; i < parts; i++)
		d->true_offset[i] = (clew_time)pick(d->m, 200) - 100;
}

/* ---- dependencies ---- */

struct end {
	char name[8];
	clew_time at;
};

static int compare_ends(const void *one, const void *other)
{
	const struct end *a = one, *b = other;
	int order = strcmp(a->name, b->name);

	return order ? order : a->at < b->at ? -1 : a->at > b->at;
}

static uint32_t by_call(const struct clew_model *model, uint32_t call)
{
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const char *value =
			clew_model_attribute(model, model->dependencies[i].attributes, "call");

		if (value && (uint32_t)atoi(value) == call)
			return i;
	}
	return CLEW_NONE;
}

/* The ends of one side, as they are where they are, and as they should be. */
static void check_side(const struct division *d, const struct clew_model *model,
		       const struct clew_stitch_clock *clocks, const struct clew_range *was,
		       const uint32_t *was_es, const struct clew_range *is, const uint32_t *is_es,
		       bool origin)
{
	struct end expected[MOST_ES] = {}, got[MOST_ES] = {};

	assert_int_equal(was->count, is->count);
	for (uint32_t i = 0; i < was->count; i++) {
		const struct clew_es *es = &d->m->es[was_es[was->first + i]];
		unsigned part = d->part_of[es->span];

		snprintf(expected[i].name, sizeof(expected[i].name), "s%u", es->span);
		expected[i].at =
			(origin ? es->end : es->start) - d->true_offset[part] + clocks[part].offset;
		es = &model->es[is_es[is->first + i]];
		snprintf(got[i].name, sizeof(got[i].name), "%s",
			 clew_model_string(model, model->spans[es->span].name));
		got[i].at = origin ? es->end : es->start;
	}
	qsort(expected, was->count, sizeof(*expected), compare_ends);
	qsort(got, was->count, sizeof(*got), compare_ends);
	for (uint32_t i = 0; i < was->count; i++)
		assert_int_equal(compare_ends(&expected[i], &got[i]), 0);
}

static void check_dependencies(const struct division *d, const struct clew_model *model,
			       const struct clew_stitch_clock *clocks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < d->m->model.dependency_count; i++) {
		const struct clew_dependency *was = &d->m->dependencies[i], *is;
		uint32_t number = by_call(model, i);
		unsigned seen = 0;

		/* Without an origin nothing says that its destinations are one's. */
		if (was->mode == CLEW_MODE_SINGLE && was->origins.count == 0 &&
		    was->destinations.count) {
			for (uint32_t j = was->destinations.first;
			     j < was->destinations.first + was->destinations.count; j++)
				seen |= 1u << part_of_es(d, d->m->destinations[j]);
			count += (uint32_t)__builtin_popcount(seen);
			continue;
		}
		if (was->origins.count + was->destinations.count == 0) {
			assert_int_equal(number, CLEW_NONE);
			continue;
		}
		assert_int_not_equal(number, CLEW_NONE);
		count++;
		is = &model->dependencies[number];
		assert_int_equal(was->mode, is->mode);
		check_side(d, model, clocks, &was->origins, d->m->origins, &is->origins,
			   model->origins, true);
		check_side(d, model, clocks, &was->destinations, d->m->destinations,
			   &is->destinations, model->destinations, false);
		for (uint32_t j = is->origins.first; j < is->origins.first + is->origins.count;
		     j++) {
			clew_time at = model->es[model->origins[j]].end,
				  trigger = model->es[model->origins[is->origins.first]].end;

			assert_true(is->mode == CLEW_MODE_OR ? at >= trigger : at <= trigger);
		}
	}
	assert_int_equal(count, model->dependency_count);
}

/* ---- clocks ---- */

/* The bound of each dependency on the difference of two parts' offsets, in order of the arrays. */
struct demand {
	unsigned from, to;
	clew_time least;
};

static size_t demands_of(const struct division *d, struct demand *demands)
{
	const struct random_model *m = d->m;
	size_t count = 0;

	for (uint32_t i = 0; i < m->model.dependency_count; i++) {
		const struct clew_dependency *dependency = &m->dependencies[i];
		bool mixed = false;

		for (uint32_t j = 1; j < dependency->origins.count; j++)
			mixed |= part_of_es(d, m->origins[dependency->origins.first + j]) !=
				 part_of_es(d, m->origins[dependency->origins.first]);
		for (uint32_t j = 0; j < dependency->origins.count; j++) {
			uint32_t origin = m->origins[dependency->origins.first + j];

			/* The first of those where any will do; if they have one clock. */
			if (dependency->mode == CLEW_MODE_OR && (mixed || j > 0))
				continue;
			for (uint32_t k = 0; k < dependency->destinations.count; k++) {
				uint32_t destination =
					m->destinations[dependency->destinations.first + k];
				unsigned from = part_of_es(d, origin),
					 to = part_of_es(d, destination);

				if (from != to)
					demands[count++] = (struct demand){
						from, to,
						m->es[origin].end - d->true_offset[from] -
							m->es[destination].start +
							d->true_offset[to]};
			}
		}
	}
	return count;
}

/* Longest paths by trying again until nothing changes; only of what has a solution. */
static void check_bounds(const struct division *d, const struct demand *demands, size_t count,
			 const struct clew_stitch_clock *clocks)
{
	for (unsigned part = 1; part < d->parts; part++) {
		for (int back = 0; back < 2; back++) {
			clew_time least[MOST_PARTS] = {};
			bool known[MOST_PARTS] = {};
			unsigned begin = back ? part : 0, end = back ? 0 : part;

			known[begin] = true;
			for (unsigned round = 0; round < MOST_PARTS; round++)
				for (size_t i = 0; i < count; i++) {
					const struct demand *demand = &demands[i];
					clew_time sum = least[demand->from] + demand->least;

					if (known[demand->from] &&
					    (!known[demand->to] || sum > least[demand->to])) {
						known[demand->to] = true;
						least[demand->to] = sum;
					}
				}
			assert_int_equal(known[end],
					 back ? clocks[part].has_high : clocks[part].has_low);
			if (known[end])
				assert_int_equal(back ? -least[end] : least[end],
						 back ? clocks[part].high : clocks[part].low);
		}
	}
}

static void check_clocks(const struct division *d, const struct clew_stitch_clock *clocks)
{
	struct demand demands[4 * MOST_ES];
	size_t count = demands_of(d, demands);

	check_bounds(d, demands, count, clocks);
	assert_int_equal(clocks[0].source, CLEW_CLOCK_FIRST);
	for (unsigned i = 1; i < d->parts; i++) {
		const struct clew_stitch_clock *clock = &clocks[i];
		clew_time off = clock->offset - d->true_offset[i];

		assert_true(!clock->has_low ||
			    (clock->low <= d->true_offset[i] && clock->low <= clock->offset));
		assert_true(!clock->has_high ||
			    (clock->high >= d->true_offset[i] && clock->high >= clock->offset));
		switch (clock->source) {
		case CLEW_CLOCK_BETWEEN:
			assert_true(clock->has_low && clock->has_high);
			assert_true((off < 0 ? -off : off) <= (clew_time)clock->error);
			assert_int_equal(clock->error, (clock->high - clock->low + 1) / 2);
			break;
		case CLEW_CLOCK_LEAST:
			assert_true(clock->has_low && !clock->has_high);
			break;
		case CLEW_CLOCK_MOST:
			assert_true(!clock->has_low && clock->has_high);
			break;
		default:
			assert_int_equal(clock->source, CLEW_CLOCK_ASSUMED);
			assert_true(!clock->has_low && !clock->has_high);
		}
	}
	for (size_t i = 0; i < count; i++)
		assert_true(clocks[demands[i].to].offset - clocks[demands[i].from].offset >=
			    demands[i].least);
}

/* ---- tests ---- */

struct stitched {
	struct clew_model *model;
	struct clew_stitch_clock clocks[MOST_PARTS];
	uint64_t backward;
};

static void stitch_again(const struct division *d, const struct clew_stitch_options *options,
			 struct stitched *ret_stitched)
{
	static const char program_text[] = "join dependencies(all) by key(call);";
	struct clew_stitch_result result = {.clocks = ret_stitched->clocks};
	struct clew_model *parts[MOST_PARTS];
	struct clew_stitching *program;
	struct clew_query_error error;

	assert_int_equal(
		clew_stitching_compile(program_text, sizeof(program_text) - 1, &program, &error),
		0);
	for (unsigned i = 0; i < d->parts; i++)
		parts[i] = make_part(d, i);
	assert_int_equal(clew_stitch((const struct clew_model *const *)parts, d->parts, program,
				     options, &ret_stitched->model, &result, &error),
			 0);
	ret_stitched->backward = result.backward;
	for (unsigned i = 0; i < d->parts; i++)
		clew_model_free(parts[i]);
	clew_stitching_free(program);
}

static void test_again(void **state)
{
	static const struct random_shape shape = {
		.spans = 6, .es = 6, .gaps = true, .several = true};
	struct random_model m = {.seed = 0x2545f4914f6cdd1d};
	struct division d = {.m = &m, .like = names()};
	unsigned between = 0, chained = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct stitched stitched;

		divide(&d, 2 + round % 2, &shape);
		stitch_again(&d, NULL, &stitched);
		check_dependencies(&d, stitched.model, stitched.clocks);
		check_clocks(&d, stitched.clocks);
		assert_int_equal(stitched.backward, 0);
		between += stitched.clocks[1].source == CLEW_CLOCK_BETWEEN;
		chained += d.parts == 3 && stitched.clocks[2].source == CLEW_CLOCK_BETWEEN;
		clew_model_free(stitched.model);
	}
	assert_true(between > ROUNDS / 10 && chained > ROUNDS / 20);
	clew_model_free((struct clew_model *)(uintptr_t)d.like);
}

/* All of it, ES by ES, where the offset is given. */
static void test_whole(void **state)
{
	static const struct random_shape shape = {
		.spans = 6, .es = 6, .gaps = true, .backwards = true, .several = true};
	struct random_model m = {.seed = 0x9e3779b97f4a7c15};
	struct division d = {.m = &m, .like = names()};
	static const bool forced[MOST_PARTS] = {false, true, true};

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const struct clew_stitch_options options = {.forced = forced,
							    .offsets = d.true_offset};
		struct clew_model arrays, *whole, *simple;
		struct clew_maker *maker;
		struct stitched stitched;

		divide(&d, 2 + round % 2, &shape);
		stitch_again(&d, &options, &stitched);
		check_dependencies(&d, stitched.model, stitched.clocks);
		arrays = m.model;
		arrays.types = NULL;
		assert_int_equal(clew_model_from_arrays(d.like, &arrays, &whole), 0);
		assert_int_equal(clew_maker_from_model(whole, &maker), 0);
		assert_int_equal(clew_maker_simplify(maker), 0);
		assert_int_equal(clew_maker_finish(maker, &simple), 0);
		assert_int_equal(simple->es_count, stitched.model->es_count);
		for (uint32_t i = 0; i < stitched.model->span_count; i++) {
			const struct clew_span *is = &stitched.model->spans[i], *was = NULL;

			for (uint32_t j = 0; j < simple->span_count; j++)
				if (!strcmp(clew_model_string(simple, simple->spans[j].name),
					    clew_model_string(stitched.model, is->name)))
					was = &simple->spans[j];
			assert_non_null(was);
			assert_int_equal(was->elementary.count, is->elementary.count);
			for (uint32_t j = 0; j < is->elementary.count; j++) {
				const struct clew_es *a = &simple->es[was->elementary.first + j];
				const struct clew_es *b =
					&stitched.model->es[is->elementary.first + j];

				assert_true(a->start == b->start && a->end == b->end);
				assert_int_equal(a->in == CLEW_NONE, b->in == CLEW_NONE);
				assert_int_equal(a->out == CLEW_NONE, b->out == CLEW_NONE);
			}
		}
		clew_maker_free(maker);
		clew_model_free(simple);
		clew_model_free(whole);
		clew_model_free(stitched.model);
	}
	clew_model_free((struct clew_model *)(uintptr_t)d.like);
}

/* The largest demand that an offset leaves unmet. */
static clew_time worst(const struct demand *demands, size_t count, clew_time offset)
{
	clew_time most = 0;

	for (size_t i = 0; i < count; i++) {
		clew_time unmet = demands[i].least - (demands[i].to ? offset : -offset);

		most = unmet > most ? unmet : most;
	}
	return most;
}

static void test_contradictions(void **state)
{
	static const struct random_shape shape = {
		.spans = 6, .es = 6, .gaps = true, .backwards = true, .several = true};
	struct random_model m = {.seed = 0xda942042e4dd58b5};
	struct division d = {.m = &m, .like = names()};
	unsigned conflicts = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct demand demands[4 * MOST_ES];
		struct stitched stitched;
		clew_time least = 0;
		size_t count;

		divide(&d, 2, &shape);
		stitch_again(&d, NULL, &stitched);
		count = demands_of(&d, demands);
		/* Somewhere between what two of them would like. */
		for (size_t i = 0; i < count * count; i++) {
			const struct demand *a = &demands[i % count], *b = &demands[i / count];
			clew_time low = a->to ? a->least : -a->least,
				  high = b->to ? b->least : -b->least;
			clew_time unmet = worst(demands, count, (low + high) >> 1);

			least = i == 0 || unmet < least ? unmet : least;
		}
		assert_int_equal(worst(demands, count, stitched.clocks[1].offset), least);
		assert_int_equal(stitched.clocks[1].source == CLEW_CLOCK_CONFLICT, least > 0);
		assert_int_equal(stitched.backward > 0, least > 0);
		if (least > 0)
			assert_int_equal(stitched.clocks[1].error, least);
		conflicts += least > 0;
		clew_model_free(stitched.model);
	}
	assert_true(conflicts > 100);
	clew_model_free((struct clew_model *)(uintptr_t)d.like);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_contradictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

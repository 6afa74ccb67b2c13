/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the fuzzers of patterns and positions share: a small trace with names,
 * categories, marks, gaps and spawned spans, and what must hold of any answer.
 */
#ifndef CLEW_FUZZ_QUERY_H
#define CLEW_FUZZ_QUERY_H

#include <clew/model_make.h>
#include <clew/query.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void must(bool good)
{
	if (!good)
		abort();
}

static uint32_t fuzz_child(struct clew_maker *maker, uint32_t parent, const char *name,
			   clew_time start, clew_time end)
{
	uint32_t span;

	if (parent == CLEW_NONE)
		must(clew_maker_root(maker, name, start, end, &span) == 0);
	else
		must(clew_maker_child(maker, parent, name, start, end, &span) == 0);
	return span;
}

static void fuzz_edge(struct clew_maker *maker, const char *type, uint32_t from, clew_time at,
		      uint32_t to)
{
	uint32_t number, dependency;

	must(clew_maker_type(maker, type, &number) == 0);
	must(clew_maker_dependency(maker, number, CLEW_MODE_SINGLE, CLEW_NONE, &dependency) == 0);
	must(clew_maker_origin(maker, dependency, from, at, 0) == 0);
	must(clew_maker_destination(maker, dependency, to, at, at, 0) == 0);
}

static struct clew_model *fuzz_trace(void)
{
	struct clew_maker *maker;
	struct clew_model *model;
	uint32_t a, b, c, d, hierarchy, category;

	must(clew_maker_new(&maker) == 0);
	must(clew_maker_hierarchy(maker, "p", &hierarchy) == 0);
	a = fuzz_child(maker, CLEW_NONE, "a", 0, 100);
	b = fuzz_child(maker, CLEW_NONE, "s0.0.0", 10, 90);
	c = fuzz_child(maker, CLEW_NONE, "x\xff y", -50, 200);
	d = fuzz_child(maker, a, "a", 10, 60);
	fuzz_child(maker, fuzz_child(maker, d, "b", 20, 50), "\xc3\xa9", 30, 40);
	fuzz_child(maker, b, "0", 20, 80);
	fuzz_child(maker, CLEW_NONE, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 5, 5);
	must(clew_maker_category(maker, hierarchy, CLEW_NONE, "p0", &category) == 0);
	must(clew_maker_place(maker, a, category) == 0);
	must(clew_maker_category(maker, hierarchy, category, "t0", &category) == 0);
	must(clew_maker_place(maker, c, category) == 0);
	must(clew_maker_mark(maker, c, "start", -50, 0) == 0);
	must(clew_maker_mark(maker, c, "end", 150, 0) == 0);
	fuzz_edge(maker, "spawn", d, 15, b);
	fuzz_edge(maker, "fork", b, 85, c);
	must(clew_maker_simplify(maker) == 0);
	must(clew_maker_finish(maker, &model) == 0);
	clew_maker_free(maker);
	return model;
}

static void check_spans(const struct clew_query *query, const struct clew_model *model)
{
	uint32_t *spans;
	size_t count;
	int r = clew_query_spans(query, model, NULL, &spans, &count);

	must(r == 0 || r == -E2BIG);
	if (r < 0)
		return;
	for (size_t i = 0; i < count; i++)
		must(spans[i] < model->span_count);
	free(spans);
}

static void check_positions(const struct clew_query *query, const struct clew_model *model)
{
	struct clew_positions positions;
	int r = clew_query_positions(query, model, NULL, &positions);

	must(r == 0 || r == -E2BIG);
	for (size_t i = 0; i < positions.count; i++) {
		const struct clew_position *position = &positions.items[i];

		must(position->es < model->es_count);
		must(position->at >= model->es[position->es].start &&
		     position->at <= model->es[position->es].end);
	}
	clew_positions_done(&positions);
}

/* Without bytes behind the text, so that a sanitizer sees whoever reads on. */
static void check_text(const char *text, size_t size)
{
	static struct clew_model *model;
	char *copy = malloc(size ? size : 1);
	struct clew_query_error error;
	struct clew_query *query;
	int r;

	must(copy != NULL);
	if (!model)
		model = fuzz_trace();
	if (size)
		memcpy(copy, text, size);
	r = clew_query_compile(copy, size, &query, &error);
	free(copy);
	must(r == 0 || r == -EINVAL);
	if (r == -EINVAL) {
		must(error.offset <= size && strstr(error.message, ": ") &&
		     !strchr(error.message, '\n'));
		return;
	}
	check_spans(query, model);
	if (clew_query_is_position(query))
		check_positions(query, model);
	clew_query_free(query);
}

#endif

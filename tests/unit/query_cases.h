/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traces of the tests of patterns, and what a pattern selects as a line of text:
 * paths of spans, for a position "PATH[start,end]@moment", one after the other.
 */
#ifndef CLEW_TEST_QUERY_CASES_H
#define CLEW_TEST_QUERY_CASES_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <clew/model_make.h>
#include <clew/query.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((unused)) uint32_t root(struct clew_maker *maker, const char *name,
					     clew_time start, clew_time end)
{
	uint32_t span;

	assert_int_equal(clew_maker_root(maker, name, start, end, &span), 0);
	return span;
}

static __attribute__((unused)) uint32_t child(struct clew_maker *maker, uint32_t parent,
					      const char *name, clew_time start, clew_time end)
{
	uint32_t span;

	assert_int_equal(clew_maker_child(maker, parent, name, start, end, &span), 0);
	return span;
}

/* "p0/t0.0": made where it is missing. */
static __attribute__((unused)) uint32_t category(struct clew_maker *maker, uint32_t hierarchy,
						 const char *path)
{
	uint32_t found = CLEW_NONE;
	char *names = strdup(path), *rest = names, *name;

	assert_non_null(names);
	while ((name = strsep(&rest, "/")))
		assert_int_equal(clew_maker_category(maker, hierarchy, found, name, &found), 0);
	free(names);
	return found;
}

static __attribute__((unused)) void edge(struct clew_maker *maker, const char *type, uint32_t from,
					 clew_time from_at, uint32_t to, clew_time wait_from,
					 clew_time to_at)
{
	uint32_t number, dependency;

	assert_int_equal(clew_maker_type(maker, type, &number), 0);
	assert_int_equal(
		clew_maker_dependency(maker, number, CLEW_MODE_SINGLE, CLEW_NONE, &dependency), 0);
	assert_int_equal(clew_maker_origin(maker, dependency, from, from_at, 0), 0);
	assert_int_equal(clew_maker_destination(maker, dependency, to, wait_from, to_at, 0), 0);
}

static __attribute__((unused)) struct clew_model *finish(struct clew_maker *maker)
{
	struct clew_model *model;

	assert_int_equal(clew_maker_simplify(maker), 0);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

static __attribute__((unused)) struct clew_maker *begin(void)
{
	struct clew_maker *maker;

	assert_int_equal(clew_maker_new(&maker), 0);
	return maker;
}

static __attribute__((unused)) uint32_t hierarchy(struct clew_maker *maker, const char *name)
{
	uint32_t number;

	assert_int_equal(clew_maker_hierarchy(maker, name, &number), 0);
	return number;
}

/* a{b{c}, c{d{e}}}, f */
static __attribute__((unused)) struct clew_model *letters(void)
{
	struct clew_maker *maker = begin();
	uint32_t a = root(maker, "a", 0, 100), b = child(maker, a, "b", 10, 40), c;

	child(maker, b, "c", 20, 30);
	c = child(maker, a, "c", 50, 90);
	child(maker, child(maker, c, "d", 60, 80), "e", 65, 75);
	root(maker, "f", 0, 50);
	return finish(maker);
}

/* Trace1, in the hierarchies structural (0) and causal (1). */
static __attribute__((unused)) struct clew_model *trace1(void)
{
	struct clew_maker *maker = begin();
	uint32_t structural = hierarchy(maker, "structural"), causal = hierarchy(maker, "causal");
	uint32_t a, b, c, d, e;

	a = root(maker, "s0.0.0", 0, 100);
	b = child(maker, a, "0", 10, 90);
	c = child(maker, b, "3", 40, 70);
	d = root(maker, "s0.1.0", 30, 70);
	e = root(maker, "s1.0.0", 30, 50);
	assert_int_equal(clew_maker_place(maker, a, category(maker, structural, "p0/t0.0/r0.0.0")),
			 0);
	assert_int_equal(clew_maker_place(maker, d, category(maker, structural, "p0/t0.1/r0.1.0")),
			 0);
	assert_int_equal(clew_maker_place(maker, e, category(maker, structural, "p1/t1.0/r1.0.0")),
			 0);
	assert_int_equal(clew_maker_place(maker, a, category(maker, causal, "p0/t0.0/r0.0.0")), 0);
	assert_int_equal(clew_maker_place(maker, d, category(maker, causal, "p0/t0.0/t0.1/r0.1.0")),
			 0);
	assert_int_equal(clew_maker_place(maker, e, category(maker, causal, "p0/p1/t1.0/r1.0.0")),
			 0);
	assert_int_equal(clew_maker_mark(maker, a, "start", 0, 0), 0);
	assert_int_equal(clew_maker_mark(maker, a, "end", 100, 0), 0);
	edge(maker, "spawn", b, 20, d, 30, 30);
	edge(maker, "spawn", b, 30, e, 30, 30);
	edge(maker, "send", e, 35, d, 40, 40);
	edge(maker, "signal", d, 50, c, 50, 60);
	return finish(maker);
}

struct line {
	char *text;
	size_t length;
	FILE *stream;
};

static void add_path(struct line *line, const struct clew_model *model, uint32_t span)
{
	char *path = clew_model_span_path(model, span);

	assert_non_null(path);
	fprintf(line->stream, "%s%s", ftell(line->stream) > 0 ? " " : "", path);
	free(path);
}

/* The nodes that a pattern selects; "offset: message" where it cannot be compiled. To free. */
static __attribute__((unused)) char *select_in(const struct clew_model *model,
					       uint32_t in_hierarchy, const char *pattern)
{
	struct clew_query_options options = {.hierarchy = in_hierarchy};
	struct clew_positions positions = {};
	struct clew_query_error error;
	struct clew_query *query;
	struct line line = {};
	uint32_t *spans = NULL;
	size_t count = 0;
	int r;

	line.stream = open_memstream(&line.text, &line.length);
	assert_non_null(line.stream);
	r = clew_query_compile(pattern, strlen(pattern), &query, &error);
	if (r < 0) {
		assert_int_equal(r, -EINVAL);
		assert_non_null(strstr(error.message, ": "));
		assert_in_range(error.offset, 0, strlen(pattern));
		fprintf(line.stream, "%zu: %s", error.offset, error.message);
		fclose(line.stream);
		return line.text;
	}
	if (clew_query_is_position(query)) {
		assert_int_equal(clew_query_positions(query, model, &options, &positions), 0);
	} else {
		assert_int_equal(clew_query_positions(query, model, &options, &positions), -EINVAL);
		assert_int_equal(clew_query_spans(query, model, &options, &spans, &count), 0);
	}
	for (size_t i = 0; i < count; i++)
		add_path(&line, model, spans[i]);
	for (size_t i = 0; i < positions.count; i++) {
		const struct clew_es *es = &model->es[positions.items[i].es];

		add_path(&line, model, es->span);
		fprintf(line.stream, "[%lld,%lld]@%lld", (long long)es->start, (long long)es->end,
			(long long)positions.items[i].at);
	}
	clew_positions_done(&positions);
	free(spans);
	clew_query_free(query);
	fclose(line.stream);
	return line.text;
}

static __attribute__((unused)) void expect_in(const struct clew_model *model, uint32_t in_hierarchy,
					      const char *pattern, const char *expected)
{
	char *found = select_in(model, in_hierarchy, pattern);

	if (strcmp(found, expected) != 0)
		fail_msg("%s selects '%s' instead of '%s'", pattern, found, expected);
	free(found);
}

static __attribute__((unused)) void expect(const struct clew_model *model, const char *pattern,
					   const char *expected)
{
	expect_in(model, 0, pattern, expected);
}

#endif

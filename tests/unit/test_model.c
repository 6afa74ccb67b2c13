/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whole traces: spans and their calls, hierarchies, names, attributes, waits,
 * dependencies of several ends; what is refused; models of given arrays; and many
 * threads that read one model.
 */
#include <clew/model_make.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "model/make_internal.h"
#include "model_text.h"

static struct clew_maker *new_maker(void)
{
	struct clew_maker *maker;

	assert_int_equal(clew_maker_new(&maker), 0);
	return maker;
}

static struct clew_model *finish(struct clew_maker *maker)
{
	struct clew_model *model;

	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

static uint32_t root(struct clew_maker *maker, const char *name, clew_time start, clew_time end)
{
	uint32_t span;

	assert_int_equal(clew_maker_root(maker, name, start, end, &span), 0);
	return span;
}

static uint32_t dependency(struct clew_maker *maker, const char *type, enum clew_mode mode)
{
	uint32_t number, made;

	assert_int_equal(clew_maker_type(maker, type, &number), 0);
	assert_int_equal(clew_maker_dependency(maker, number, mode, CLEW_NONE, &made), 0);
	return made;
}

static void edge(struct clew_maker *maker, const char *type, uint32_t from, clew_time out,
		 uint32_t to, clew_time wait, clew_time in)
{
	uint32_t made = dependency(maker, type, CLEW_MODE_SINGLE);

	assert_int_equal(clew_maker_origin(maker, made, from, out, 0), 0);
	assert_int_equal(clew_maker_destination(maker, made, to, wait, in, 0), 0);
}

static void expect_span(const struct clew_model *model, uint32_t span, const char *expected)
{
	char *text = text_span(model, span);

	assert_string_equal(text, expected);
	free(text);
}

static void expect_no_problem(const struct clew_model *model)
{
	struct clew_problem *problems;
	size_t count;

	assert_int_equal(clew_model_check(model, false, &problems, &count), 0);
	if (count > 0)
		fail_msg("%s: %s", problems[0].kind, problems[0].message);
	free(problems);
}

/* ---- the trace that the cases of all analyses share ---- */

static uint32_t category(struct clew_maker *maker, uint32_t hierarchy, const char *path)
{
	char copy[64], *rest = copy, *name;
	uint32_t number = CLEW_NONE;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/")))
		assert_int_equal(clew_maker_category(maker, hierarchy, number, name, &number), 0);
	return number;
}

struct trace1 {
	struct clew_model *model;
	uint32_t s000, s010, s100, zero, three;
};

static struct trace1 make_trace1(void)
{
	struct clew_maker *maker = new_maker();
	struct trace1 t;
	uint32_t structural, causal;

	assert_int_equal(clew_maker_hierarchy(maker, "structural", &structural), 0);
	assert_int_equal(clew_maker_hierarchy(maker, "causal", &causal), 0);
	t.s000 = root(maker, "s0.0.0", 0, 100);
	assert_int_equal(clew_maker_mark(maker, t.s000, "start", 0, 0), 0);
	assert_int_equal(clew_maker_mark(maker, t.s000, "end", 100, 0), 0);
	assert_int_equal(clew_maker_child(maker, t.s000, "0", 10, 90, &t.zero), 0);
	assert_int_equal(clew_maker_child(maker, t.zero, "3", 40, 70, &t.three), 0);
	t.s010 = root(maker, "s0.1.0", 30, 70);
	t.s100 = root(maker, "s1.0.0", 30, 50);
	assert_int_equal(
		clew_maker_place(maker, t.s000, category(maker, structural, "p0/t0.0/r0.0.0")), 0);
	assert_int_equal(
		clew_maker_place(maker, t.s010, category(maker, structural, "p0/t0.1/r0.1.0")), 0);
	assert_int_equal(
		clew_maker_place(maker, t.s100, category(maker, structural, "p1/t1.0/r1.0.0")), 0);
	assert_int_equal(clew_maker_place(maker, t.s000, category(maker, causal, "p0/t0.0/r0.0.0")),
			 0);
	assert_int_equal(
		clew_maker_place(maker, t.s010, category(maker, causal, "p0/t0.0/t0.1/r0.1.0")), 0);
	assert_int_equal(
		clew_maker_place(maker, t.s100, category(maker, causal, "p0/p1/t1.0/r1.0.0")), 0);
	edge(maker, "spawn", t.zero, 20, t.s010, 30, 30);
	edge(maker, "spawn", t.zero, 30, t.s100, 30, 30);
	edge(maker, "send", t.s100, 35, t.s010, 40, 40);
	edge(maker, "signal", t.s010, 50, t.three, 50, 60);
	assert_int_equal(clew_maker_simplify(maker), 0);
	t.model = finish(maker);
	return t;
}

/* The ESs that a dependency joins, as "span:es". */
static void expect_edge(const struct clew_model *model, uint32_t number, const char *expected)
{
	const struct clew_dependency *d = &model->dependencies[number];
	struct text text = {0};

	for (uint32_t i = 0; i < d->origins.count + d->destinations.count; i++) {
		bool is_origin = i < d->origins.count;
		uint32_t es =
			is_origin
				? model->origins[d->origins.first + i]
				: model->destinations[d->destinations.first + i - d->origins.count];
		uint32_t span = model->es[es].span;

		assert_int_equal(is_origin ? model->es[es].out : model->es[es].in, number);
		text_add(&text, "%s%s:%u", is_origin ? "" : ">",
			 clew_model_string(model, model->spans[span].name),
			 es - model->spans[span].elementary.first);
	}
	assert_string_equal(text.data, expected);
	free(text.data);
}

static void test_trace1(void **state)
{
	struct trace1 t = make_trace1();
	uint32_t count, place;
	char *path;

	(void)state;
	expect_span(t.model, t.s000, "[0,10]{start@0}>call | <return[90,100]{end@100}");
	expect_span(t.model, t.zero,
		    "<call[10,20]>spawn | [20,30]>spawn | [30,40]>call | <return[70,90]>return");
	expect_span(t.model, t.three, "<call[40,50] | <signal[60,70]>return");
	expect_span(t.model, t.s010, "<spawn[30,40] | <send[40,50]>signal | [50,70]");
	expect_span(t.model, t.s100, "<spawn[30,35]>send | [35,50]");
	expect_edge(t.model, 0, "s0.0.0:0>0:0");
	expect_edge(t.model, 1, "0:3>s0.0.0:1");
	expect_edge(t.model, 2, "0:2>3:0");
	expect_edge(t.model, 3, "3:1>0:3");
	expect_edge(t.model, 4, "0:0>s0.1.0:0");
	expect_edge(t.model, 5, "0:1>s1.0.0:0");
	expect_edge(t.model, 6, "s1.0.0:0>s0.1.0:1");
	expect_edge(t.model, 7, "s0.1.0:1>3:1");
	expect_no_problem(t.model);

	assert_int_equal(t.model->first_root, t.s000);
	assert_int_equal(t.model->spans[t.s000].next_sibling, t.s010);
	assert_int_equal(t.model->spans[t.s010].next_sibling, t.s100);
	assert_int_equal(t.model->spans[t.s100].next_sibling, CLEW_NONE);
	assert_int_equal(t.model->spans[t.s000].first_child, t.zero);
	assert_int_equal(t.model->spans[t.zero].first_child, t.three);
	path = clew_model_span_path(t.model, t.three);
	assert_string_equal(path, "s0.0.0/0/3");
	free(path);
	place = clew_model_category_of(t.model, t.s010, 1);
	path = clew_model_category_path(t.model, place);
	assert_string_equal(path, "p0/t0.0/t0.1/r0.1.0");
	free(path);
	assert_int_equal(clew_model_category_spans(t.model, place, &count)[0], t.s010);
	assert_int_equal(count, 1);
	assert_null(clew_model_category_spans(t.model, t.model->categories[place].parent, &count));
	assert_int_equal(count, 0);
	assert_int_equal(clew_model_category_of(t.model, t.zero, 1), CLEW_NONE);
	assert_string_equal(
		clew_model_string(t.model,
				  t.model->categories[clew_model_root_category(t.model, 0)].name),
		"p0");
	assert_string_equal(clew_model_string(t.model, t.model->hierarchies[0]), "structural");

	assert_int_equal(clew_model_es_at(t.model, t.zero, 5),
			 t.model->spans[t.zero].elementary.first);
	assert_int_equal(clew_model_es_at(t.model, t.zero, 20),
			 t.model->spans[t.zero].elementary.first);
	assert_int_equal(clew_model_es_at(t.model, t.zero, 50),
			 t.model->spans[t.zero].elementary.first + 3);
	assert_int_equal(clew_model_es_at(t.model, t.zero, 91), CLEW_NONE);
	assert_int_equal(clew_model_predecessor(t.model, t.model->spans[t.zero].elementary.first),
			 CLEW_NONE);
	assert_int_equal(clew_model_successor(t.model, t.model->spans[t.zero].elementary.first + 3),
			 CLEW_NONE);
	clew_model_free(t.model);
}

/* ---- children ---- */

static void test_children(void **state)
{
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	uint32_t parent = root(maker, "parent", 0, 100), child, grandchild, one, other, ignored;

	(void)state;
	assert_int_equal(clew_maker_child(maker, parent, "child", 30, 60, &child), 0);
	assert_int_equal(clew_maker_child(maker, child, "grandchild", 40, 50, &grandchild), 0);
	edge(maker, "x", grandchild, 45, parent, 60, 60);
	assert_int_equal(clew_maker_child(maker, parent, "one", 80, 90, &one), 0);
	assert_int_equal(clew_maker_child(maker, parent, "other", 90, 90, &other), 0);
	/* Where the parent does not run, across what is there, beyond it. */
	assert_int_equal(clew_maker_child(maker, parent, "no", 40, 55, &ignored), -EINVAL);
	assert_int_equal(clew_maker_child(maker, parent, "no", 20, 70, &ignored), -EINVAL);
	assert_int_equal(clew_maker_child(maker, parent, "no", 95, 101, &ignored), -EINVAL);
	assert_int_equal(clew_maker_child(maker, parent, "no", -5, 10, &ignored), -EINVAL);
	assert_int_equal(clew_maker_child(maker, parent, "no", 98, 96, &ignored), -EINVAL);
	assert_int_equal(clew_maker_child(maker, 99, "no", 96, 98, &ignored), -ENOENT);
	model = finish(maker);
	expect_span(model, parent,
		    "[0,30]>call | [30,30] | <return[60,60] | <x[60,80]>call | [80,80] | "
		    "<return[90,90]>call | [90,90] | <return[90,100]");
	expect_span(model, child, "<call[30,40]>call | [40,40] | <return[50,60]>return");
	expect_span(model, grandchild, "<call[40,45]>x | [45,50]>return");
	expect_span(model, other, "<call[90,90]>return");
	assert_int_equal(model->span_count, 5);
	assert_int_equal(model->dependency_count, 9);
	expect_no_problem(model);
	clew_model_free(model);
}

/* ---- dependencies ---- */

static void expect_origins(const struct clew_model *model, uint32_t number, const char *expected)
{
	const struct clew_dependency *d = &model->dependencies[number];
	struct text text = {0};

	text_add(&text, "%s", "");
	for (uint32_t i = 0; i < d->origins.count; i++)
		text_add(&text, "%s%lld", i ? " " : "",
			 (long long)model->es[model->origins[d->origins.first + i]].end);
	assert_string_equal(text.data, expected);
	free(text.data);
}

static void test_several_ends(void **state)
{
	static const clew_time moments[] = {50, 80, 20, 80, 20, 90};
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	uint32_t spans[6], and = dependency(maker, "x", CLEW_MODE_AND),
			   or = dependency(maker, "x", CLEW_MODE_OR);
	uint32_t single = dependency(maker, "x", CLEW_MODE_SINGLE),
		 nothing = dependency(maker, "y", CLEW_MODE_AND);

	(void)state;
	for (int i = 0; i < 6; i++) {
		spans[i] = root(maker, "s", 0, 100);
		assert_int_equal(clew_maker_origin(maker, and, spans[i], moments[i], 0), 0);
		assert_int_equal(clew_maker_origin(maker, or, spans[i], moments[i], 0), 0);
		assert_int_equal(clew_maker_destination(maker, single, spans[i], 10, 10, 0), 0);
	}
	assert_int_equal(clew_maker_origin(maker, single, spans[0], 5, 0), 0);
	assert_int_equal(clew_maker_origin(maker, single, spans[0], 6, 0), -EEXIST);
	assert_int_equal(clew_maker_origin(maker, and, 77, 5, 0), -ENOENT);
	assert_int_equal(clew_maker_origin(maker, 77, spans[0], 5, 0), -ENOENT);
	model = finish(maker);
	/* A new trigger takes the first place and the old one goes to the end; of equals the first
	 * stays. */
	expect_origins(model, and, "90 50 20 80 20 80");
	expect_origins(model, or, "20 80 50 80 20 90");
	expect_origins(model, single, "5");
	expect_origins(model, nothing, "");
	assert_int_equal(clew_model_trigger(model, and),
			 model->origins[model->dependencies[and].origins.first]);
	assert_int_equal(clew_model_trigger(model, nothing), CLEW_NONE);
	assert_int_equal(model->dependencies[single].destinations.count, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(
			model->es[model->destinations
					  [model->dependencies[single].destinations.first + i]]
				.span,
			spans[i]);
	clew_model_free(model);
}

static void test_negative_times(void **state)
{
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	uint32_t a = root(maker, "a", INT64_MIN, INT64_MAX), b = root(maker, "b", -100, -10);

	(void)state;
	edge(maker, "x", a, INT64_MIN, b, -100, -100);
	edge(maker, "x", b, -10, a, 0, INT64_MAX);
	edge(maker, "x", a, -50, b, -40, -20);
	model = finish(maker);
	expect_span(model, a,
		    "[-9223372036854775808,-9223372036854775808]>x | [-9223372036854775808,-50]>x "
		    "| [-50,0] | "
		    "<x[9223372036854775807,9223372036854775807]");
	expect_span(model, b, "<x[-100,-40] | <x[-20,-10]>x");
	expect_no_problem(model);
	clew_model_free(model);
}

/* ---- names and attributes ---- */

static void test_names(void **state)
{
	static const char *const hard = "a b/c@{},()[]#\\\t\xc3\xa4";
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	uint32_t a = root(maker, "a", 0, 10), hard_span, number, other, twin;
	char *path, escaped[64];
	bool ambiguous;

	(void)state;
	assert_int_equal(clew_maker_child(maker, a, hard, 1, 2, &hard_span), 0);
	twin = root(maker, "twin", 0, 10);
	assert_int_equal(clew_maker_find_span(maker, (const char *const[]){"twin"}, 1, &ambiguous),
			 twin);
	assert_false(ambiguous);
	root(maker, "twin", 0, 10);
	assert_int_equal(clew_maker_find_span(maker, (const char *const[]){"twin"}, 1, &ambiguous),
			 twin);
	assert_true(ambiguous);
	assert_int_equal(
		clew_maker_find_span(maker, (const char *const[]){"a", hard}, 2, &ambiguous),
		hard_span);
	assert_false(ambiguous);
	assert_int_equal(clew_maker_find_span(maker, (const char *const[]){hard}, 1, &ambiguous),
			 CLEW_NONE);
	assert_int_equal(clew_maker_find_span(maker, (const char *const[]){"b"}, 1, &ambiguous),
			 CLEW_NONE);
	assert_int_equal(clew_maker_type(maker, "return", &number), 0);
	assert_int_equal(number, CLEW_DEPENDENCY_RETURN);
	assert_int_equal(clew_maker_hierarchy(maker, "h", &number), 0);
	assert_int_equal(clew_maker_hierarchy(maker, "h", &other), -EEXIST);
	assert_int_equal(clew_maker_category(maker, 7, CLEW_NONE, "c", &other), -ENOENT);
	assert_int_equal(clew_maker_category(maker, number, 3, "c", &other), -ENOENT);
	assert_int_equal(clew_maker_category(maker, number, CLEW_NONE, "c", &number), 0);
	assert_int_equal(clew_maker_place(maker, a, number), 0);
	assert_int_equal(clew_maker_place(maker, a, number), -EEXIST);
	assert_int_equal(clew_maker_place(maker, hard_span, number), -EINVAL);
	assert_int_equal(clew_maker_place(maker, a, 9), -ENOENT);
	model = finish(maker);
	path = clew_model_span_path(model, hard_span);
	assert_string_equal(path, "a/a\\ b\\/c\\@\\{\\}\\,\\(\\)\\[\\]\\#\\\\\\\t\xc3\xa4");
	free(path);
	assert_int_equal(clew_model_escape("a-7#2", escaped), 6);
	assert_string_equal(escaped, "a-7\\#2");
	assert_string_equal(clew_model_string(model, clew_model_find_string(model, hard)), hard);
	assert_int_equal(clew_model_find_string(model, "nowhere"), CLEW_NONE);
	clew_model_free(model);
}

static void test_many_names(void **state)
{
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "span %u", i % 10000);
		assert_int_equal(root(maker, name, 0, i), i);
	}
	model = finish(maker);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "span %u", i % 10000);
		assert_int_equal(clew_model_find_string(model, name), model->spans[i].name);
		assert_int_equal(model->es[i].end, i);
	}
	clew_model_free(model);
}

static void test_attributes(void **state)
{
	static const char *const pairs[] = {"object", "file:/var/lib/x", "holder",
					    "b-9",    "empty",		 ""};
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	uint32_t a = root(maker, "a", 0, 100), list, again, other, none;

	(void)state;
	assert_int_equal(clew_maker_attributes(maker, pairs, 3, &list), 0);
	assert_int_equal(clew_maker_attributes(maker, pairs, 2, &other), 0);
	assert_int_equal(clew_maker_attributes(maker, pairs, 3, &again), 0);
	assert_int_equal(clew_maker_attributes(maker, NULL, 0, &none), 0);
	assert_int_equal(none, CLEW_NONE);
	assert_int_equal(again, list);
	assert_int_not_equal(other, list);
	assert_int_equal(clew_maker_set_span_attributes(maker, a, other), 0);
	assert_int_equal(clew_maker_set_span_attributes(maker, a, 17), -ENOENT);
	assert_int_equal(clew_maker_suspend(maker, a, 10, 20, 0, CLEW_WAIT_FSYNC, list), 0);
	assert_int_equal(clew_maker_suspend(maker, a, 30, 40, 0, CLEW_WAIT_FUTEX, CLEW_NONE), 0);
	assert_int_equal(clew_maker_suspend(maker, a, 50, 60, 0, CLEW_WAIT_FUTEX, CLEW_NONE), 0);
	assert_int_equal(
		clew_maker_suspend(maker, a, 70, 80, 0, CLEW_SEGMENT_KIND_COUNT, CLEW_NONE),
		-EINVAL);
	assert_int_equal(clew_maker_suspend(maker, a, 70, 80, 0, CLEW_NONE, list), -EINVAL);
	assert_int_equal(clew_maker_suspend(maker, a, 70, 80, 0, CLEW_WAIT_FUTEX, 17), -ENOENT);
	model = finish(maker);
	expect_span(model, a, "[0,10] | (fsync)[20,30] | (futex)[40,50] | (futex)[60,100]");
	assert_int_equal(model->wait_count, 2);
	assert_string_equal(
		clew_model_attribute(model, model->waits[model->es[1].wait].attributes, "object"),
		"file:/var/lib/x");
	assert_string_equal(
		clew_model_attribute(model, model->waits[model->es[1].wait].attributes, "empty"),
		"");
	assert_null(clew_model_attribute(model, model->spans[a].attributes, "empty"));
	assert_null(clew_model_attribute(model, model->spans[a].attributes, "never"));
	assert_null(clew_model_attribute(model, CLEW_NONE, "object"));
	clew_model_free(model);
}

/* ---- what is too much, and what a failure leaves ---- */

static void test_limits(void **state)
{
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	uint32_t number;

	(void)state;
	/* As if 2^32 - 2 were 4. */
	maker->limit = 4;
	for (int i = 0; i < 4; i++)
		root(maker, "s", 0, 10);
	assert_int_equal(clew_maker_root(maker, "s", 0, 10, &number), -E2BIG);
	assert_true(*clew_maker_error(maker));
	for (int i = 0; i < 4; i++)
		assert_int_equal(clew_maker_mark(maker, 0, "m", i, 0), 0);
	assert_int_equal(clew_maker_mark(maker, 0, "m", 5, 0), -E2BIG);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(dependency(maker, "t", CLEW_MODE_AND), i);
	assert_int_equal(clew_maker_dependency(maker, 0, CLEW_MODE_AND, CLEW_NONE, &number),
			 -E2BIG);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(clew_maker_origin(maker, i, 0, i, 0), 0);
	assert_int_equal(clew_maker_origin(maker, 0, 0, 7, 0), -E2BIG);
	assert_int_equal(clew_maker_finish(maker, &model), -E2BIG);
	maker->limit = 8;
	model = finish(maker);
	assert_int_equal(model->es_count, 8);
	clew_model_free(model);
}

static void test_units(void **state)
{
	struct clew_maker *maker = new_maker();
	uint32_t a = root(maker, "a", -1500, 2000000);

	(void)state;
	clew_maker_set_unit(maker, 1000);
	assert_int_equal(clew_maker_mark(maker, a, "m", 2000001, 0), -EINVAL);
	assert_string_equal(clew_maker_error(maker), "2000.001 is outside span 'a' [-1.5,2000]");
	assert_int_equal(clew_maker_mark(maker, a, "m", 0, 0), 0);
	assert_string_equal(clew_maker_error(maker), "");
	clew_maker_free(maker);
}

/* ---- at once ---- */

static void expect_bulk(int expected, const struct clew_bulk *bulk)
{
	struct clew_maker *maker = new_maker();
	uint32_t span;

	assert_int_equal(clew_maker_bulk(maker, bulk), expected);
	if (expected < 0)
		assert_true(*clew_maker_error(maker));
	assert_int_equal(clew_maker_root(maker, "s", 0, 1, &span),
			 expected < 0 ? expected : -EINVAL);
	clew_maker_free(maker);
}

static void test_bulk_errors(void **state)
{
	struct clew_bulk_span spans[] = {{"a", 0, 100, CLEW_NONE, CLEW_NONE},
					 {"b", 10, 20, 0, CLEW_NONE}};
	struct clew_bulk_suspend suspend = {
		.span = 0, .kind = CLEW_NONE, .attributes = CLEW_NONE, .start = 50, .end = 60};
	struct clew_bulk_dependency single = {
		.type = 0, .attributes = CLEW_NONE, .mode = CLEW_MODE_SINGLE};
	struct clew_bulk_endpoint ends[] = {{0, 0, 30, 0, 0}, {0, 1, 15, 1, 0}};
	struct clew_bulk_mark mark = {0, "m", 5};
	const struct clew_bulk good = {.spans = spans,
				       .suspends = &suspend,
				       .dependencies = &single,
				       .endpoints = ends,
				       .marks = &mark,
				       .span_count = 2,
				       .suspend_count = 1,
				       .dependency_count = 1,
				       .endpoint_count = 2,
				       .mark_count = 1};

	(void)state;
	expect_bulk(0, &good);
#define WITH(field, value, expected)                                                               \
	do {                                                                                       \
		__typeof__(field) saved = field;                                                   \
		field = value;                                                                     \
		expect_bulk(expected, &good);                                                      \
		field = saved;                                                                     \
	} while (0)
	WITH(spans[0].end, -1, -EINVAL);
	WITH(spans[1].parent, 1, -EINVAL);
	WITH(spans[1].end, 101, -EINVAL);
	WITH(spans[1].start, -1, -EINVAL);
	WITH(spans[1].attributes, 0, -ENOENT);
	WITH(suspend.span, 2, -ENOENT);
	WITH(suspend.end, 101, -EINVAL);
	WITH(suspend.end, 49, -EINVAL);
	WITH(suspend.kind, CLEW_SEGMENT_KIND_COUNT, -EINVAL);
	WITH(suspend.start, 15, -EINVAL);
	WITH(single.type, 2, -ENOENT);
	WITH(single.mode, 3, -EINVAL);
	WITH(single.attributes, 0, -ENOENT);
	WITH(ends[0].span, 2, -ENOENT);
	WITH(ends[0].dependency, 1, -ENOENT);
	WITH(ends[0].at, 101, -EINVAL);
	WITH(ends[0].at, 55, -EINVAL);
	WITH(ends[0].at, 15, -EINVAL);
	WITH(ends[0].place, CLEW_PLACE_EARLY | CLEW_PLACE_LATE, -EINVAL);
	WITH(ends[1].destination, 0, -EEXIST);
	WITH(mark.span, 2, -ENOENT);
	WITH(mark.at, -1, -EINVAL);
	WITH(mark.at, 55, -EINVAL);
#undef WITH
}

static void test_bulk_limits(void **state)
{
	struct clew_bulk_span spans[] = {{"a", 0, 100, CLEW_NONE, CLEW_NONE}};
	struct clew_bulk_mark marks[] = {{0, "m", 5}, {0, "m", 6}, {0, "m", 7}};
	const struct clew_bulk bulk = {
		.spans = spans, .marks = marks, .span_count = 1, .mark_count = 3};
	struct clew_maker *maker = new_maker();

	(void)state;
	maker->limit = 2;
	assert_int_equal(clew_maker_bulk(maker, &bulk), -E2BIG);
	clew_maker_free(maker);
}

/* Everything in one trace, and categories afterwards. */
static void test_bulk_whole(void **state)
{
	static const struct clew_bulk_span spans[] = {{"p", 0, 100, CLEW_NONE, CLEW_NONE},
						      {"c", 10, 40, 0, CLEW_NONE},
						      {"d", 40, 40, 0, CLEW_NONE},
						      {"q", 0, 100, CLEW_NONE, CLEW_NONE}};
	static const struct clew_bulk_suspend suspends[] = {
		{3, CLEW_WAIT_FUTEX, CLEW_NONE, 20, 50}};
	static const struct clew_bulk_dependency dependencies[] = {{0, CLEW_NONE, CLEW_MODE_OR}};
	static const struct clew_bulk_endpoint ends[] = {
		{0, 3, 50, 1, 0}, {0, 1, 30, 0, 0}, {0, 0, 5, 0, 0}};
	static const struct clew_bulk_mark marks[] = {
		{3, "one", 50}, {3, "two", 50}, {0, "three", 0}};
	const struct clew_bulk bulk = {.spans = spans,
				       .suspends = suspends,
				       .dependencies = dependencies,
				       .endpoints = ends,
				       .marks = marks,
				       .span_count = 4,
				       .suspend_count = 1,
				       .dependency_count = 1,
				       .endpoint_count = 3,
				       .mark_count = 3,
				       .simplify = true};
	struct clew_maker *maker = new_maker();
	struct clew_model *model;
	uint32_t hierarchy, place;

	(void)state;
	assert_int_equal(clew_maker_bulk(maker, &bulk), 0);
	assert_int_equal(clew_maker_hierarchy(maker, "h", &hierarchy), 0);
	assert_int_equal(clew_maker_category(maker, hierarchy, CLEW_NONE, "c", &place), 0);
	assert_int_equal(clew_maker_place(maker, 3, place), 0);
	assert_int_equal(clew_maker_place(maker, 1, place), -EINVAL);
	model = finish(maker);
	expect_span(model, 0,
		    "[0,5]{three@0}>call | [5,10]>call | <return[40,40]>call | <return[40,100]");
	expect_span(model, 1, "<call[10,30]>call | [30,40]>return");
	expect_span(model, 3, "[0,20] | (futex)<call[50,100]{two@50 one@50}");
	expect_edge(model, 4, "p:0c:0>q:1");
	expect_no_problem(model);
	assert_int_equal(clew_model_category_of(model, 3, hierarchy), place);
	clew_model_free(model);
}

/* A trace of the usual kind, two endpoints a dependency, costs at most 64 bytes an ES. */
static void test_memory(void **state)
{
	enum { SPANS = 100, EDGES = 20000 };
	struct clew_bulk_span *spans = calloc(SPANS, sizeof(*spans));
	struct clew_bulk_dependency *dependencies = calloc(EDGES, sizeof(*dependencies));
	struct clew_bulk_endpoint *ends = calloc(2 * EDGES, sizeof(*ends));
	const struct clew_bulk bulk = {.spans = spans,
				       .dependencies = dependencies,
				       .endpoints = ends,
				       .span_count = SPANS,
				       .dependency_count = EDGES,
				       .endpoint_count = 2 * EDGES};
	struct clew_maker *maker = new_maker();
	struct clew_model *model;

	(void)state;
	assert_true(spans && dependencies && ends);
	for (uint32_t i = 0; i < SPANS; i++)
		spans[i] = (struct clew_bulk_span){"span", 0, 4 * EDGES, CLEW_NONE, CLEW_NONE};
	for (uint32_t i = 0; i < EDGES; i++) {
		dependencies[i].attributes = CLEW_NONE;
		ends[2 * i] = (struct clew_bulk_endpoint){
			.dependency = i, .span = i % SPANS, .at = 2 * i};
		ends[2 * i + 1] = (struct clew_bulk_endpoint){
			.dependency = i, .span = i * 7 % SPANS, .at = 2 * i + 1, .destination = 1};
	}
	assert_int_equal(clew_maker_bulk(maker, &bulk), 0);
	model = finish(maker);
	assert_int_equal(model->es_count, SPANS + 2 * EDGES);
	assert_true(clew_model_memory(model) <= 64 * (size_t)model->es_count);
	expect_no_problem(model);
	clew_model_free(model);
	free(spans);
	free(dependencies);
	free(ends);
}

/* ---- of arrays ---- */

static void test_arrays(void **state)
{
	struct trace1 t = make_trace1();
	struct clew_model arrays = *t.model, *copy, *broken;
	struct clew_es *es = malloc(t.model->es_count * sizeof(*es));
	struct clew_span *spans = malloc(t.model->span_count * sizeof(*spans));
	char *one, *other;

	(void)state;
	assert_true(es && spans);
	arrays.categories = NULL;
	arrays.types = NULL;
	arrays.attribute_lists = NULL;
	arrays.waits = NULL;
	arrays.es = memcpy(es, t.model->es, t.model->es_count * sizeof(*es));
	arrays.spans = memcpy(spans, t.model->spans, t.model->span_count * sizeof(*spans));
	spans[0].first_child = spans[1].next_sibling = 4;
	assert_int_equal(clew_model_from_arrays(t.model, &arrays, &copy), 0);
	for (uint32_t i = 0; i < t.model->span_count; i++) {
		one = text_span(t.model, i);
		other = text_span(copy, i);
		assert_string_equal(one, other);
		free(one);
		free(other);
		assert_int_equal(copy->spans[i].first_child, t.model->spans[i].first_child);
		assert_int_equal(copy->spans[i].next_sibling, t.model->spans[i].next_sibling);
	}
	assert_int_equal(copy->first_root, t.model->first_root);
	assert_int_equal(clew_model_category_of(copy, t.s010, 1),
			 clew_model_category_of(t.model, t.s010, 1));
	assert_int_equal(clew_model_root_category(copy, 1), clew_model_root_category(t.model, 1));
	assert_int_equal(copy->categories[0].first_child, t.model->categories[0].first_child);
	assert_int_equal(clew_model_memory(copy), clew_model_memory(t.model));
	expect_no_problem(copy);
	clew_model_free(copy);
#define WITH(field, value)                                                                         \
	do {                                                                                       \
		uint32_t saved = field;                                                            \
		field = value;                                                                     \
		assert_int_equal(clew_model_from_arrays(t.model, &arrays, &broken), -EINVAL);      \
		field = saved;                                                                     \
	} while (0)
	WITH(es[3].span, t.model->span_count);
	WITH(es[3].in, t.model->dependency_count);
	WITH(es[3].out, 1000);
	WITH(es[3].wait, 0);
	WITH(es[0].mark, 3);
	WITH(arrays.mark_count, 0);
	WITH(spans[1].parent, 1);
	WITH(spans[1].name, 10000);
	WITH(spans[1].elementary.count, 0);
	WITH(spans[1].elementary.first, t.model->es_count);
	WITH(spans[1].attributes, 0);
	WITH(arrays.origin_count, 3);
	WITH(arrays.destination_count, 3);
#undef WITH
	assert_int_equal(clew_model_from_arrays(t.model, &arrays, &copy), 0);
	clew_model_free(copy);
	clew_model_free(t.model);
	free(es);
	free(spans);
}

/* ---- many readers ---- */

struct reader {
	const struct clew_model *model;
	uint64_t sum;
};

static void *read_all(void *argument)
{
	struct reader *reader = argument;
	const struct clew_model *model = reader->model;
	struct clew_problem *problems;
	size_t count;

	for (int round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < model->span_count; i++) {
			char *path = clew_model_span_path(model, i), *text = text_span(model, i);

			reader->sum += strlen(path) + strlen(text) +
				       clew_model_es_at(model, i, 40) +
				       clew_model_category_of(model, i, 0);
			free(path);
			free(text);
		}
		reader->sum += clew_model_find_string(model, "s0.1.0") + clew_model_memory(model);
		if (clew_model_check(model, false, &problems, &count) == 0)
			free(problems);
	}
	return NULL;
}

static void test_readers(void **state)
{
	struct trace1 t = make_trace1();
	struct reader readers[4];
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		readers[i] = (struct reader){.model = t.model};
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 1; i < 4; i++)
		assert_int_equal(readers[i].sum, readers[0].sum);
	clew_model_free(t.model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace1),	     cmocka_unit_test(test_children),
		cmocka_unit_test(test_several_ends), cmocka_unit_test(test_negative_times),
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_attributes),   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_units),	     cmocka_unit_test(test_bulk_errors),
		cmocka_unit_test(test_bulk_limits),  cmocka_unit_test(test_bulk_whole),
		cmocka_unit_test(test_memory),	     cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

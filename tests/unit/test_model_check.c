/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The consistency check: each problem is found where it is, and what is merely odd is
 * not called one.
 */
#include <clew/model_make.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "model_text.h"

/* Problems as "kind span:es", '?' for a warning. */
static void expect_problems(const struct clew_model *model, bool warn, const char *expected)
{
	struct clew_problem *problems;
	struct text text = {0};
	size_t count;

	assert_int_equal(clew_model_check(model, warn, &problems, &count), 0);
	text_add(&text, "%s", "");
	for (size_t i = 0; i < count; i++) {
		assert_true(*problems[i].message);
		text_add(&text, "%s%s%s %u:%u", i ? ", " : "", problems[i].kind,
			 problems[i].warning ? "?" : "", problems[i].span, problems[i].es);
	}
	assert_string_equal(text.data, expected);
	free(text.data);
	free(problems);
}

/* ---- traces as they are made ---- */

struct trace {
	struct clew_maker *maker;
	uint32_t a, b, c;
};

/* a[0,100] with a child b[30,70], and c[40,70]. */
static struct trace begin(void)
{
	struct trace t;

	assert_int_equal(clew_maker_new(&t.maker), 0);
	assert_int_equal(clew_maker_root(t.maker, "a", 0, 100, &t.a), 0);
	assert_int_equal(clew_maker_child(t.maker, t.a, "b", 30, 70, &t.b), 0);
	assert_int_equal(clew_maker_root(t.maker, "c", 40, 70, &t.c), 0);
	return t;
}

static uint32_t add(struct trace *t, enum clew_mode mode)
{
	uint32_t dependency;

	assert_int_equal(clew_maker_dependency(t->maker, 0, mode, CLEW_NONE, &dependency), 0);
	return dependency;
}

static void join(struct trace *t, uint32_t from, clew_time out, uint32_t to, clew_time in)
{
	uint32_t dependency = add(t, CLEW_MODE_SINGLE);

	assert_int_equal(clew_maker_origin(t->maker, dependency, from, out, 0), 0);
	assert_int_equal(clew_maker_destination(t->maker, dependency, to, in, in, 0), 0);
}

static void expect_made(struct trace *t, bool warn, const char *expected)
{
	struct clew_model *model;

	assert_int_equal(clew_maker_finish(t->maker, &model), 0);
	clew_maker_free(t->maker);
	expect_problems(model, warn, expected);
	clew_model_free(model);
}

static void test_good(void **state)
{
	struct trace t = begin();

	(void)state;
	join(&t, t.b, 35, t.c, 40);
	join(&t, t.c, 70, t.b, 70);
	expect_made(&t, false, "");
}

static void test_missing_ends(void **state)
{
	struct trace t = begin();

	(void)state;
	assert_int_equal(clew_maker_origin(t.maker, add(&t, CLEW_MODE_SINGLE), t.a, 10, 0), 0);
	assert_int_equal(clew_maker_destination(t.maker, add(&t, CLEW_MODE_SINGLE), t.c, 50, 50, 0),
			 0);
	/* With neither end it is nowhere. */
	add(&t, CLEW_MODE_SINGLE);
	expect_made(&t, false, "no-origin 2:1, no-destination 0:0");
}

static void test_negative_edges(void **state)
{
	struct trace t = begin();

	(void)state;
	join(&t, t.a, 70, t.c, 45);
	expect_made(&t, false, "negative-edge 2:1");
	t = begin();
	join(&t, t.a, 70, t.c, 45);
	expect_made(&t, true, "negative-edge? 2:1");
	/* An edge that nobody can follow holds up nothing: the whole of c is reached. */
	t = begin();
	join(&t, t.a, 70, t.c, 40);
	expect_made(&t, true, "negative-edge? 2:0");
}

static void test_within_one_span(void **state)
{
	struct trace t = begin();

	(void)state;
	join(&t, t.a, 20, t.a, 20);
	join(&t, t.c, 50, t.c, 60);
	expect_made(&t, false, "");
}

static void test_cycle_of_a_trace(void **state)
{
	struct trace t = begin();

	(void)state;
	/* At one instant b waits for c and then tells it, and c does the same. Other origins push
	 * b's last one behind its wait. */
	join(&t, t.b, 55, t.a, 80);
	join(&t, t.c, 55, t.b, 55);
	join(&t, t.b, 55, t.a, 85);
	join(&t, t.b, 55, t.c, 55);
	expect_made(&t, false, "cycle 1:1");
}

/* ---- arrays, to break them ---- */

#define MOST 8

struct broken {
	struct clew_model *like;
	struct clew_model arrays;
	struct clew_es es[MOST];
	struct clew_span spans[3];
	struct clew_dependency dependencies[3];
	uint32_t origins[4], destinations[4];
};

/* Two spans a and b of two ESs each, all at 0 where `flat`, else [0,10] and [10,20]; dependencies
 * follow. */
static void begin_arrays(struct broken *broken, bool flat)
{
	struct trace t = begin();

	*broken = (struct broken){0};
	assert_int_equal(clew_maker_finish(t.maker, &broken->like), 0);
	clew_maker_free(t.maker);
	for (uint32_t i = 0; i < 4; i++)
		broken->es[i] = (struct clew_es){.start = flat ? 0 : i % 2 * 10,
						 .end = flat ? 0 : i % 2 * 10 + 10,
						 .span = i / 2,
						 .in = CLEW_NONE,
						 .out = CLEW_NONE,
						 .wait = CLEW_NONE};
	for (uint32_t i = 0; i < 2; i++)
		broken->spans[i] = (struct clew_span){.start = 0,
						      .end = flat ? 0 : 20,
						      .name = broken->like->spans[i].name,
						      .parent = CLEW_NONE,
						      .elementary = {2 * i, 2},
						      .attributes = CLEW_NONE};
	broken->arrays = (struct clew_model){.es = broken->es,
					     .spans = broken->spans,
					     .dependencies = broken->dependencies,
					     .origins = broken->origins,
					     .destinations = broken->destinations,
					     .es_count = 4,
					     .span_count = 2};
}

static void put_edge(struct broken *broken, uint32_t from, uint32_t to)
{
	uint32_t number = broken->arrays.dependency_count++;

	broken->dependencies[number] = (struct clew_dependency){
		.attributes = CLEW_NONE, .origins = {number, 1}, .destinations = {number, 1}};
	broken->origins[number] = from;
	broken->destinations[number] = to;
	broken->arrays.origin_count = broken->arrays.destination_count = number + 1;
	broken->es[from].out = number;
	broken->es[to].in = number;
}

static void expect_broken(struct broken *broken, const char *expected)
{
	struct clew_model *model;

	assert_int_equal(clew_model_from_arrays(broken->like, &broken->arrays, &model), 0);
	expect_problems(model, false, expected);
	clew_model_free(model);
	clew_model_free(broken->like);
}

enum { A0, A1, B0, B1 };

static void test_cycles(void **state)
{
	struct broken broken;

	(void)state;
	begin_arrays(&broken, true);
	put_edge(&broken, B1, A1);
	put_edge(&broken, A1, B0);
	expect_broken(&broken, "cycle 0:1");
	begin_arrays(&broken, true);
	put_edge(&broken, B1, B0);
	expect_broken(&broken, "unreachable 1:0");
	begin_arrays(&broken, true);
	put_edge(&broken, A1, A0);
	put_edge(&broken, B1, B0);
	expect_broken(&broken, "unreachable 0:0, unreachable 1:0");
	begin_arrays(&broken, true);
	put_edge(&broken, A0, B0);
	put_edge(&broken, A1, B1);
	expect_broken(&broken, "");
	/* From an ES to its own successor, and to itself. */
	begin_arrays(&broken, true);
	put_edge(&broken, A0, A1);
	put_edge(&broken, B0, B0);
	expect_broken(&broken, "");
	/* With time between them the same edges go back in time, which is another problem. */
	begin_arrays(&broken, false);
	put_edge(&broken, B1, A1);
	put_edge(&broken, A1, B0);
	expect_broken(&broken, "negative-edge 0:1, negative-edge 1:0");
}

static void test_order(void **state)
{
	struct broken broken;

	(void)state;
	begin_arrays(&broken, false);
	broken.es[A1].start = 5;
	expect_broken(&broken, "overlap 0:1");
	begin_arrays(&broken, false);
	broken.es[A1].start = -5;
	expect_broken(&broken, "order 0:1");
	begin_arrays(&broken, false);
	broken.es[B0].start = 1;
	broken.es[B1].end = 19;
	expect_broken(&broken, "order 1:0, order 1:1");
	begin_arrays(&broken, false);
	broken.es[A0].start = broken.spans[0].start = 11;
	broken.es[A1].start = 11;
	expect_broken(&broken, "negative-length 0:0");
	begin_arrays(&broken, false);
	broken.es[A1].start = 25;
	expect_broken(&broken, "negative-length 0:1");
}

static void test_symmetry(void **state)
{
	struct broken broken;

	(void)state;
	begin_arrays(&broken, false);
	put_edge(&broken, A0, B1);
	broken.es[A0].out = CLEW_NONE;
	expect_broken(&broken, "symmetry 0:0");
	begin_arrays(&broken, false);
	put_edge(&broken, A0, B1);
	broken.es[B1].in = CLEW_NONE;
	expect_broken(&broken, "symmetry 1:1");
	begin_arrays(&broken, false);
	put_edge(&broken, A0, B1);
	broken.es[A1].out = 0;
	broken.es[A1].in = 0;
	expect_broken(&broken, "symmetry 0:1, symmetry 0:1");
	/* Twice among the origins. */
	begin_arrays(&broken, false);
	put_edge(&broken, A0, B1);
	broken.dependencies[0].mode = CLEW_MODE_AND;
	broken.dependencies[0].origins.count = 2;
	broken.origins[1] = A0;
	broken.arrays.origin_count = 2;
	expect_broken(&broken, "symmetry 0:0");
}

static void test_trigger(void **state)
{
	static const char *const expected[] = {"trigger 1:0", "trigger 0:0", ""};
	struct broken broken;

	(void)state;
	for (unsigned mode = 0; mode < 3; mode++) {
		begin_arrays(&broken, false);
		put_edge(&broken, A0, B1);
		broken.dependencies[0].mode = mode;
		broken.dependencies[0].origins.count = 2;
		broken.origins[1] = B0;
		broken.arrays.origin_count = 2;
		broken.es[B0].out = 0;
		broken.es[A0].end = 9;
		expect_broken(&broken, expected[mode]);
	}
}

static void test_owner(void **state)
{
	struct broken broken;

	(void)state;
	begin_arrays(&broken, false);
	broken.es[A1].span = 1;
	expect_broken(&broken, "owner 1:4294967295");
	/* In no span's range. */
	begin_arrays(&broken, false);
	broken.es[4] = broken.es[3];
	broken.arrays.es_count = 5;
	expect_broken(&broken, "owner 1:2");
}

/* A long chain of cycles does not exhaust the stack. */
static void test_deep(void **state)
{
	enum { COUNT = 300000 };
	struct broken broken;
	struct clew_model *model;
	struct clew_es *es = calloc(COUNT, sizeof(*es));

	(void)state;
	assert_non_null(es);
	begin_arrays(&broken, true);
	for (uint32_t i = 0; i < COUNT; i++)
		es[i] = (struct clew_es){.in = CLEW_NONE, .out = CLEW_NONE, .wait = CLEW_NONE};
	broken.arrays.es = es;
	broken.arrays.es_count = COUNT;
	broken.arrays.span_count = 1;
	broken.spans[0].elementary = (struct clew_range){0, COUNT};
	put_edge(&broken, A0, A0);
	es[COUNT - 1].out = 0;
	es[0].in = 0;
	broken.origins[0] = COUNT - 1;
	broken.destinations[0] = 0;
	assert_int_equal(clew_model_from_arrays(broken.like, &broken.arrays, &model), 0);
	expect_problems(model, false, "unreachable 0:0");
	clew_model_free(model);
	clew_model_free(broken.like);
	free(es);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_missing_ends),
		cmocka_unit_test(test_negative_edges),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_within_one_span),
		cmocka_unit_test(test_cycle_of_a_trace),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_symmetry),
		cmocka_unit_test(test_trigger),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

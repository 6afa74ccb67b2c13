/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Patterns: what they select, in which order, in which hierarchy.
 */
#include "query_cases.h"

#include <pthread.h>

static void test_paths(void **state)
{
	struct clew_model *model = letters();

	(void)state;
	expect(model, "a", "a");
	expect(model, "b", "");
	expect(model, "nothing", "");
	expect(model, "a/b/c", "a/b/c");
	expect(model, "**/c", "a/c a/b/c");
	expect(model, "a/c/**", "a/c a/c/d a/c/d/e");
	expect(model, "a/*/*", "a/b/c a/c/d");
	expect(model, "*/*/c", "a/b/c");
	expect(model, "*", "a f");
	expect(model, "**", "a f a/b a/c a/b/c a/c/d a/c/d/e");
	expect(model, "all", "a f a/b a/c a/b/c a/c/d a/c/d/e");
	expect(model, "ANY", "a f a/b a/c a/b/c a/c/d a/c/d/e");
	expect(model, "**/**", "a f a/b a/c a/b/c a/c/d a/c/d/e");
	expect(model, "**/([aeiou])", "a a/c/d/e");
	expect(model, "a/*", "a/b a/c");
	expect(model, "a/**/e", "a/c/d/e");
	expect(model, "**/d/*", "a/c/d/e");
	expect(model, "a/(b|c)", "a/b a/c");
	expect(model, "*/**", "a f a/b a/c a/b/c a/c/d a/c/d/e");
	clew_model_free(model);
}

/* Any number of levels never lets one span be two of a path. */
static void test_levels(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t x = root(maker, "x", 0, 100), y = root(maker, "y", 0, 100), inner;
	struct clew_model *model;

	(void)state;
	inner = child(maker, x, "x", 10, 90);
	child(maker, child(maker, inner, "z", 20, 80), "x", 30, 40);
	child(maker, y, "x", 10, 20);
	model = finish(maker);
	expect(model, "y/**/y", "");
	expect(model, "x/**/x", "x/x x/x/z/x");
	expect(model, "**/x/**/x", "x/x x/x/z/x");
	expect(model, "**/x/**", "x x/x x/x/z x/x/z/x y/x");
	expect(model, "**/x/**/z/**/x", "x/x/z/x");
	expect(model, "x/*/**/x", "x/x/z/x");
	clew_model_free(model);
	model = trace1();
	expect(model, "s0.0.0/**/(0)", "s0.0.0/0");
	clew_model_free(model);
}

/* A group's matches first, then what is below each of them, then what is below the others. */
static void test_order(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t top = root(maker, "top", 0, 100), a = child(maker, top, "a", 0, 40),
		 x = child(maker, top, "x", 50, 90);
	struct clew_model *model;

	(void)state;
	child(maker, a, "x", 10, 20);
	child(maker, x, "y", 60, 70);
	child(maker, x, "x", 75, 80);
	model = finish(maker);
	expect(model, "**/x/**", "top/x top/x/y top/x/x top/a/x");
	expect(model, "**/x", "top/x top/a/x top/x/x");
	clew_model_free(model);
}

static void test_lists(void **state)
{
	struct clew_model *model = letters();

	(void)state;
	expect(model, "a/b/c,a/c/d", "a/b/c a/c/d");
	expect(model, "a , a", "a a");
	expect(model, "f, **/c, nothing", "f a/c a/b/c");
	expect(model, "(f, a)", "f a");
	expect(model, "((a/b))", "a/b");
	clew_model_free(model);
}

/* `(x)` is a regular expression, found anywhere; `x` is a whole name. */
static void test_regex_or_name(void **state)
{
	struct clew_maker *maker = begin();
	struct clew_model *model;

	(void)state;
	root(maker, "a", 0, 1);
	root(maker, "ab", 0, 1);
	root(maker, "b", 0, 1);
	model = finish(maker);
	expect(model, "a", "a");
	expect(model, "(a)", "a ab");
	expect(model, "('a')", "a ab");
	expect(model, "((a))", "a ab");
	expect(model, "(^b$)", "b");
	expect(model, "'a'", "a");
	expect(model, "( ^a )", "a ab");
	expect(model, "(^(a|b)$)", "a b");
	expect(model, "('^(a|b)$')", "a b");
	expect(model, "(^(a|b\\)$)", "a b");
	expect(model, "(\\^b)", "b");
	expect(model, "(\\\\^b)", "");
	expect(model, "(^[ab]+$)", "a ab b");
	expect(model, "(^a) @ 0%", "a[0,1]@0 ab[0,1]@0");
	clew_model_free(model);
}

static void test_odd_names(void **state)
{
	static const char *const names[] = {
		"at-foo", "or.1",  "all2",   "any_x", "duration_ms", "attach", "and",
		"or",	  "where", "latest", "all",   "at",	     "a b",    "/",
		"a(b",	  "a=b",   "@",	     "a->b",  "100%",	     "<init>", "\xc3\xa9t\xc3\xa9"};
	static const char *const plain[] = {"at-foo",
					    "or.1",
					    "all2",
					    "any_x",
					    "duration_ms",
					    "attach",
					    "and",
					    "or",
					    "where",
					    "latest",
					    "a\\ b",
					    "\\/",
					    "a(b",
					    "a=b",
					    "<init\\>",
					    "'all'",
					    "@",
					    "'a->b'",
					    "a\\-\\>b",
					    "100\\%",
					    "\"at\"",
					    "at",
					    "\xc3\xa9t\xc3\xa9",
					    "'a\\ b'"};
	struct clew_maker *maker = begin();
	struct clew_model *model;
	uint32_t top;

	(void)state;
	top = root(maker, "top", 0, 1000);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		root(maker, names[i], 0, 10);
		child(maker, top, names[i], (clew_time)(20 * i), (clew_time)(20 * i + 10));
	}
	model = finish(maker);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		char pattern[100], *found, *below, expected[200];

		found = select_in(model, 0, plain[i]);
		if (!found[0] || strstr(found, " top") || strstr(found, ": "))
			fail_msg("%s selects '%s'", plain[i], found);
		snprintf(pattern, sizeof(pattern), "top/%s", plain[i]);
		snprintf(expected, sizeof(expected), "top/%s", found);
		below = select_in(model, 0, pattern);
		assert_string_equal(below, expected);
		free(found);
		free(below);
	}
	expect(model, "top/all", "top/all");
	expect(model, "top where total_duration > duration(5ns)", "top");
	expect(model, "'where' where total_duration > duration(5ns)", "where");
	expect(model, "where where total_duration > duration(5ns)", "where");
	expect(model, "at at 0%", "at[0,10]@0");
	clew_model_free(model);
}

static void test_categories(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t structural = hierarchy(maker, "structural"), causal = hierarchy(maker, "causal"),
		 last;
	struct clew_model *model;

	(void)state;
	assert_int_equal(clew_maker_place(maker, root(maker, "root", 0, 20),
					  category(maker, structural, "process 1")),
			 0);
	assert_int_equal(clew_maker_place(maker, root(maker, "root2", 20, 40),
					  category(maker, structural, "process 1/thread 1")),
			 0);
	assert_int_equal(clew_maker_place(maker, root(maker, "root3", 40, 60),
					  category(maker, causal, "cpu 1")),
			 0);
	last = root(maker, "root4", 60, 100);
	child(maker, last, "child", 80, 100);
	assert_int_equal(clew_maker_place(maker, last, category(maker, causal, "cpu 2")), 0);
	model = finish(maker);
	expect_in(model, 0, "** > (root)", "root root2");
	expect_in(model, 1, "** > (root)", "root3 root4");
	expect_in(model, 1, "** > **", "root3 root4 root4/child");
	expect_in(model, 0, "process\\ 1 > *", "root");
	expect_in(model, 0, "'process\\ 1' > *", "root");
	expect_in(model, 0, "process\\ 1/** > *", "root root2");
	expect_in(model, 0, "*/* > *", "root2");
	expect_in(model, 1, "(2) > */child, (1) > *", "root4/child root3");
	expect_in(model, 0, "cpu\\ 1 > *", "");
	expect_in(model, CLEW_NONE, "nothing > root", "root");
	clew_model_free(model);
}

static void expect_categories(const struct clew_model *model, uint32_t in_hierarchy,
			      const char *pattern, bool span_paths, const char *expected)
{
	struct clew_query_options options = {.hierarchy = in_hierarchy};
	char found[200] = "", *end = found;
	struct clew_query_error error;
	struct clew_query *query;
	uint32_t *categories;
	size_t count;

	assert_int_equal(clew_query_compile(pattern, strlen(pattern), &query, &error), 0);
	assert_int_equal(
		clew_query_categories(query, model, &options, span_paths, &categories, &count), 0);
	for (size_t i = 0; i < count; i++) {
		char *path = clew_model_category_path(model, categories[i]);

		assert_non_null(path);
		end += sprintf(end, "%s%s", i > 0 ? " " : "", path);
		free(path);
	}
	assert_string_equal(found, expected);
	free(categories);
	clew_query_free(query);
}

static void test_finding_categories(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t first = hierarchy(maker, "first"), second = hierarchy(maker, "second");
	struct clew_model *model;

	(void)state;
	category(maker, first, "a/b/c");
	category(maker, first, "a/c/d/e");
	category(maker, second, "a/z");
	model = finish(maker);
	expect_categories(model, first, "a/b/c > *", false, "a/b/c");
	expect_categories(model, first, "**/c > *", false, "a/c a/b/c");
	expect_categories(model, first, "a/c/** > nothing", false, "a/c a/c/d a/c/d/e");
	expect_categories(model, first, "a/*/*", false, "");
	expect_categories(model, first, "a/*/*", true, "a/b/c a/c/d");
	expect_categories(model, second, "**/(.) > *, a", true, "a a/z a");
	expect_categories(model, CLEW_NONE, "** > *", true, "");
	expect_categories(model, first, "** > * -> *", true, "");
	clew_model_free(model);
}

static void test_conditions(void **state)
{
	struct clew_model *model = trace1();

	(void)state;
	/* running: s0.0.0 20, 0 50, 3 20, s0.1.0 40, s1.0.0 20 */
	expect(model, "** where total_duration >= duration(80ns)", "s0.0.0 s0.0.0/0");
	expect(model, "** where self_unsuspended_duration >= duration(30ns)", "s0.1.0 s0.0.0/0");
	expect(model, "** where suspended_duration == duration(0)", "s0.1.0 s1.0.0");
	expect(model, "** where suspended_duration > duration(10ns)", "s0.0.0 s0.0.0/0");
	expect(model, "** where total_unsuspended_duration == duration(90ns)", "s0.0.0");
	expect(model, "** where total_unsuspended_duration == duration(70ns)", "s0.0.0/0");
	expect(model, "** where total_duration != duration(0.03us)",
	       "s0.0.0 s0.1.0 s1.0.0 s0.0.0/0");
	expect(model, "** where total_duration<=duration(40ns)&&total_duration>duration(20ns)",
	       "s0.1.0 s0.0.0/0/3");
	expect(model, "** where total_duration < duration(-1ns)", "");
	expect(model, "**/3 WHERE (TOTAL_DURATION==DURATION(30ns))", "s0.0.0/0/3");
	/* and binds tighter than or. */
	expect(model,
	       "** where total_duration == duration(100ns) or total_duration == duration(80ns) and "
	       "suspended_duration == duration(1ns) or "
	       "total_duration == duration(20ns)",
	       "s0.0.0 s1.0.0");
	expect(model,
	       "** where (total_duration == duration(100ns) or total_duration == duration(80ns)) "
	       "and (suspended_duration == "
	       "duration(30ns))",
	       "s0.0.0/0");
	expect(model,
	       "** where total_duration > duration(20ns) and total_duration < duration(90ns) and "
	       "suspended_duration > duration(0)",
	       "s0.0.0/0 s0.0.0/0/3");
	clew_model_free(model);
}

static void test_spawning(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t a, b, c, d, e, f, i, inner;
	struct clew_model *model;

	(void)state;
	/* A spawns B and C, B's child spawns D, C spawns E, E spawns A again; F nobody's, I by F/g.
	 */
	a = root(maker, "A", 0, 100);
	b = root(maker, "B", 10, 100);
	c = root(maker, "C", 20, 100);
	d = root(maker, "D", 30, 100);
	e = root(maker, "E", 30, 100);
	f = root(maker, "F", 0, 100);
	i = root(maker, "I", 60, 100);
	inner = child(maker, b, "inner", 20, 80);
	child(maker, d, "leaf", 50, 60);
	edge(maker, "fork", a, 10, b, 10, 10);
	edge(maker, "spawn", a, 20, c, 20, 20);
	edge(maker, "submit", inner, 30, d, 30, 30);
	edge(maker, "spawn", c, 30, e, 30, 30);
	edge(maker, "spawn", e, 40, a, 40, 40);
	edge(maker, "spawn", child(maker, f, "g", 40, 70), 60, i, 60, 60);
	edge(maker, "send", f, 10, a, 30, 30);
	model = finish(maker);
	expect(model, "A -> *", "B C");
	expect(model, "A -> **", "B C B/inner");
	expect(model, "A -> B/*", "B/inner");
	expect(model, "A -> ** -> **", "D E D/leaf");
	expect(model, "A -> * -> *", "E");
	expect(model, "A => *", "A B C D E");
	expect(model, "C => **", "A B C D E B/inner D/leaf");
	expect(model, "F -> *", "");
	expect(model, "F/** -> *", "I");
	expect(model, "F/**=>*", "I");
	expect(model, "all->I", "I");
	expect(model, "A -> C, B, (.)", "C B B C");
	expect(model, "A, C -> *", "B C E");
	expect(model, "A -> * where total_duration > duration(80ns)", "B");
	expect(model, "A -> B @ 0%", "B[10,20]@10");
	clew_model_free(model);
	model = trace1();
	expect(model, "s0.0.0/** -> **", "s0.1.0 s1.0.0");
	expect(model, "s0.0.0 -> **", "");
	expect_in(model, 1, "s0.0.0/** -> **/t0.1/* > **", "s0.1.0");
	clew_model_free(model);
}

static void test_forest_rules(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t a = root(maker, "a", 0, 100), b = root(maker, "b", 0, 100),
		 c = root(maker, "c", 50, 100), count;
	struct clew_forest_rule rule = {};
	struct clew_forest_problem problem;
	struct clew_forest *forest;
	const uint32_t *roots;
	struct clew_model *model;

	(void)state;
	edge(maker, "other", a, 60, c, 60, 60);
	edge(maker, "start", a, 70, c, 70, 70);
	edge(maker, "start", b, 80, c, 80, 80);
	edge(maker, "start", b, 90, c, 90, 90);
	model = finish(maker);
	rule.type = 3;
	assert_string_equal(clew_model_string(model, model->types[rule.type]), "start");
	assert_int_equal(clew_forest_default_rules(model, NULL, 0), 0);

	assert_int_equal(clew_forest_new(model, &rule, 1, &forest, &problem), -EINVAL);
	assert_int_equal(problem.root, c);
	assert_false(problem.not_first);
	rule.first_only = rule.several_times = true;
	assert_int_equal(clew_forest_new(model, &rule, 1, &forest, &problem), -EINVAL);
	assert_true(problem.not_first);
	rule.first_only = false;
	assert_int_equal(clew_forest_new(model, &rule, 1, &forest, NULL), 0);
	assert_int_equal(clew_forest_spawner(forest, c), a);
	assert_int_equal(clew_forest_spawner(forest, a), CLEW_NONE);
	roots = clew_forest_spawned(forest, a, &count);
	assert_int_equal(count, 1);
	assert_int_equal(roots[0], c);
	roots = clew_forest_spawned(forest, b, &count);
	assert_int_equal(count, 1);
	assert_int_equal(roots[0], c);
	clew_forest_spawned(forest, c, &count);
	assert_int_equal(count, 0);
	roots = clew_forest_unspawned(forest, &count);
	assert_int_equal(count, 2);
	assert_int_equal(roots[0], a);
	assert_int_equal(roots[1], b);
	clew_forest_free(forest);
	clew_model_free(model);
}

static void test_empty_trace(void **state)
{
	struct clew_model *model = finish(begin());

	(void)state;
	expect(model, "**", "");
	expect(model, "** > **", "");
	expect(model, "a => **", "");
	expect(model, "** @ duration(0)", "");
	expect(model, "** where total_unsuspended_duration > duration(1s)", "");
	clew_model_free(model);
}

static size_t count_of(const struct clew_model *model, const char *pattern)
{
	struct clew_query_error error;
	struct clew_query *query;
	uint32_t *spans;
	size_t count;

	assert_int_equal(clew_query_compile(pattern, strlen(pattern), &query, &error), 0);
	assert_int_equal(clew_query_spans(query, model, NULL, &spans, &count), 0);
	free(spans);
	clew_query_free(query);
	return count;
}

/* Neither depth nor the number of ways to read a path costs more than its length. */
static void test_deep_trace(void **state)
{
	enum { DEPTH = 20000 };
	struct clew_maker *maker = begin();
	uint32_t span = root(maker, "x", 0, 1);
	struct clew_model *model;

	(void)state;
	for (int i = 1; i < DEPTH; i++)
		assert_int_equal(clew_maker_child_alone(maker, span, "x", 0, 1, &span), 0);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	assert_int_equal(count_of(model, "**"), DEPTH);
	assert_int_equal(count_of(model, "**/x/**/x/**/x/**/x/**/x/**/x/**/x/**"), DEPTH - 6);
	assert_int_equal(count_of(model, "**/x/**/x/**/(x)/**/x/**/x/**/x/**/y"), 0);
	assert_int_equal(count_of(model, "** where total_unsuspended_duration >= duration(100ns)"),
			 DEPTH - 99);
	clew_model_free(model);
}

struct reader {
	const struct clew_query *query;
	const struct clew_model *model;
	size_t wrong;
};

static void *read_often(void *context)
{
	struct reader *reader = context;

	for (int i = 0; i < 200; i++) {
		uint32_t *spans;
		size_t count;

		if (clew_query_spans(reader->query, reader->model, NULL, &spans, &count) != 0 ||
		    count != 2)
			reader->wrong++;
		else
			free(spans);
	}
	return NULL;
}

/* One query and one trace, many threads. */
static void test_threads(void **state)
{
	enum { THREADS = 4 };
	static const char pattern[] =
		"** > s0.0.0/** -> (^s[01]) where total_unsuspended_duration > duration(0)";
	struct clew_model *model = trace1();
	struct reader readers[THREADS];
	struct clew_query_error error;
	struct clew_query *query;
	pthread_t threads[THREADS];

	(void)state;
	assert_int_equal(clew_query_compile(pattern, strlen(pattern), &query, &error), 0);
	for (int i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){.query = query, .model = model};
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, &readers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(readers[i].wrong, 0);
	}
	clew_query_free(query);
	clew_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_regex_or_name),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_categories),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_spawning),
		cmocka_unit_test(test_forest_rules),
		cmocka_unit_test(test_empty_trace),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_finding_categories),
		cmocka_unit_test(test_deep_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

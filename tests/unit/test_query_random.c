/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random patterns on random small traces, against what the words of docs/patterns.md
 * say, done naively: one function decides whether a path of names matches, another
 * one visits groups of siblings in order. The text of a pattern is made at random,
 * too, so that what it says is known beforehand.
 */
#include "query_cases.h"

enum { ROUNDS = 12000, MOST_SPANS = 24, MOST_FRAGMENTS = 6, LETTERS = 3 };

static uint64_t seed = 20240607;

static unsigned pick(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

struct tree {
	unsigned count;
	char names[MOST_SPANS];
	int parents[MOST_SPANS]; /* -1: a root; always of a lower number */
	clew_time starts[MOST_SPANS], ends[MOST_SPANS];
};

/* 'a'..: the name; 'A'..: a regular expression for it or the next letter; '*' one level; '+' any
 * number. */
struct path {
	unsigned count;
	char fragments[MOST_FRAGMENTS];
};

static struct tree random_tree(void)
{
	struct tree tree = {.count = 1 + pick(MOST_SPANS)};

	for (unsigned i = 0; i < tree.count; i++) {
		tree.names[i] = (char)('a' + pick(LETTERS));
		tree.parents[i] = i == 0 || pick(4) == 0 ? -1 : (int)pick(i);
		/* Nested extents, one after the other where they have one parent. */
		tree.starts[i] = tree.parents[i] < 0 ? 0 : tree.starts[tree.parents[i]];
		tree.ends[i] = tree.starts[i];
	}
	return tree;
}

static struct clew_model *model_of(const struct tree *tree)
{
	struct clew_maker *maker = begin();
	char name[2] = "";

	for (unsigned i = 0; i < tree->count; i++) {
		uint32_t span;

		name[0] = tree->names[i];
		if (tree->parents[i] < 0)
			span = root(maker, name, tree->starts[i], tree->ends[i]);
		else
			assert_int_equal(clew_maker_child_alone(maker, (uint32_t)tree->parents[i],
								name, tree->starts[i],
								tree->ends[i], &span),
					 0);
		assert_int_equal(span, i);
	}
	return finish(maker);
}

static struct path random_path(void)
{
	struct path path = {.count = 1 + pick(MOST_FRAGMENTS)};

	for (unsigned i = 0; i < path.count; i++) {
		unsigned kind = pick(10);

		path.fragments[i] = (char)(kind < 4   ? '+'
					   : kind < 5 ? '*'
					   : kind < 8 ? 'a' + (int)pick(LETTERS)
						      : 'A' + (int)pick(LETTERS));
	}
	return path;
}

static void write_path(const struct path *path, char *text)
{
	for (unsigned i = 0; i < path->count; i++) {
		char fragment = path->fragments[i];

		text += sprintf(text, "%s", i > 0 ? pick(5) == 0 ? " / " : "/" : "");
		if (fragment == '+')
			text += sprintf(text, "**");
		else if (fragment >= 'A' && fragment <= 'Z')
			text += sprintf(text, "([%c%c])", fragment - 'A' + 'a',
					fragment - 'A' + 'b');
		else
			text += sprintf(text, "%c", fragment);
	}
}

static bool fits(char fragment, char name)
{
	if (fragment >= 'A' && fragment <= 'Z')
		return name - 'a' == fragment - 'A' || name - 'a' == fragment - 'A' + 1;
	return fragment == '*' || fragment == name;
}

static bool path_matches(const char *fragments, unsigned fragment_count, const char *names,
			 unsigned name_count)
{
	if (fragment_count == 0)
		return name_count == 0;
	if (fragments[0] == '+')
		return path_matches(fragments + 1, fragment_count - 1, names, name_count) ||
		       (name_count > 0 &&
			path_matches(fragments, fragment_count, names + 1, name_count - 1));
	return name_count > 0 && fits(fragments[0], names[0]) &&
	       path_matches(fragments + 1, fragment_count - 1, names + 1, name_count - 1);
}

static bool selects(const struct tree *tree, const struct path *path, unsigned span)
{
	char names[MOST_SPANS];
	unsigned at = MOST_SPANS;

	for (int i = (int)span; i >= 0; i = tree->parents[i])
		names[--at] = tree->names[i];
	return path_matches(path->fragments, path->count, names + at, MOST_SPANS - at);
}

struct selected {
	unsigned count;
	uint32_t spans[MOST_SPANS];
};

static void add(struct selected *selected, unsigned span)
{
	for (unsigned i = 0; i < selected->count; i++)
		if (selected->spans[i] == span)
			return;
	selected->spans[selected->count++] = span;
}

static bool only_levels(const struct path *path, unsigned from)
{
	while (from < path->count && path->fragments[from] == '+')
		from++;
	return from == path->count;
}

/* For the group of all whose parent is `parent`; exponential, and meant to be. */
static void visit(const struct tree *tree, const struct path *path, int parent, unsigned from,
		  struct selected *selected)
{
	if (from == path->count)
		return;
	if (path->fragments[from] == '+') {
		if (only_levels(path, from))
			for (unsigned i = 0; i < tree->count; i++)
				if (tree->parents[i] == parent)
					add(selected, i);
		visit(tree, path, parent, from + 1, selected);
		for (unsigned i = 0; i < tree->count; i++)
			if (tree->parents[i] == parent)
				visit(tree, path, (int)i, from, selected);
		return;
	}
	for (unsigned i = 0; i < tree->count; i++)
		if (tree->parents[i] == parent && fits(path->fragments[from], tree->names[i]) &&
		    only_levels(path, from + 1))
			add(selected, i);
	for (unsigned i = 0; i < tree->count; i++)
		if (tree->parents[i] == parent && fits(path->fragments[from], tree->names[i]))
			visit(tree, path, (int)i, from + 1, selected);
}

static void test_random(void **state)
{
	unsigned long selected_in_all = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct tree tree = random_tree();
		struct clew_model *model = model_of(&tree);

		for (unsigned i = 0; i < 4; i++) {
			struct path path = random_path();
			struct selected expected = {};
			struct clew_query_error error;
			struct clew_query *query;
			uint32_t *spans;
			unsigned fitting = 0;
			size_t count;
			char text[200];

			write_path(&path, text);
			visit(&tree, &path, -1, 0, &expected);
			for (unsigned span = 0; span < tree.count; span++)
				fitting += selects(&tree, &path, span);
			assert_int_equal(fitting, expected.count);
			assert_int_equal(clew_query_compile(text, strlen(text), &query, &error), 0);
			assert_int_equal(clew_query_spans(query, model, NULL, &spans, &count), 0);
			if (count != expected.count ||
			    (count > 0 &&
			     memcmp(spans, expected.spans, count * sizeof(*spans)) != 0))
				fail_msg("round %u: %s selects %zu spans, %u are right", round,
					 text, count, expected.count);
			selected_in_all += count;
			free(spans);
			clew_query_free(query);
		}
		clew_model_free(model);
	}
	assert_in_range(selected_in_all, ROUNDS, ROUNDS * 4u * MOST_SPANS);
}

/* Lengths, gaps and percentages of one span of random ESs, in integers of 128 bits. */
static void test_random_positions(void **state)
{
	enum { MOST_ES = 6 };

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_maker *maker = begin();
		clew_time starts[MOST_ES], ends[MOST_ES], at = (clew_time)pick(100) - 50,
							  running = 0, gaps = 0;
		unsigned count = 1 + pick(MOST_ES), decimals = pick(4), whole = pick(100),
			 fraction = 0, scale = 1, es = 0;
		__int128 before = 0, percent;
		char pattern[200], text[40], expected[100];
		struct clew_model *model;
		uint32_t span;

		for (unsigned i = 0; i < count; i++) {
			starts[i] = at + (i > 0 ? 1 + pick(20) : 0);
			at = ends[i] = starts[i] + pick(4) * pick(10);
			running += ends[i] - starts[i];
			gaps += i > 0 ? starts[i] - ends[i - 1] : 0;
		}
		span = root(maker, "s", starts[0], ends[count - 1]);
		for (unsigned i = 1; i < count; i++)
			assert_int_equal(clew_maker_suspend(maker, span, ends[i - 1], starts[i], 0,
							    CLEW_NONE, CLEW_NONE),
					 0);
		assert_int_equal(clew_maker_finish(maker, &model), 0);
		clew_maker_free(maker);

		for (unsigned i = 0; i < decimals; i++) {
			fraction = fraction * 10 + pick(10);
			scale *= 10;
		}
		if (decimals > 0)
			sprintf(text, "%u.%0*u", whole, (int)decimals, fraction);
		else
			sprintf(text, "%u", whole);
		/* All times hundred times the scale: nothing is rounded before the end. */
		percent = ((__int128)whole * scale + fraction) * running;
		while (percent != 0 &&
		       before + ends[es] - starts[es] <
			       (percent + 100 * (__int128)scale - 1) / (100 * (__int128)scale)) {
			before += ends[es] - starts[es];
			es++;
		}
		at = starts[es] + (clew_time)(percent / (100 * (__int128)scale) - before);
		if (whole == 0 && fraction == 0)
			at = starts[0];
		sprintf(expected, "s[%lld,%lld]@%lld", (long long)starts[es], (long long)ends[es],
			(long long)at);
		sprintf(pattern,
			"s where self_unsuspended_duration == duration(%lldns) and "
			"suspended_duration == duration(%lldns) @ %s%%",
			(long long)running, (long long)gaps, text);
		expect(model, pattern, expected);
		clew_model_free(model);
	}
}

struct forest {
	unsigned count;
	int spawners[MOST_SPANS]; /* of each root span another one, -1 */
};

static bool reached(const struct forest *forest, unsigned from, unsigned span, bool any_depth)
{
	unsigned steps = 0;

	for (int at = forest->spawners[span]; at >= 0 && steps++ < MOST_SPANS;
	     at = forest->spawners[at]) {
		if ((unsigned)at == from)
			return true;
		if (!any_depth)
			return false;
	}
	return false;
}

/* Finds the spawned tasks from below instead of from above; cycles too. */
static void test_random_forests(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS / 4; round++) {
		struct forest forest = {.count = 2 + pick(MOST_SPANS - 2)};
		struct clew_maker *maker = begin();
		struct clew_model *model;
		unsigned from = pick(forest.count);

		for (unsigned i = 0; i < forest.count; i++) {
			char name[10];

			sprintf(name, "s%u", i);
			root(maker, name, 0, 1000);
		}
		for (unsigned i = 0; i < forest.count; i++) {
			forest.spawners[i] = (int)pick(forest.count + 3);
			if (forest.spawners[i] >= (int)forest.count)
				forest.spawners[i] = -1;
			else
				edge(maker, pick(2) ? "spawn" : "fork",
				     (uint32_t)forest.spawners[i], pick(1000), i, 500, 500);
		}
		model = finish(maker);
		for (unsigned any_depth = 0; any_depth < 2; any_depth++) {
			char pattern[40], expected[MOST_SPANS * 5] = "", *end = expected;

			for (unsigned i = 0; i < forest.count; i++)
				if (reached(&forest, from, i, any_depth))
					end += sprintf(end, "%ss%u", end > expected ? " " : "", i);
			sprintf(pattern, "s%u %s *", from, any_depth ? "=>" : "->");
			expect(model, pattern, expected);
		}
		clew_model_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_random_positions),
		cmocka_unit_test(test_random_forests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

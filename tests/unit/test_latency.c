/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Groups of times against a brute-force model: random forests of calls, whose paths are compared as
 * text.
 */
#include "explain/latency.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"

#include "builder/findings.h"

#define CALLS 4000
#define NAMES 4
#define DEEP  6

/* A call: the path of functions, and the thread that is its property. */
struct call {
	unsigned depth;
	unsigned path[DEEP];
	unsigned thread;
	uint64_t ns;
};

static const char *const names[NAMES] = {"parse", "store", "flush", "parse"};
/* Two functions of one name. */
static const char *const places[NAMES] = {"/bin/a+1", "/bin/a+2", "/bin/b+1", "/bin/b+2"};
static const char *const threads[] = {"7", "8"};

static struct call draw_call(void)
{
	struct call call = {.depth = 1 + draw_word() % DEEP,
			    .thread = draw_word() % 2,
			    .ns = draw_word() % 1000000};

	for (unsigned i = 0; i < call.depth; i++)
		call.path[i] = draw_word() % NAMES;
	return call;
}

static struct clew_latency_name name_of(unsigned function, unsigned thread)
{
	return (struct clew_latency_name){.name = names[function],
					  .place = places[function],
					  .properties = {{"tid", threads[thread]}},
					  .property_count = 1};
}

static void add_call(struct clew_latency *latency, const struct call *call)
{
	uint64_t split[CLEW_SPLIT_COUNT] = {call->ns / 3, 0, call->ns - call->ns / 3};
	uint32_t group = CLEW_NO_NUMBER;

	for (unsigned i = 0; i < call->depth; i++) {
		struct clew_latency_name name = name_of(call->path[i], call->thread);

		assert_int_equal(clew_latency_place(latency, group, &name, &group), 0);
		assert_int_not_equal(group, CLEW_NO_NUMBER);
	}
	assert_int_equal(clew_latency_add(latency, group, call->ns, 0, split), 0);
}

static bool same_path(const struct call *a, const struct call *b, unsigned depth)
{
	return a->thread == b->thread && !memcmp(a->path, b->path, depth * sizeof(a->path[0]));
}

/* The group of a path's first names; walks the result itself. */
static const struct clew_latency_group *find(const struct clew_latency *latency,
					     const struct call *call, unsigned depth)
{
	uint32_t parent = CLEW_NO_NUMBER;

	for (unsigned i = 0; i < depth; i++) {
		uint32_t found = CLEW_NO_NUMBER;

		for (uint32_t k = 0; k < latency->groups.count; k++) {
			const struct clew_latency_group *group = clew_latency_at(latency, k);

			if (group->parent == parent &&
			    !strcmp(group->name.name, names[call->path[i]]) &&
			    !strcmp(group->name.place, places[call->path[i]]) &&
			    !strcmp(group->name.properties[0].value, threads[call->thread]))
				found = k;
		}
		if (found == CLEW_NO_NUMBER)
			return NULL;
		assert_int_equal(clew_latency_at(latency, found)->depth, i);
		parent = found;
	}
	return clew_latency_at(latency, parent);
}

/* Each group has the calls of its path, and an ancestor without calls has none. */
static void compare(const struct clew_latency *latency, const struct call *calls, size_t count)
{
	uint64_t all = 0;

	for (size_t i = 0; i < latency->groups.count; i++)
		all += clew_latency_at(latency, i)->times.count;
	assert_int_equal(all, count);
	for (size_t i = 0; i < count; i += 97) {
		for (unsigned depth = 1; depth <= calls[i].depth; depth++) {
			const struct clew_latency_group *group = find(latency, &calls[i], depth);
			uint64_t met = 0, ns = 0, parts = 0;

			assert_non_null(group);
			for (size_t k = 0; k < count; k++)
				if (calls[k].depth == depth &&
				    same_path(&calls[k], &calls[i], depth)) {
					met++;
					ns += calls[k].ns;
				}
			for (int part = 0; part < CLEW_SPLIT_COUNT; part++)
				parts += group->split[part];
			assert_int_equal(group->times.count, met);
			assert_int_equal(group->times.sum, ns);
			assert_int_equal(parts, ns);
		}
	}
}

static struct clew_latency make(const struct call *calls, size_t count)
{
	struct clew_latency latency = clew_latency_new(3);

	for (size_t i = 0; i < count; i++)
		add_call(&latency, &calls[i]);
	return latency;
}

static void draw_calls(struct call *calls)
{
	for (size_t i = 0; i < CALLS; i++)
		calls[i] = draw_call();
}

static void placing(void **unused)
{
	static struct call calls[CALLS];
	struct clew_latency latency;

	(void)unused;
	draw_calls(calls);
	latency = make(calls, CALLS);
	compare(&latency, calls, CALLS);
	clew_latency_done(&latency);
}

static void assert_same(const struct clew_latency *a, const struct clew_latency *b)
{
	assert_int_equal(a->groups.count, b->groups.count);
	for (size_t i = 0; i < a->groups.count; i++) {
		const struct clew_latency_group *group = clew_latency_at(a, i), *other;
		const uint64_t *place = map_get(&b->places, group->id, 0);

		assert_non_null(place);
		other = clew_latency_at(b, *place);
		assert_int_equal(group->times.count, other->times.count);
		assert_int_equal(group->times.sum, other->times.sum);
		assert_int_equal(histogram_percentile(&group->times, .9),
				 histogram_percentile(&other->times, .9));
		assert_string_equal(group->name.name, other->name.name);
		assert_memory_equal(group->split, other->split, sizeof(group->split));
	}
}

/* (a + b) + c has the groups of all calls at once, and so has c + (b + a). */
static void adding(void **unused)
{
	static struct call calls[CALLS];
	struct clew_latency all, parts[3], sum = clew_latency_new(3), back = clew_latency_new(3);

	(void)unused;
	draw_calls(calls);
	all = make(calls, CALLS);
	for (int i = 0; i < 3; i++)
		parts[i] = make(calls + CALLS / 3 * i, i < 2 ? CALLS / 3 : CALLS - CALLS / 3 * 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(clew_latency_merge(&sum, &parts[i]), 0);
		assert_int_equal(clew_latency_merge(&back, &parts[2 - i]), 0);
	}
	assert_same(&all, &sum);
	assert_same(&all, &back);
	for (int i = 0; i < 3; i++)
		clew_latency_done(&parts[i]);
	clew_latency_done(&all);
	clew_latency_done(&sum);
	clew_latency_done(&back);
}

/* By name: "parse" is two functions, "store" and "flush" one each. */
static void aggregating(void **unused)
{
	static struct call calls[CALLS];
	struct clew_latency latency, together;
	uint64_t counted = 0;

	(void)unused;
	draw_calls(calls);
	latency = make(calls, CALLS);
	assert_int_equal(clew_latency_aggregate(&latency, &together), 0);
	assert_int_equal(together.groups.count, 6);
	for (size_t i = 0; i < together.groups.count; i++) {
		const struct clew_latency_group *group = clew_latency_at(&together, i);
		uint64_t met = 0;

		for (size_t k = 0; k < CALLS; k++)
			met += !strcmp(names[calls[k].path[calls[k].depth - 1]],
				       group->name.name) &&
			       !strcmp(threads[calls[k].thread], group->name.properties[0].value);
		assert_int_equal(group->times.count, met);
		assert_int_equal(group->several, !strcmp(group->name.name, "parse"));
		counted += met;
	}
	assert_int_equal(counted, CALLS);
	clew_latency_done(&latency);
	clew_latency_done(&together);
}

static uint64_t key_of(const struct histogram *times, enum clew_latency_sort sort)
{
	switch (sort) {
	case CLEW_LATENCY_SORT_TOTAL:
		return times->sum;
	case CLEW_LATENCY_SORT_COUNT:
		return times->count;
	case CLEW_LATENCY_SORT_P50:
		return histogram_percentile(times, .5);
	case CLEW_LATENCY_SORT_P99:
		return histogram_percentile(times, .99);
	default:
		return times->greatest;
	}
}

/* The most that a group or one below it has; by total, the groups below count together. */
static uint64_t most_of(const struct clew_latency *latency, uint32_t index,
			enum clew_latency_sort sort)
{
	uint64_t below = 0, own = key_of(&clew_latency_at(latency, index)->times, sort);

	for (uint32_t i = 0; i < latency->groups.count; i++) {
		uint64_t one;

		if (clew_latency_at(latency, i)->parent != index)
			continue;
		one = most_of(latency, i, sort);
		if (sort == CLEW_LATENCY_SORT_TOTAL)
			below += one;
		else
			below = one > below ? one : below;
	}
	return own > below ? own : below;
}

static void order_by(const struct clew_latency *latency, enum clew_latency_sort sort)
{
	const struct clew_latency_view view = {.sort = sort};
	uint32_t *order;
	size_t count;

	assert_int_equal(clew_latency_order(latency, &view, &order, &count), 0);
	assert_int_equal(count, latency->groups.count);
	for (size_t i = 1; i < count; i++) {
		const struct clew_latency_group *group = clew_latency_at(latency, order[i]);
		size_t above = i;

		while (above-- > 0 && clew_latency_at(latency, order[above])->depth > group->depth)
			;
		if (clew_latency_at(latency, order[above])->depth < group->depth)
			assert_int_equal(order[above], group->parent);
		else
			assert_true(most_of(latency, order[above], sort) >=
				    most_of(latency, order[i], sort));
	}
	free(order);
}

/* Siblings come in order of what they have, children directly behind their parents. */
static void ordering(void **unused)
{
	static struct call calls[CALLS];
	struct clew_latency latency;

	(void)unused;
	draw_calls(calls);
	latency = make(calls, CALLS);
	for (int sort = 0; sort < CLEW_LATENCY_SORTS; sort++)
		order_by(&latency, sort);
	clew_latency_done(&latency);
}

/* Only groups that have the text, and those above them. */
static void filtering(void **unused)
{
	static struct call calls[CALLS];
	struct clew_latency_view view = {.filter = "ARS"};
	struct clew_latency latency;
	size_t count, wanted = 0;
	uint32_t *order;

	(void)unused;
	draw_calls(calls);
	latency = make(calls, CALLS);
	for (uint32_t i = 0; i < latency.groups.count; i++) {
		bool below = false;

		/* Lower groups come behind. */
		for (uint32_t k = i; k < latency.groups.count && !below; k++)
			for (uint32_t at = k; at != CLEW_NO_NUMBER && !below;
			     at = clew_latency_at(&latency, at)->parent)
				below = at == i &&
					!strcmp(clew_latency_at(&latency, k)->name.name, "parse");
		wanted += below;
	}
	assert_int_equal(clew_latency_order(&latency, &view, &order, &count), 0);
	assert_in_range(count, 1, latency.groups.count - 1);
	assert_int_equal(count, wanted);
	free(order);
	view.filter = "no such text";
	assert_int_equal(clew_latency_order(&latency, &view, &order, &count), 0);
	assert_int_equal(count, 0);
	free(order);
	clew_latency_done(&latency);
}

/* An item for which there is no room is counted, and never in a wrong group. */
static void bounds(void **unused)
{
	struct clew_latency latency = clew_latency_new(1);
	uint64_t split[CLEW_SPLIT_COUNT] = {1}, placed = 0;
	uint32_t group = CLEW_NO_NUMBER;
	struct clew_latency_name name = {.name = "f", .place = ""};
	char number[16];

	(void)unused;
	for (unsigned i = 0; i < CLEW_LATENCY_MOST_DEPTH; i++) {
		assert_int_equal(clew_latency_place(&latency, group, &name, &group), 0);
		assert_int_not_equal(group, CLEW_NO_NUMBER);
	}
	assert_int_equal(clew_latency_place(&latency, group, &name, &group), 0);
	assert_int_equal(group, CLEW_NO_NUMBER);
	for (unsigned i = 0; i < CLEW_LATENCY_MOST_GROUPS + 1000; i++) {
		snprintf(number, sizeof(number), "%u", i);
		name.name = number;
		assert_int_equal(clew_latency_place(&latency, CLEW_NO_NUMBER, &name, &group), 0);
		if (group == CLEW_NO_NUMBER)
			continue;
		assert_int_equal(clew_latency_add(&latency, group, 1, 0, split), 0);
		assert_string_equal(clew_latency_at(&latency, group)->name.name, number);
		placed++;
	}
	assert_int_equal(placed, CLEW_LATENCY_MOST_GROUPS - CLEW_LATENCY_MOST_DEPTH);
	clew_latency_done(&latency);
}

/* A histogram for which there is no room stays as it is, and what is in none is counted. */
static void memory(void **unused)
{
	struct clew_latency latency = clew_latency_new(3);
	uint64_t split[CLEW_SPLIT_COUNT] = {};
	struct clew_latency_name name = {.name = "f", .place = ""};
	struct clew_latency_group *group;
	uint32_t index;

	(void)unused;
	latency.room = 64 << 10;
	assert_int_equal(clew_latency_place(&latency, CLEW_NO_NUMBER, &name, &index), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		split[CLEW_SPLIT_RUNNING] = i * 1000;
		assert_int_equal(clew_latency_add(&latency, index, i * 1000, 1, split), 0);
	}
	group = clew_latency_at(&latency, index);
	assert_true(latency.unplaced > 0 && group->times.count > 1000);
	assert_int_equal(group->times.count + latency.unplaced, 100000);
	assert_int_equal(group->probe, group->times.count);
	assert_int_equal(group->split[CLEW_SPLIT_RUNNING], group->times.sum);
	/* A value that has room is added as before. */
	index = (uint32_t)latency.unplaced;
	split[CLEW_SPLIT_RUNNING] = 1000;
	assert_int_equal(clew_latency_add(&latency, 0, 1000, 1, split), 0);
	assert_int_equal(latency.unplaced, index);
	clew_latency_done(&latency);
}

/* An empty group is all zeros. */
static void nothing(void **unused)
{
	struct clew_latency latency = clew_latency_new(3);
	const struct clew_latency_name name = {.name = "f", .place = ""};
	const struct clew_latency_group *group;
	uint32_t index;

	(void)unused;
	assert_int_equal(clew_latency_place(&latency, CLEW_NO_NUMBER, &name, &index), 0);
	group = clew_latency_at(&latency, index);
	assert_int_equal(histogram_percentile(&group->times, .5), 0);
	assert_true(histogram_deviation(&group->times) == 0 && histogram_mean(&group->times) == 0);
	clew_latency_done(&latency);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placing),     cmocka_unit_test(adding),
		cmocka_unit_test(aggregating), cmocka_unit_test(ordering),
		cmocka_unit_test(filtering),   cmocka_unit_test(bounds),
		cmocka_unit_test(memory),      cmocka_unit_test(nothing),
	};

	random_state = 88172645463325252ull;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

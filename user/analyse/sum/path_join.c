/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of paths that several processes found, added up. */
#include "analyse/sum/path_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trace/stacks.h"

struct left {
	struct clew_path_counts counts;
	struct party *parties;
	size_t party_count;
	struct clew_path_total *totals; /* spans are indexes of parties */
	size_t total_count;
	struct clew_place_sum *ran_in;
	size_t ran_in_count;
	struct clew_samples_found samples;
	uint64_t ran, waited, waited_with;
	struct clew_operation *longs;
	size_t long_count;
};

/* ---- in the process that found them ---- */

static int leave_totals(struct clew_path_sum *part, const struct clew_trace *trace,
			struct shared *out, struct left *left)
{
	size_t count;
	const struct clew_path_total *totals = clew_path_totals_list(part->totals, &count);
	struct parties_found parties;
	int r = parties_found_init(&parties, trace, part->model, 0, out);

	left->totals = shared_copy(out, totals, count * sizeof(*totals));
	left->total_count = count;
	if (!left->totals)
		r = -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++) {
		struct clew_path_total *total = &left->totals[i];

		total->name = shared_string(out, totals[i].name);
		if (totals[i].name && !total->name)
			r = -ENOMEM;
		else if (total->dimension == CLEW_BY_THREAD)
			r = parties_found_of(&parties, totals[i].span, &total->span);
	}
	left->parties = parties.parties;
	left->party_count = parties.count;
	parties_found_done(&parties);
	return r;
}

int path_leave(struct clew_path_sum *part, const struct clew_trace *trace,
	       const struct vector *longs, struct shared *out)
{
	struct left *left = shared_take(out, sizeof(*left));
	const struct clew_place_sum *ran_in;
	int r;

	if (!left)
		return -ENOMEM;
	left->counts = part->counts;
	left->ran = part->stacks.ran;
	left->waited = part->stacks.waited;
	left->waited_with = part->stacks.waited_with;
	ran_in = clew_place_sums_list(&part->ran_in, &left->ran_in_count);
	left->ran_in = shared_copy(out, ran_in, left->ran_in_count * sizeof(*ran_in));
	left->longs = shared_copy(out, longs->data, longs->count * sizeof(*left->longs));
	left->long_count = longs->count;
	if (!left->ran_in || !left->longs)
		return -ENOMEM;
	r = clew_samples_export(&part->stacks.samples, out, &left->samples);
	if (r == 0)
		r = leave_totals(part, trace, out, left);
	out->root = left;
	return r;
}

/* ---- in the process that adds them up ---- */

void path_windows_done(struct clew_path_windows *windows)
{
	map_done(&windows->chosen);
	map_done(&windows->idle);
	parties_done(&windows->parties);
	map_done(&windows->names);
	clew_path_totals_free(windows->totals);
	vector_done(&windows->longs);
	clew_model_free(windows->made);
	arena_done(&windows->arena);
}

/* *ret_name: a name at its one address. 0 or -ENOMEM. */
static int name_of(struct clew_path_windows *windows, const char *name, const char **ret_name)
{
	uint64_t key = hash_text(HASH_SEED, name);
	const uint64_t *known = map_get(&windows->names, key, 0);

	*ret_name = known ? (const char *)(uintptr_t)*known
			  : arena_copy(&windows->arena, name, strlen(name));
	if (!*ret_name)
		return -ENOMEM;
	return known ? 0 : map_set(&windows->names, key, 0, (uint64_t)(uintptr_t)*ret_name);
}

static int add_total(struct clew_path_windows *windows, const struct clew_path_total *found,
		     const uint32_t *numbers)
{
	struct clew_path_total total = *found;
	int r = 0;

	if (total.name)
		r = name_of(windows, found->name, &total.name);
	if (total.dimension == CLEW_BY_THREAD)
		total.span = numbers[found->span];
	return r < 0 ? r : clew_path_totals_merge(windows->totals, &total);
}

static void add_counts(struct clew_path_counts *sum, const struct clew_path_counts *found)
{
	sum->without_path += found->without_path;
	if (!found->count)
		return;
	sum->start = sum->count && sum->start < found->start ? sum->start : found->start;
	sum->end = sum->count && sum->end > found->end ? sum->end : found->end;
	sum->count += found->count;
	sum->whole += found->whole;
	sum->work += found->work;
}

static int add_longs(struct clew_path_windows *windows, const struct left *left)
{
	struct vector *longs = &windows->longs;

	if (vector_reserve(longs, longs->count + left->long_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < left->long_count; i++)
		((struct clew_operation *)longs->data)[longs->count++] = left->longs[i];
	return 0;
}

int path_join(struct clew_path_sum *sum, const struct shared *found)
{
	struct clew_path_windows *windows = &sum->windows;
	const struct left *left = found->root;
	uint32_t *numbers;
	int r = parties_add(&windows->parties, left->parties, left->party_count, &numbers);

	for (size_t i = 0; i < left->total_count && r == 0; i++)
		r = add_total(windows, &left->totals[i], numbers);
	free(numbers);
	for (size_t i = 0; i < left->ran_in_count && r == 0; i++)
		r = clew_place_sums_merge(&sum->ran_in, &left->ran_in[i]);
	if (r == 0)
		r = clew_samples_import(&sum->stacks.samples, &windows->arena, &left->samples);
	sum->stacks.ran += left->ran;
	sum->stacks.waited += left->waited;
	sum->stacks.waited_with += left->waited_with;
	add_counts(&sum->counts, &left->counts);
	return r < 0 ? r : add_longs(windows, left);
}

static int give_totals(struct clew_path_windows *windows, const uint32_t *spans,
		       struct clew_path_totals *totals)
{
	size_t count;
	const struct clew_path_total *all = clew_path_totals_list(windows->totals, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		struct clew_path_total total = all[i];

		if (total.dimension == CLEW_BY_THREAD)
			total.span = spans[total.span];
		r = clew_path_totals_merge(totals, &total);
	}
	return r;
}

int clew_path_sum_finish(struct clew_path_sum *sum, const struct clew_trace *names)
{
	struct clew_path_windows *windows = &sum->windows;
	uint32_t *spans;
	int r = parties_make_model(&windows->parties, names, &windows->made, &spans);

	if (r == 0)
		r = clew_path_totals_new(windows->made, &sum->totals);
	if (r == 0)
		r = give_totals(windows, spans, sum->totals);
	free(spans);
	sum->model = windows->made;
	sum->stacks.trace = clew_trace_has_stacks(names) ? (struct clew_trace *)names : NULL;
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of paths from several processes, added up. See path_sum.h. */
#include "cli/path/path_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct left {
	struct path_sum sum;
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

static int leave_totals(struct path_answer *answer, const struct clew_trace *trace,
			struct shared *out, struct left *left)
{
	size_t count;
	const struct clew_path_total *totals = clew_path_totals_list(answer->totals, &count);
	struct parties_found parties;
	int r = parties_found_init(&parties, trace, answer->model, 0, out);

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

int path_sum_export(struct path_answer *answer, const struct clew_trace *trace,
		    const struct vector *longs, struct shared *out)
{
	struct left *left = shared_take(out, sizeof(*left));
	const struct clew_place_sum *ran_in;
	int r;

	if (!left)
		return -ENOMEM;
	left->sum = answer->sum;
	left->ran = answer->stacks.ran;
	left->waited = answer->stacks.waited;
	left->waited_with = answer->stacks.waited_with;
	ran_in = clew_place_sums_list(&answer->ran_in, &left->ran_in_count);
	left->ran_in = shared_copy(out, ran_in, left->ran_in_count * sizeof(*ran_in));
	left->longs = shared_copy(out, longs->data, longs->count * sizeof(*left->longs));
	left->long_count = longs->count;
	if (!left->ran_in || !left->longs)
		return -ENOMEM;
	r = clew_samples_export(&answer->stacks.samples, out, &left->samples);
	if (r == 0)
		r = leave_totals(answer, trace, out, left);
	out->root = left;
	return r;
}

/* ---- in the process that adds them up ---- */

int path_adding_init(struct path_adding *adding)
{
	*adding = (struct path_adding){.longs.item = sizeof(struct clew_operation)};
	parties_init(&adding->parties, &adding->arena);
	return clew_path_totals_new(NULL, &adding->totals);
}

void path_adding_done(struct path_adding *adding)
{
	parties_done(&adding->parties);
	map_done(&adding->names);
	clew_path_totals_free(adding->totals);
	clew_place_sums_done(&adding->ran_in);
	clew_path_stacks_done(&adding->stacks);
	vector_done(&adding->longs);
	arena_done(&adding->arena);
}

/* *ret_name: a name at its one address. 0 or -ENOMEM. */
static int name_of(struct path_adding *adding, const char *name, const char **ret_name)
{
	uint64_t key = hash_text(HASH_SEED, name);
	const uint64_t *known = map_get(&adding->names, key, 0);

	*ret_name = known ? (const char *)(uintptr_t)*known
			  : arena_copy(&adding->arena, name, strlen(name));
	if (!*ret_name)
		return -ENOMEM;
	return known ? 0 : map_set(&adding->names, key, 0, (uint64_t)(uintptr_t)*ret_name);
}

static int add_total(struct path_adding *adding, const struct clew_path_total *found,
		     const uint32_t *numbers)
{
	struct clew_path_total total = *found;
	int r = 0;

	if (total.name)
		r = name_of(adding, found->name, &total.name);
	if (total.dimension == CLEW_BY_THREAD)
		total.span = numbers[found->span];
	return r < 0 ? r : clew_path_totals_merge(adding->totals, &total);
}

static void add_sum(struct path_sum *sum, const struct path_sum *found)
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

static int add_longs(struct path_adding *adding, const struct left *left)
{
	struct vector *longs = &adding->longs;

	if (vector_reserve(longs, longs->count + left->long_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < left->long_count; i++)
		((struct clew_operation *)longs->data)[longs->count++] = left->longs[i];
	return 0;
}

int path_sum_add(struct path_adding *adding, const struct shared *found)
{
	const struct left *left = found->root;
	uint32_t *numbers;
	int r = parties_add(&adding->parties, left->parties, left->party_count, &numbers);

	for (size_t i = 0; i < left->total_count && r == 0; i++)
		r = add_total(adding, &left->totals[i], numbers);
	free(numbers);
	for (size_t i = 0; i < left->ran_in_count && r == 0; i++)
		r = clew_place_sums_merge(&adding->ran_in, &left->ran_in[i]);
	if (r == 0)
		r = clew_samples_import(&adding->stacks.samples, &adding->arena, &left->samples);
	adding->stacks.ran += left->ran;
	adding->stacks.waited += left->waited;
	adding->stacks.waited_with += left->waited_with;
	add_sum(&adding->sum, &left->sum);
	return r < 0 ? r : add_longs(adding, left);
}

static int give_totals(struct path_adding *adding, const uint32_t *spans,
		       struct clew_path_totals *totals)
{
	size_t count;
	const struct clew_path_total *all = clew_path_totals_list(adding->totals, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		struct clew_path_total total = all[i];

		if (total.dimension == CLEW_BY_THREAD)
			total.span = spans[total.span];
		r = clew_path_totals_merge(totals, &total);
	}
	return r;
}

int path_sum_finish(struct path_adding *adding, const struct clew_trace *names,
		    struct clew_model **ret_model, struct path_answer *answer)
{
	uint32_t *spans;
	int r = parties_make_model(&adding->parties, names, ret_model, &spans);

	if (r == 0)
		r = clew_path_totals_new(*ret_model, &answer->totals);
	if (r == 0)
		r = give_totals(adding, spans, answer->totals);
	free(spans);
	answer->model = answer->names.model = *ret_model;
	answer->sum = adding->sum;
	answer->ran_in = adding->ran_in;
	answer->stacks = adding->stacks;
	adding->ran_in = (struct clew_place_sums){};
	adding->stacks = (struct clew_path_stacks){};
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of a blame from several processes, added up. See blame_sum.h. */
#include "cli/blame/blame_sum.h"

#include <clew/model_make.h>
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "convert/convert.h"
#include "words/es.h"

/* ---- in the process that found them ---- */

struct found_pair {
	struct clew_blame_pair pair; /* its spans are indexes of parties */
	struct clew_pair_found ran_in;
};

struct found {
	struct party *parties;
	size_t party_count;
	struct found_pair *pairs;
	size_t pair_count;
	clew_time unknown;
};

static int export_pair(struct parties_found *parties, struct found *found,
		       const struct clew_blame_pair *pair, struct clew_pair_places *ran_in)
{
	struct found_pair *copy = &found->pairs[found->pair_count++];
	int r;

	copy->pair = *pair;
	copy->pair.resource = shared_string(parties->out, pair->resource);
	if (pair->resource && !copy->pair.resource)
		return -ENOMEM;
	r = parties_found_of(parties, pair->victim, &copy->pair.victim);
	if (r == 0 && pair->antagonist != CLEW_NONE)
		r = parties_found_of(parties, pair->antagonist, &copy->pair.antagonist);
	return r < 0 ? r : clew_pair_places_export(ran_in, pair, parties->out, &copy->ran_in);
}

int blame_sum_export(const struct clew_trace *trace, const struct clew_model *model,
		     const struct clew_blame_pair *pairs, size_t count,
		     struct clew_pair_places *ran_in, clew_time unknown, struct shared *out)
{
	struct found *found = shared_take(out, sizeof(*found));
	struct parties_found parties = {};
	int r;

	if (!found)
		return -ENOMEM;
	found->unknown = unknown;
	found->pairs = shared_take(out, count * sizeof(*found->pairs));
	r = found->pairs ? parties_found_init(&parties, trace, model, 2 * count, out) : -ENOMEM;
	if (r == 0)
		r = parties_found_disks(&parties);
	for (size_t i = 0; i < count && r == 0; i++)
		r = export_pair(&parties, found, &pairs[i], ran_in);
	found->parties = parties.parties;
	found->party_count = parties.count;
	parties_found_done(&parties);
	out->root = found;
	return r;
}

/* ---- in the process that adds them up ---- */

int blame_sum_init(struct blame_sum *sum)
{
	*sum = (struct blame_sum){.pairs.item = sizeof(struct clew_blame_pair)};
	parties_init(&sum->parties, &sum->arena);
	return clew_pair_places_init(&sum->ran_in, NULL, NULL);
}

void blame_sum_done(struct blame_sum *sum)
{
	parties_done(&sum->parties);
	vector_done(&sum->pairs);
	map_done(&sum->resources);
	map_done(&sum->index);
	clew_pair_places_done(&sum->ran_in);
	arena_done(&sum->arena);
}

/* *ret_number: of what was waited for, by its name and kind. 0 or -ENOMEM. */
static int resource_of(struct blame_sum *sum, const struct clew_blame_pair *pair,
		       uint32_t *ret_number)
{
	uint64_t key = hash_text(hash_mix(HASH_SEED, pair->resource != NULL), pair->resource ?: "");
	const uint64_t *known = map_get(&sum->resources, key, pair->kind);

	*ret_number = known ? (uint32_t)*known : (uint32_t)sum->resources.count;
	return known ? 0 : map_set(&sum->resources, key, pair->kind, sum->resources.count);
}

/* *ret_pair: the index of the pair of the sum that another one is part of. 0 or -ENOMEM. */
static int pair_of(struct blame_sum *sum, const struct clew_blame_pair *pair, size_t *ret_pair)
{
	uint64_t both = (uint64_t)pair->victim << 32 | pair->antagonist;
	struct clew_blame_pair *own;
	const uint64_t *known;
	uint32_t number;
	int r = resource_of(sum, pair, &number);

	if (r < 0)
		return r;
	number = 2 * number + (pair->evidence == CLEW_EVIDENCE_CANDIDATE);
	known = map_get(&sum->index, both, number);
	*ret_pair = known ? (size_t)*known : sum->pairs.count;
	if (known)
		return 0;
	if (vector_reserve(&sum->pairs, sum->pairs.count + 1) < 0 ||
	    map_set(&sum->index, both, number, sum->pairs.count) < 0)
		return -ENOMEM;
	own = (struct clew_blame_pair *)sum->pairs.data + sum->pairs.count;
	*own = *pair;
	own->ns = 0;
	own->number = (uint32_t)sum->pairs.count++;
	if (pair->resource)
		own->resource = arena_copy(&sum->arena, pair->resource, strlen(pair->resource));
	return pair->resource && !own->resource ? -ENOMEM : 0;
}

static int add_pair(struct blame_sum *sum, const struct found_pair *found, const uint32_t *numbers)
{
	struct clew_blame_pair pair = found->pair, *own;
	size_t index;
	int r;

	pair.victim = numbers[pair.victim];
	if (pair.antagonist != CLEW_NONE)
		pair.antagonist = numbers[pair.antagonist];
	r = pair_of(sum, &pair, &index);
	if (r < 0)
		return r;
	own = (struct clew_blame_pair *)sum->pairs.data + index;
	own->ns += pair.ns;
	if (pair.evidence > own->evidence)
		own->evidence = pair.evidence;
	return clew_pair_places_import(&sum->ran_in, own->number, &sum->arena, &found->ran_in);
}

int blame_sum_add(struct blame_sum *sum, const struct shared *shared)
{
	const struct found *found = shared->root;
	uint32_t *numbers;
	int r = parties_add(&sum->parties, found->parties, found->party_count, &numbers);

	for (size_t i = 0; i < found->pair_count && r == 0; i++)
		r = add_pair(sum, &found->pairs[i], numbers);
	sum->unknown += found->unknown;
	free(numbers);
	return r;
}

/* ---- the result ---- */

int blame_sum_finish(struct blame_sum *sum, const struct clew_trace *names,
		     struct clew_model **ret_model, struct clew_blame_pair **ret_pairs,
		     size_t *ret_count)
{
	struct clew_blame_pair *pairs = malloc((sum->pairs.count + 1) * sizeof(*pairs));
	uint32_t *spans = NULL;
	int r = pairs ? parties_make_model(&sum->parties, names, ret_model, &spans) : -ENOMEM;

	if (r == 0) {
		*ret_count = sum->pairs.count;
		*ret_pairs = pairs;
		if (*ret_count)
			memcpy(pairs, sum->pairs.data, *ret_count * sizeof(*pairs));
		for (size_t i = 0; i < *ret_count; i++) {
			pairs[i].victim = spans[pairs[i].victim];
			if (pairs[i].antagonist != CLEW_NONE)
				pairs[i].antagonist = spans[pairs[i].antagonist];
		}
		clew_blame_sort(pairs, *ret_count);
	} else {
		free(pairs);
	}
	free(spans);
	return r;
}

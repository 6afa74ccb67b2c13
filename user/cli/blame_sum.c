/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of a blame from several processes, added up. See blame_sum.h. */
#include "cli/blame_sum.h"

#include <clew/model_make.h>
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "convert/convert.h"
#include "words/es.h"

#define DISK "disk" /* the attribute of a device's span */

/* ---- in the process that found them ---- */

struct found_pair {
	struct clew_blame_pair pair; /* its spans are indexes of parties */
	struct clew_pair_found ran_in;
};

struct found {
	struct blame_party *parties;
	size_t party_count;
	struct found_pair *pairs;
	size_t pair_count;
	clew_time unknown;
};

struct exporting {
	const struct clew_trace *trace;
	const struct clew_model *model;
	struct shared *out;
	struct found *found;
	struct map parties; /* span -> index */
};

static int describe(struct exporting *exporting, uint32_t span, struct blame_party *ret_party)
{
	const struct clew_model *model = exporting->model;
	uint32_t root = clew_span_root(model, span), depth = 0;
	const char **names;

	for (uint32_t at = span; at != root; at = model->spans[at].parent)
		depth++;
	names = shared_take(exporting->out, (depth + 1ul) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	*ret_party = (struct blame_party){
		.serial = clew_task_of_span(exporting->trace, root),
		.depth = depth,
		.names = names,
		.disk = shared_string(
			exporting->out,
			clew_model_attribute(model, model->spans[root].attributes, DISK)),
		.start = model->spans[span].start,
	};
	for (uint32_t at = span;; at = model->spans[at].parent) {
		names[depth] = shared_string(exporting->out,
					     clew_model_string(model, model->spans[at].name));
		if (!names[depth])
			return -ENOMEM;
		if (!depth--)
			return 0;
	}
}

/* *ret_party: the index of a span's party. 0 or -ENOMEM. */
static int party_of(struct exporting *exporting, uint32_t span, uint32_t *ret_party)
{
	struct found *found = exporting->found;
	const uint64_t *known = map_get(&exporting->parties, span, 0);
	int r;

	*ret_party = known ? (uint32_t)*known : (uint32_t)found->party_count;
	if (known)
		return 0;
	r = map_set(&exporting->parties, span, 0, found->party_count);
	return r < 0 ? r : describe(exporting, span, &found->parties[found->party_count++]);
}

/* Devices are parties as well: they give resources their names. */
static size_t most_parties(const struct clew_model *model, size_t pairs)
{
	size_t roots = 0;

	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling)
		roots++;
	return roots + 2 * pairs;
}

static int export_disks(struct exporting *exporting)
{
	const struct clew_model *model = exporting->model;
	uint32_t party;
	int r = 0;

	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling)
		if (clew_model_attribute(model, model->spans[root].attributes, DISK))
			r = party_of(exporting, root, &party);
	return r;
}

static int export_pair(struct exporting *exporting, const struct clew_blame_pair *pair,
		       struct clew_pair_places *ran_in)
{
	struct found_pair *copy = &exporting->found->pairs[exporting->found->pair_count++];
	int r;

	copy->pair = *pair;
	copy->pair.resource = shared_string(exporting->out, pair->resource);
	if (pair->resource && !copy->pair.resource)
		return -ENOMEM;
	r = party_of(exporting, pair->victim, &copy->pair.victim);
	if (r == 0 && pair->antagonist != CLEW_NONE)
		r = party_of(exporting, pair->antagonist, &copy->pair.antagonist);
	return r < 0 ? r : clew_pair_places_export(ran_in, pair, exporting->out, &copy->ran_in);
}

int blame_sum_export(const struct clew_trace *trace, const struct clew_model *model,
		     const struct clew_blame_pair *pairs, size_t count,
		     struct clew_pair_places *ran_in, clew_time unknown, struct shared *out)
{
	struct found *found = shared_take(out, sizeof(*found));
	struct exporting exporting = {.trace = trace, .model = model, .out = out, .found = found};
	int r;

	if (!found)
		return -ENOMEM;
	found->unknown = unknown;
	found->pairs = shared_take(out, count * sizeof(*found->pairs));
	found->parties = shared_take(out, most_parties(model, count) * sizeof(*found->parties));
	r = found->pairs && found->parties ? export_disks(&exporting) : -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++)
		r = export_pair(&exporting, &pairs[i], ran_in);
	map_done(&exporting.parties);
	out->root = found;
	return r;
}

/* ---- in the process that adds them up ---- */

int blame_sum_init(struct blame_sum *sum)
{
	*sum = (struct blame_sum){.parties.item = sizeof(struct blame_party),
				  .pairs.item = sizeof(struct clew_blame_pair)};
	return clew_pair_places_init(&sum->ran_in, NULL, NULL);
}

void blame_sum_done(struct blame_sum *sum)
{
	vector_done(&sum->parties);
	vector_done(&sum->pairs);
	map_done(&sum->places);
	map_done(&sum->resources);
	map_done(&sum->index);
	clew_pair_places_done(&sum->ran_in);
	arena_done(&sum->arena);
}

static uint64_t key_of(const struct blame_party *party)
{
	uint64_t key = party->serial == CLEW_NO_TASK ? hash_text(HASH_SEED, party->names[0])
						     : hash_mix(HASH_SEED, party->serial);

	for (uint32_t i = 1; i <= party->depth; i++)
		key = hash_mix(hash_text(key, party->names[i]), i);
	return party->depth ? hash_mix(key, (uint64_t)party->start) : key;
}

static char *copy_string(struct blame_sum *sum, const char *string)
{
	return arena_copy(&sum->arena, string, strlen(string));
}

static int keep_party(struct blame_sum *sum, const struct blame_party *party)
{
	struct blame_party *own;
	const char **names;

	if (vector_reserve(&sum->parties, sum->parties.count + 1) < 0)
		return -ENOMEM;
	own = (struct blame_party *)sum->parties.data + sum->parties.count++;
	*own = *party;
	own->names = names = arena_take(&sum->arena, (party->depth + 1ul) * sizeof(*names));
	for (uint32_t i = 0; names && i <= party->depth; i++) {
		names[i] = copy_string(sum, party->names[i]);
		if (!names[i])
			return -ENOMEM;
	}
	if (party->disk)
		own->disk = copy_string(sum, party->disk);
	return names && (!party->disk || own->disk) ? 0 : -ENOMEM;
}

/* *ret_number: of a party in the sum. 0 or -ENOMEM. */
static int number_of(struct blame_sum *sum, const struct blame_party *party, uint32_t *ret_number)
{
	uint64_t key = key_of(party);
	const uint64_t *known = map_get(&sum->places, key, party->depth);
	int r;

	*ret_number = known ? (uint32_t)*known : (uint32_t)sum->parties.count;
	if (known)
		return 0;
	r = map_set(&sum->places, key, party->depth, sum->parties.count);
	return r < 0 ? r : keep_party(sum, party);
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
		own->resource = copy_string(sum, pair->resource);
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
	uint32_t *numbers = malloc((found->party_count + 1) * sizeof(*numbers));
	int r = numbers ? 0 : -ENOMEM;

	for (size_t i = 0; i < found->party_count && r == 0; i++)
		r = number_of(sum, &found->parties[i], &numbers[i]);
	for (size_t i = 0; i < found->pair_count && r == 0; i++)
		r = add_pair(sum, &found->pairs[i], numbers);
	sum->unknown += found->unknown;
	free(numbers);
	return r;
}

/* ---- the result ---- */

/* The root span of a party: the thread's own, or a new one. 0 or -errno. */
static int make_root(struct clew_maker *maker, const struct clew_trace *names,
		     const struct blame_party *party, uint32_t *ret_span)
{
	const char *pairs[] = {DISK, party->disk};
	uint32_t attributes;
	int r;

	if (party->serial != CLEW_NO_TASK) {
		*ret_span = clew_span_of_task(names, party->serial);
		if (*ret_span != CLEW_NONE)
			return 0;
	}
	r = clew_maker_root(maker, party->names[0], (clew_time)clew_trace_start(names),
			    (clew_time)clew_trace_end(names), ret_span);
	if (r < 0 || !party->disk)
		return r;
	r = clew_maker_attributes(maker, pairs, 1, &attributes);
	return r < 0 ? r : clew_maker_set_span_attributes(maker, *ret_span, attributes);
}

/* *ret_span: what a party is in the model. 0 or -errno. */
static int make_span(struct clew_maker *maker, const struct clew_trace *names,
		     const struct clew_model *model, const struct blame_party *party,
		     uint32_t *ret_span)
{
	int r = make_root(maker, names, party, ret_span);
	clew_time at = r == 0 && *ret_span < model->span_count ? model->spans[*ret_span].start
							       : (clew_time)clew_trace_start(names);

	for (uint32_t i = 1; i <= party->depth && r == 0; i++)
		r = clew_maker_child_alone(maker, *ret_span, party->names[i], at, at, ret_span);
	return r;
}

static int make_spans(struct blame_sum *sum, const struct clew_trace *names,
		      const struct clew_model *model, uint32_t *ret_spans,
		      struct clew_model **ret_model)
{
	const struct blame_party *parties = sum->parties.data;
	struct clew_maker *maker;
	int r = clew_maker_from_model(model, &maker);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sum->parties.count && r == 0; i++)
		r = make_span(maker, names, model, &parties[i], &ret_spans[i]);
	if (r == 0)
		r = clew_maker_finish(maker, ret_model);
	clew_maker_free(maker);
	return r;
}

int blame_sum_finish(struct blame_sum *sum, const struct clew_trace *names,
		     struct clew_model **ret_model, struct clew_blame_pair **ret_pairs,
		     size_t *ret_count)
{
	uint32_t *spans = malloc((sum->parties.count + 1) * sizeof(*spans));
	struct clew_blame_pair *pairs = malloc((sum->pairs.count + 1) * sizeof(*pairs));
	struct clew_model *model = NULL;
	int r = spans && pairs ? clew_model_from_trace(names, &model) : -ENOMEM;

	if (r == 0)
		r = make_spans(sum, names, model, spans, ret_model);
	clew_model_free(model);
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

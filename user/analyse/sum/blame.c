/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pairs of a blame over all of a trace. */
#include "analyse/sum/blame.h"

#include <clew/kernel/records.h>
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "convert/convert.h"
#include "trace/stacks.h"

/* ---- the pairs of one causal trace ---- */

/* The pairs, and what their antagonists ran in. */
struct charged {
	struct clew_blame_pair *pairs;
	size_t count;
	struct clew_pair_places ran_in;
	clew_time unknown;
};

uint32_t *clew_blame_others(const struct clew_model *model, const bool *only, size_t *ret_count)
{
	uint32_t *spans = malloc((model->span_count + 1ul) * sizeof(*spans));

	*ret_count = 0;
	for (uint32_t span = 0; spans && span < model->span_count; span++) {
		const char *flags =
			clew_model_attribute(model, model->spans[span].attributes, "task_flags");

		if ((!only || only[span]) &&
		    (!flags || !(strtoul(flags, NULL, 10) & CLEW_TASK_SELF)))
			spans[(*ret_count)++] = span;
	}
	return spans;
}

/* `options` has who was kept, and when. `stacks`: as for clew_blame_sum_model(). To be freed with
 * charged_done() in any case. 0 or -ENOMEM. */
static int charge(const struct clew_blame_asked *asked, struct clew_blame_options *options,
		  const struct clew_model *model, const struct clew_trace *stacks,
		  struct charged *ret_charged)
{
	uint32_t *others = NULL;
	int r;

	*ret_charged = (struct charged){};
	options->all_running = asked->all_running;
	options->innermost = asked->innermost;
	options->unknown = &ret_charged->unknown;
	if (!asked->all_running && !asked->innermost) {
		options->charged = clew_pair_places_charge;
		options->context = &ret_charged->ran_in;
	}
	if (!options->victims) {
		options->victims = others = clew_blame_others(model, NULL, &options->victim_count);
		if (!others)
			return -ENOMEM;
	}
	r = clew_pair_places_init(&ret_charged->ran_in, model, options->charged ? stacks : NULL);
	if (r == 0)
		r = clew_blame_find(model, options, &ret_charged->pairs, &ret_charged->count);
	free(others);
	return r;
}

static void charged_done(struct charged *charged)
{
	free(charged->pairs);
	clew_pair_places_done(&charged->ran_in);
}

int clew_blame_sum_model(struct clew_blame_sum *sum, const struct clew_model *model,
			 const struct clew_trace *stacks)
{
	const struct clew_blame_asked *asked = sum->asked;
	struct clew_blame_options options = {
		.victims = asked->victims,
		.victim_count = asked->victim_count,
		.antagonists = asked->antagonists,
		.antagonist_count = asked->antagonist_count,
		.from = asked->from,
		.to = asked->to,
	};
	struct charged charged;
	int r = charge(asked, &options, model, stacks, &charged);

	if (r < 0) {
		charged_done(&charged);
		return r;
	}
	clew_pair_places_done(&sum->ran_in);
	sum->model = model;
	sum->pairs = charged.pairs;
	sum->count = charged.count;
	sum->ran_in = charged.ran_in;
	return 0;
}

/* ---- in the process of a window ---- */

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

static int leave(const struct clew_trace *trace, const struct clew_model *model,
		 struct charged *charged, struct shared *out)
{
	size_t count = charged->count;
	struct found *found = shared_take(out, sizeof(*found));
	struct parties_found parties = {};
	int r;

	if (!found)
		return -ENOMEM;
	found->unknown = charged->unknown;
	found->pairs = shared_take(out, count * sizeof(*found->pairs));
	r = found->pairs ? parties_found_init(&parties, trace, model, 2 * count, out) : -ENOMEM;
	if (r == 0)
		r = parties_found_disks(&parties);
	for (size_t i = 0; i < count && r == 0; i++)
		r = export_pair(&parties, found, &charged->pairs[i], &charged->ran_in);
	found->parties = parties.parties;
	found->party_count = parties.count;
	parties_found_done(&parties);
	out->root = found;
	return r;
}

static clew_time time_of(uint64_t at)
{
	return at < INT64_MAX ? (clew_time)at : INT64_MAX;
}

static int look_in(const struct clew_blame_sum *sum, const struct clew_trace *trace,
		   const struct clew_model *model, const struct clew_trace_window *window,
		   struct shared *out)
{
	const struct clew_blame_asked *asked = sum->asked;
	struct clew_blame_options options = {
		.ends_from = time_of(window->from),
		.ends_to = time_of(window->to),
		.known = time_of(window->known),
	};
	uint32_t *victims = NULL, *antagonists = NULL;
	struct charged charged = {};
	int r = 0;

	if (asked->victims)
		options.victims = victims = parties_spans_of(trace, model, &sum->victims,
							     asked->calls, &options.victim_count);
	if (asked->antagonists)
		options.antagonists = antagonists = parties_spans_of(
			trace, model, &sum->antagonists, false, &options.antagonist_count);
	if ((asked->victims && !victims) || (asked->antagonists && !antagonists))
		r = -ENOMEM;
	if (r == 0)
		r = charge(asked, &options, model, clew_trace_has_stacks(trace) ? trace : NULL,
			   &charged);
	if (r == 0)
		r = leave(trace, model, &charged, out);
	charged_done(&charged);
	free(victims);
	free(antagonists);
	return r;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	struct clew_model *model;
	int r = clew_model_from_trace(trace, &model);

	if (r < 0)
		return r;
	r = look_in(context, trace, model, window, out);
	clew_model_free(model);
	return r;
}

/* ---- adding windows ---- */

int clew_blame_sum_begin(struct clew_blame_sum *sum, const struct clew_blame_asked *asked)
{
	*sum = (struct clew_blame_sum){.asked = asked,
				       .added.item = sizeof(struct clew_blame_pair)};
	parties_init(&sum->parties, &sum->arena);
	return clew_pair_places_init(&sum->ran_in, NULL, NULL);
}

void clew_blame_sum_done(struct clew_blame_sum *sum)
{
	free(sum->pairs);
	clew_model_free(sum->made);
	map_done(&sum->victims);
	map_done(&sum->antagonists);
	parties_done(&sum->parties);
	vector_done(&sum->added);
	map_done(&sum->resources);
	map_done(&sum->index);
	clew_pair_places_done(&sum->ran_in);
	arena_done(&sum->arena);
}

/* *ret_number: of what was waited for, by its name and kind. 0 or -ENOMEM. */
static int resource_of(struct clew_blame_sum *sum, const struct clew_blame_pair *pair,
		       uint32_t *ret_number)
{
	uint64_t key = hash_text(hash_mix(HASH_SEED, pair->resource != NULL), pair->resource ?: "");
	const uint64_t *known = map_get(&sum->resources, key, pair->kind);

	*ret_number = known ? (uint32_t)*known : (uint32_t)sum->resources.count;
	return known ? 0 : map_set(&sum->resources, key, pair->kind, sum->resources.count);
}

/* *ret_pair: the index of the pair of the sum that another one is part of. 0 or -ENOMEM. */
static int pair_of(struct clew_blame_sum *sum, const struct clew_blame_pair *pair, size_t *ret_pair)
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
	*ret_pair = known ? (size_t)*known : sum->added.count;
	if (known)
		return 0;
	if (vector_reserve(&sum->added, sum->added.count + 1) < 0 ||
	    map_set(&sum->index, both, number, sum->added.count) < 0)
		return -ENOMEM;
	own = (struct clew_blame_pair *)sum->added.data + sum->added.count;
	*own = *pair;
	own->ns = 0;
	own->number = (uint32_t)sum->added.count++;
	if (pair->resource)
		own->resource = arena_copy(&sum->arena, pair->resource, strlen(pair->resource));
	return pair->resource && !own->resource ? -ENOMEM : 0;
}

static int add_pair(struct clew_blame_sum *sum, const struct found_pair *found,
		    const uint32_t *numbers)
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
	own = (struct clew_blame_pair *)sum->added.data + index;
	own->ns += pair.ns;
	if (pair.evidence > own->evidence)
		own->evidence = pair.evidence;
	return clew_pair_places_import(&sum->ran_in, own->number, &sum->arena, &found->ran_in);
}

static int add(void *context, const struct shared *shared)
{
	const struct found *found = shared->root;
	struct clew_blame_sum *sum = context;
	uint32_t *numbers;
	int r = parties_add(&sum->parties, found->parties, found->party_count, &numbers);

	for (size_t i = 0; i < found->pair_count && r == 0; i++)
		r = add_pair(sum, &found->pairs[i], numbers);
	sum->unknown += found->unknown;
	free(numbers);
	return r;
}

int clew_blame_sum_taker(struct clew_blame_sum *sum, const struct clew_trace *names,
			 struct clew_windows_taker *ret_taker)
{
	const struct clew_blame_asked *asked = sum->asked;
	int r = 0;

	*ret_taker = (struct clew_windows_taker){
		.look = look, .add = add, .context = sum, .models = true};
	if (asked->victims)
		r = parties_list(names, asked->victims, asked->victim_count, &sum->victims);
	if (r == 0 && asked->antagonists)
		r = parties_list(names, asked->antagonists, asked->antagonist_count,
				 &sum->antagonists);
	return r;
}

int clew_blame_sum_finish(struct clew_blame_sum *sum, const struct clew_trace *names)
{
	size_t count = sum->added.count;
	struct clew_blame_pair *pairs = sum->pairs = malloc((count + 1) * sizeof(*pairs));
	uint32_t *spans = NULL;
	int r = pairs ? parties_make_model(&sum->parties, names, &sum->made, &spans) : -ENOMEM;

	if (r == 0 && count)
		memcpy(pairs, sum->added.data, count * sizeof(*pairs));
	for (size_t i = 0; i < count && r == 0; i++) {
		pairs[i].victim = spans[pairs[i].victim];
		if (pairs[i].antagonist != CLEW_NONE)
			pairs[i].antagonist = spans[pairs[i].antagonist];
	}
	if (r == 0)
		clew_blame_sort(pairs, count);
	free(spans);
	sum->model = sum->ran_in.model = sum->made;
	sum->ran_in.stacks = clew_trace_has_stacks(names) ? names : NULL;
	sum->count = r == 0 ? count : 0;
	return r;
}

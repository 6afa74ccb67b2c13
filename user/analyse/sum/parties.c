/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spans that several processes found, made those of one causal trace. */
#include "analyse/sum/parties.h"

#include <clew/model_make.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "convert/convert.h"

#define DISK "disk" /* the attribute of a device's span */

/* ---- in the process that found them ---- */

static size_t count_roots(const struct clew_model *model)
{
	size_t roots = 0;

	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling)
		roots++;
	return roots;
}

int parties_found_init(struct parties_found *found, const struct clew_trace *trace,
		       const struct clew_model *model, size_t most, struct shared *out)
{
	*found = (struct parties_found){.trace = trace, .model = model, .out = out};
	found->parties = shared_take(out, (count_roots(model) + most) * sizeof(*found->parties));
	return found->parties ? 0 : -ENOMEM;
}

void parties_found_done(struct parties_found *found)
{
	map_done(&found->index);
}

static int describe(struct parties_found *found, uint32_t span, struct party *ret_party)
{
	const struct clew_model *model = found->model;
	uint32_t root = clew_span_root(model, span), depth = 0;
	const char **names;

	for (uint32_t at = span; at != root; at = model->spans[at].parent)
		depth++;
	names = shared_take(found->out, (depth + 1ul) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	*ret_party = (struct party){
		.serial = clew_task_of_span(found->trace, root),
		.depth = depth,
		.names = names,
		.disk = shared_string(
			found->out,
			clew_model_attribute(model, model->spans[root].attributes, DISK)),
		.start = model->spans[span].start,
	};
	for (uint32_t at = span;; at = model->spans[at].parent) {
		names[depth] =
			shared_string(found->out, clew_model_string(model, model->spans[at].name));
		if (!names[depth])
			return -ENOMEM;
		if (!depth--)
			return 0;
	}
}

int parties_found_of(struct parties_found *found, uint32_t span, uint32_t *ret_party)
{
	const uint64_t *known = map_get(&found->index, span, 0);
	int r;

	*ret_party = known ? (uint32_t)*known : (uint32_t)found->count;
	if (known)
		return 0;
	r = map_set(&found->index, span, 0, found->count);
	return r < 0 ? r : describe(found, span, &found->parties[found->count++]);
}

int parties_found_disks(struct parties_found *found)
{
	const struct clew_model *model = found->model;
	uint32_t party;
	int r = 0;

	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling)
		if (clew_model_attribute(model, model->spans[root].attributes, DISK))
			r = parties_found_of(found, root, &party);
	return r;
}

uint32_t *parties_spans_of(const struct clew_trace *trace, const struct clew_model *model,
			   const struct map *serials, bool below, size_t *ret_count)
{
	uint32_t *spans = malloc((model->span_count + 1ul) * sizeof(*spans));

	*ret_count = 0;
	for (uint32_t span = 0; spans && span < model->span_count; span++) {
		uint32_t root = clew_span_root(model, span);

		if ((span == root || below) && map_get(serials, clew_task_of_span(trace, root), 0))
			spans[(*ret_count)++] = span;
	}
	return spans;
}

/* ---- in the process that adds them up ---- */

int parties_list(const struct clew_trace *names, const uint32_t *spans, size_t count,
		 struct map *serials)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = map_set(serials, clew_task_of_span(names, spans[i]), 0, 1);
	return r;
}

void parties_init(struct parties *parties, struct arena *arena)
{
	*parties = (struct parties){.arena = arena, .all = {.item = sizeof(struct party)}};
}

void parties_done(struct parties *parties)
{
	vector_done(&parties->all);
	map_done(&parties->places);
}

static uint64_t key_of(const struct party *party)
{
	uint64_t key = party->serial == CLEW_NO_TASK ? hash_text(HASH_SEED, party->names[0])
						     : hash_mix(HASH_SEED, party->serial);

	for (uint32_t i = 1; i <= party->depth; i++)
		key = hash_mix(hash_text(key, party->names[i]), i);
	return party->depth ? hash_mix(key, (uint64_t)party->start) : key;
}

static char *copy_string(struct arena *arena, const char *string)
{
	return arena_copy(arena, string, strlen(string));
}

static int keep_party(struct parties *parties, const struct party *party)
{
	struct party *own;
	const char **names;

	if (vector_reserve(&parties->all, parties->all.count + 1) < 0)
		return -ENOMEM;
	own = (struct party *)parties->all.data + parties->all.count++;
	*own = *party;
	own->names = names = arena_take(parties->arena, (party->depth + 1ul) * sizeof(*names));
	for (uint32_t i = 0; names && i <= party->depth; i++) {
		names[i] = copy_string(parties->arena, party->names[i]);
		if (!names[i])
			return -ENOMEM;
	}
	if (party->disk)
		own->disk = copy_string(parties->arena, party->disk);
	return names && (!party->disk || own->disk) ? 0 : -ENOMEM;
}

/* *ret_number: of a party. 0 or -ENOMEM. */
static int number_of(struct parties *parties, const struct party *party, uint32_t *ret_number)
{
	uint64_t key = key_of(party);
	const uint64_t *known = map_get(&parties->places, key, party->depth);
	int r;

	*ret_number = known ? (uint32_t)*known : (uint32_t)parties->all.count;
	if (known)
		return 0;
	r = map_set(&parties->places, key, party->depth, parties->all.count);
	return r < 0 ? r : keep_party(parties, party);
}

int parties_add(struct parties *parties, const struct party *found, size_t count,
		uint32_t **ret_numbers)
{
	uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
	int r = numbers ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++)
		r = number_of(parties, &found[i], &numbers[i]);
	*ret_numbers = numbers;
	return r;
}

/* The root span of a party: the thread's own, or a new one. 0 or -errno. */
static int make_root(struct clew_maker *maker, const struct clew_trace *names,
		     const struct party *party, uint32_t *ret_span)
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
		     const struct clew_model *model, const struct party *party, uint32_t *ret_span)
{
	int r = make_root(maker, names, party, ret_span);
	clew_time at = r == 0 && *ret_span < model->span_count ? model->spans[*ret_span].start
							       : (clew_time)clew_trace_start(names);

	for (uint32_t i = 1; i <= party->depth && r == 0; i++)
		r = clew_maker_child_alone(maker, *ret_span, party->names[i], at, at, ret_span);
	return r;
}

static int make_spans(const struct parties *parties, const struct clew_trace *names,
		      const struct clew_model *model, uint32_t *ret_spans,
		      struct clew_model **ret_model)
{
	const struct party *all = parties->all.data;
	struct clew_maker *maker;
	int r = clew_maker_from_model(model, &maker);

	if (r < 0)
		return r;
	for (size_t i = 0; i < parties->all.count && r == 0; i++)
		r = make_span(maker, names, model, &all[i], &ret_spans[i]);
	if (r == 0)
		r = clew_maker_finish(maker, ret_model);
	clew_maker_free(maker);
	return r;
}

int parties_make_model(const struct parties *parties, const struct clew_trace *names,
		       struct clew_model **ret_model, uint32_t **ret_spans)
{
	uint32_t *spans = malloc((parties->all.count + 1) * sizeof(*spans));
	struct clew_model *model = NULL;
	int r = spans ? clew_model_from_trace(names, &model) : -ENOMEM;

	if (r == 0)
		r = make_spans(parties, names, model, spans, ret_model);
	clew_model_free(model);
	*ret_spans = spans;
	return r;
}

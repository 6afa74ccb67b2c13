/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Antagonism: the chosen spans, and the two ways of blaming.
 */
#include "analyse/blame/internal.h"

#include <string.h>

static bool *choose(const struct clew_model *model, const uint32_t *spans, size_t count)
{
	bool *chosen = malloc((size_t)model->span_count + 1);

	if (!chosen)
		return NULL;
	memset(chosen, !spans, model->span_count);
	for (size_t i = 0; spans && i < count; i++)
		chosen[spans[i]] = true;
	return chosen;
}

/* A thread that was chosen stands for its calls as well. */
static void choose_calls(struct blame *blame)
{
	for (uint32_t span = 0; span < blame->model->span_count; span++) {
		blame->victims[span] |= blame->victims[blame->threads[span]];
		blame->antagonists[span] |= blame->antagonists[blame->threads[span]];
	}
}

/* From when all that an ES depends on was over. */
static struct stretch since_resolved(const struct blame *blame, uint32_t es)
{
	const struct clew_model *model = blame->model;
	uint32_t predecessor = clew_model_predecessor(model, es),
		 trigger = usable_trigger(model, es);
	struct stretch stretch = {blame->begin, model->es[es].start};

	if (predecessor != CLEW_NONE)
		stretch.from = model->es[predecessor].end;
	if (trigger != CLEW_NONE && model->es[trigger].end > stretch.from)
		stretch.from = model->es[trigger].end;
	return stretch;
}

static bool is_in(const struct clew_model *model, uint32_t root, uint32_t hierarchy)
{
	return hierarchy != CLEW_NONE &&
	       clew_model_category_of(model, root, hierarchy) != CLEW_NONE;
}

/* Leaves out CPUs and devices, which wait for nobody. They run for others, and are blamed only if
 * they were chosen. */
static void leave_machine(struct blame *blame)
{
	const struct clew_model *model = blame->model;
	uint32_t cpus = hierarchy_named(model, "cpus"), devices = hierarchy_named(model, "devices");

	for (uint32_t span = 0; span < model->span_count; span++) {
		uint32_t root = blame_root_of(model, span);

		if (!is_in(model, root, cpus) && !is_in(model, root, devices))
			continue;
		blame->victims[span] = false;
		blame->antagonists[span] &= blame->options->antagonists != NULL;
	}
}

static int compare(const void *a, const void *b)
{
	const struct clew_blame_pair *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->victim != y->victim)
		return x->victim < y->victim ? -1 : 1;
	if (x->antagonist != y->antagonist)
		return x->antagonist < y->antagonist ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->resource ?: "", y->resource ?: "")
		       ?: (x->evidence > y->evidence) - (x->evidence < y->evidence);
}

void clew_blame_sort(struct clew_blame_pair *pairs, size_t count)
{
	if (count)
		qsort(pairs, count, sizeof(*pairs), compare);
}

int clew_blame_find(const struct clew_model *model, const struct clew_blame_options *options,
		    struct clew_blame_pair **ret_pairs, size_t *ret_count)
{
	struct blame blame = {.model = model,
			      .options = options,
			      .begin = INT64_MAX,
			      .limits = !options->antagonists};
	int r = -ENOMEM;

	blame.victims = choose(model, options->victims, options->victim_count);
	blame.antagonists = choose(model, options->antagonists, options->antagonist_count);
	for (uint32_t span = 0; span < model->span_count; span++)
		if (model->spans[span].start < blame.begin)
			blame.begin = model->spans[span].start;
	blame.innermost = options->innermost;
	if (blame.victims && blame.antagonists && options->all_running)
		leave_machine(&blame);
	if (blame.victims && blame.antagonists)
		r = blame_find_threads(&blame);
	if (r == 0 && blame.innermost)
		choose_calls(&blame);
	if (r == 0)
		r = options->all_running ? blame_running(&blame, CLEW_WAIT_UNKNOWN, since_resolved)
					 : blame_resources(&blame);
	free(blame.victims);
	free(blame.antagonists);
	free(blame.threads);
	free(blame.calls);
	free(blame.calls_begin);
	map_done(&blame.index);
	map_done(&blame.resources);
	if (r < 0) {
		free(blame.pairs);
		return r;
	}
	clew_blame_sort(blame.pairs, blame.count);
	*ret_pairs = blame.pairs;
	*ret_count = blame.count;
	return 0;
}

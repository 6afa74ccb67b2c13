/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the antagonists that had the CPU on which a victim ran next, while it was ready. The
 * runs on all CPUs are read once, and each victim's runs are put in order of time: looking for
 * one on every CPU, run queue by run queue, would take too long on many CPUs.
 */
#include "analyse/blame/internal.h"

#include "base/sort.h"
#include <string.h>

struct blame_cpus {
	struct blame *blame;
	uint32_t *cpus; /* root spans */
	uint32_t count;
	uint32_t *place; /* of a CPU's span: where its ESs begin in `who` */
	uint32_t *who;	 /* of each ES of the CPUs: the root span that ran, CLEW_NONE none that is
			    known */
	uint32_t *first; /* of each span: where its runs begin in `runs`; one more says where the
			    last ones end */
	uint32_t *runs;	 /* ESs of CPUs: the runs of those in `queued` */
	const bool *queued; /* of each span: its runs are there */
};

static uint32_t who_ran(const struct blame_cpus *cpus, uint32_t es)
{
	const struct clew_model *model = cpus->blame->model;
	uint32_t cpu = model->es[es].span;

	return cpus->who[cpus->place[cpu] + (es - model->spans[cpu].elementary.first)];
}

/* The first ES of a CPU in which a span runs at a moment or up to it; CLEW_NONE: not known. */
static uint32_t run_at(const struct blame_cpus *cpus, uint32_t span, clew_time at)
{
	const struct clew_model *model = cpus->blame->model;
	uint32_t low = cpus->first[span], end = cpus->first[span + 1], high = end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->es[cpus->runs[middle]].end < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && model->es[cpus->runs[low]].start <= at ? cpus->runs[low] : CLEW_NONE;
}

/* The part of a time in the run queue of which is known what ran. */
static struct stretch cut_to_known(const struct blame *blame, struct stretch queue)
{
	const struct clew_blame_options *options = blame->options;
	clew_time from = queue.to < options->known ? queue.to : options->known;

	if (queue.from >= from || blame_asks_for_all(options))
		return queue;
	if (options->unknown)
		*options->unknown += from - queue.from;
	return (struct stretch){from, queue.to};
}

int blame_cpu(const struct blame_cpus *cpus, uint32_t victim, uint32_t queued, struct stretch wait)
{
	const struct clew_model *model = cpus->blame->model;
	uint32_t last = run_at(cpus, cpus->blame->threads[queued], wait.to), run = last, cpu;

	if (last == CLEW_NONE)
		return 0;
	cpu = model->es[last].span;
	wait = cut_to_known(cpus->blame, wait);
	while (run > model->spans[cpu].elementary.first && model->es[run - 1].end > wait.from)
		run--;
	for (; run <= last && model->es[run].start < wait.to; run++) {
		clew_time from =
			model->es[run].start > wait.from ? model->es[run].start : wait.from;
		clew_time to = model->es[run].end < wait.to ? model->es[run].end : wait.to;
		uint32_t who = who_ran(cpus, run);
		int r = 0;

		if (who != CLEW_NONE)
			r = blame_charge_stretch(
				cpus->blame, victim, who, (struct stretch){from, to},
				(struct charge){.kind = CLEW_SEGMENT_RUNQUEUE,
						.resource = clew_model_string(
							model, model->spans[cpu].name)});
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- indexes ---- */

/* An ES of a CPU is of the thread that the last mark up to its start names. */
static void name_runs(struct blame_cpus *cpus, const struct map *roots, uint32_t cpu)
{
	const struct clew_model *model = cpus->blame->model;
	const struct clew_range *range = &model->spans[cpu].elementary;
	uint32_t end = range->first + range->count, mark = model->es[range->first].mark,
		 who = CLEW_NONE;
	uint32_t marks = end < model->es_count ? model->es[end].mark : model->mark_count;

	for (uint32_t es = range->first; es < end; es++) {
		bool changed = false;

		for (; mark < marks && model->marks[mark].at <= model->es[es].start; mark++)
			changed = true;
		if (changed)
			who = blame_root_named(roots, model->marks[mark - 1].label);
		cpus->who[cpus->place[cpu] + (es - range->first)] = who;
		if (who != CLEW_NONE && cpus->queued[who])
			cpus->first[who + 1]++;
	}
}

/* Puts a span's runs, which are there one CPU after the other, in order of time. */
static void sort_runs(const struct blame_cpus *cpus, uint32_t first, uint32_t count,
		      struct sort_key *keys, struct sort_key *spare)
{
	const struct clew_model *model = cpus->blame->model;
	bool in_order = true;

	for (uint32_t i = 1; i < count && in_order; i++)
		in_order = model->es[cpus->runs[first + i - 1]].start <=
			   model->es[cpus->runs[first + i]].start;
	if (in_order)
		return;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){
			.key = (uint64_t)model->es[cpus->runs[first + i]].start ^ 1ull << 63,
			.index = cpus->runs[first + i]};
	sort_keys(keys, spare, count);
	for (uint32_t i = 0; i < count; i++)
		cpus->runs[first + i] = keys[i].index;
}

static int list_runs(struct blame_cpus *cpus)
{
	const struct clew_model *model = cpus->blame->model;
	uint32_t most = 0, *next;
	struct sort_key *keys;

	for (uint32_t span = 0; span < model->span_count; span++) {
		most = cpus->first[span + 1] > most ? cpus->first[span + 1] : most;
		cpus->first[span + 1] += cpus->first[span];
	}
	cpus->runs = malloc(sizeof(*cpus->runs) * ((size_t)cpus->first[model->span_count] + 1));
	next = malloc(sizeof(*next) * ((size_t)model->span_count + 1));
	keys = malloc(sizeof(*keys) * 2 * ((size_t)most + 1));
	if (!cpus->runs || !next || !keys) {
		free(next);
		free(keys);
		return -ENOMEM;
	}
	memcpy(next, cpus->first, sizeof(*next) * model->span_count);
	for (uint32_t i = 0; i < cpus->count; i++) {
		const struct clew_range *range = &model->spans[cpus->cpus[i]].elementary;

		for (uint32_t es = range->first; es < range->first + range->count; es++) {
			uint32_t who = who_ran(cpus, es);

			if (who != CLEW_NONE && cpus->queued[who])
				cpus->runs[next[who]++] = es;
		}
	}
	for (uint32_t span = 0; span < model->span_count; span++)
		sort_runs(cpus, cpus->first[span], cpus->first[span + 1] - cpus->first[span], keys,
			  keys + most + 1);
	free(next);
	free(keys);
	return 0;
}

int blame_cpus_new(struct blame *blame, const struct map *roots, const bool *queued,
		   struct blame_cpus **ret_cpus)
{
	const struct clew_model *model = blame->model;
	uint32_t hierarchy = hierarchy_named(model, "cpus"), count = 0;
	size_t spans = model->span_count, elementary = 0;
	struct blame_cpus *cpus;

	*ret_cpus = NULL;
	for (uint32_t root = model->first_root; hierarchy != CLEW_NONE && root != CLEW_NONE;
	     root = model->spans[root].next_sibling) {
		if (clew_model_category_of(model, root, hierarchy) == CLEW_NONE)
			continue;
		count++;
		elementary += model->spans[root].elementary.count;
	}
	if (count == 0)
		return 0;
	cpus = calloc(1, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	*ret_cpus = cpus;
	cpus->blame = blame;
	cpus->queued = queued;
	cpus->cpus = malloc(sizeof(uint32_t) * count);
	cpus->place = malloc(sizeof(uint32_t) * (spans + 1));
	cpus->who = malloc(sizeof(uint32_t) * (elementary + 1));
	cpus->first = calloc(spans + 1, sizeof(uint32_t));
	if (!cpus->cpus || !cpus->place || !cpus->who || !cpus->first)
		return -ENOMEM;
	elementary = 0;
	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling) {
		if (clew_model_category_of(model, root, hierarchy) == CLEW_NONE)
			continue;
		cpus->cpus[cpus->count++] = root;
		cpus->place[root] = (uint32_t)elementary;
		elementary += model->spans[root].elementary.count;
		name_runs(cpus, roots, root);
	}
	return list_runs(cpus);
}

void blame_cpus_free(struct blame_cpus *cpus)
{
	if (!cpus)
		return;
	free(cpus->cpus);
	free(cpus->place);
	free(cpus->who);
	free(cpus->first);
	free(cpus->runs);
	free(cpus);
}

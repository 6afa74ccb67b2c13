/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the spans that need a CPU, and the part of the time before an ES that was recorded as
 * in the run queue: that is left out when CPUs are simulated. If the CPU that the ES ran on had
 * nothing to do before, what it took to get going there is no queue, and stays.
 */
#include "analyse/whatif/cpus.h"

#include "base/map.h"
#include "base/sort.h"
#include <clew/tokens.h>

#include "analyse/path/internal.h"
#include "base/big.h"

void cpus_done(struct whatif *w)
{
	struct whatif_cpus *c = w->cpus;

	if (!c)
		return;
	free(c->cpus);
	free(c->thread_of);
	free(c->cpu_of);
	free(c->held);
	free(c->queue);
	free(c->recorded);
	free(c->ready);
	free(c->cuts);
	free(c->cut_of);
	free(c->ends);
	free(c);
}

int cpus_sort_cuts(struct whatif *w)
{
	struct whatif_cpus *c = w->cpus;
	struct sort_key *keys;
	struct cut *sorted;

	if (c->cut_count >= CLEW_NONE)
		return -E2BIG;
	keys = malloc((2 * c->cut_count + 1) * sizeof(*keys));
	sorted = malloc((c->cut_count + 1) * sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->cut_count; i++)
		keys[i] = (struct sort_key){.key = c->cuts[i].es, .index = (uint32_t)i};
	sort_keys(keys, keys + c->cut_count, c->cut_count);
	for (size_t i = 0; i < c->cut_count; i++)
		sorted[i] = c->cuts[keys[i].index];
	free(keys);
	free(c->cuts);
	c->cuts = sorted;
	return 0;
}

/* ---- what was recorded ---- */

/* Runs by (start, name of who ran): the end of what ran there before, or their own start if nothing
 * is known of that. */
static int index_runs(const struct clew_model *model, uint32_t cpu, struct map *runs)
{
	const struct clew_range *range = &model->spans[cpu].elementary;
	int r = 0;

	for (uint32_t es = range->first; es < range->first + range->count && r == 0; es++) {
		struct clew_range marks = clew_model_marks(model, es);
		clew_time start = model->es[es].start;

		for (uint32_t i = marks.first;
		     i < marks.first + marks.count && r == 0 && model->marks[i].at <= start; i++)
			if (model->marks[i].at == start)
				r = map_set(runs, (uint64_t)start, model->marks[i].label,
					    (uint64_t)(es > range->first ? model->es[es - 1].end
									 : start));
	}
	return r;
}

/* From when an ES was ready, by what the trace says. */
static clew_time ready_at(const struct whatif *w, uint32_t es, bool has_cpus)
{
	const struct clew_model *model = &w->base;
	uint32_t wait = model->es[es].wait, trigger = CLEW_NONE;
	clew_time ready;
	bool added = model->es[es].in != CLEW_NONE && whatif_is_added(w, model->es[es].in);

	if (clew_model_is_first(model, es)) {
		if (has_cpus && !added)
			trigger = usable_trigger(model, es);
		return trigger == CLEW_NONE ? model->es[es].start : model->es[trigger].end;
	}
	/* Without CPUs in the trace a delay can be anything: only what is said to be a run queue is
	 * one. */
	if (model->es[es - 1].end == model->es[es].start || added)
		return model->es[es].start;
	if (!has_cpus &&
	    (wait == CLEW_NONE ||
	     (model->waits[wait].kind != CLEW_SEGMENT_RUNQUEUE &&
	      !clew_model_attribute(model, model->waits[wait].attributes, "runqueue"))))
		return model->es[es].start;
	ready = gap_ready(model, es);
	trigger = usable_trigger(model, es);
	return trigger != CLEW_NONE && model->es[trigger].end > ready ? model->es[trigger].end
								      : ready;
}

static struct ready_time recorded_at(const struct whatif *w, uint32_t es, const struct map *runs)
{
	const struct clew_model *model = &w->base;
	clew_time start = model->es[es].start, ready = ready_at(w, es, runs->count > 0),
		  busy = start;
	struct ready_time time = {0};
	const uint64_t *before;

	if (ready >= start)
		return time;
	before = map_get(runs, (uint64_t)start,
			 model->spans[w->cpus->thread_of[model->es[es].span]].name);
	if (before)
		busy = (clew_time)*before;
	busy = busy < ready ? ready : busy > start ? start : busy;
	time.queued = busy - ready;
	time.kept = start - busy;
	return time;
}

static int read_recorded(struct whatif *w)
{
	struct whatif_cpus *c = w->cpus;
	uint32_t cpus = hierarchy_named(w->model, "cpus");
	struct map runs = {0};
	int r = 0;

	for (uint32_t root = w->base.first_root; root != CLEW_NONE && cpus != CLEW_NONE && r == 0;
	     root = w->base.spans[root].next_sibling)
		if (clew_model_category_of(w->model, root, cpus) != CLEW_NONE)
			r = index_runs(&w->base, root, &runs);
	for (uint32_t es = 0; es < w->base.es_count && r == 0; es++)
		c->recorded[es] = cpus_uses(w, w->base.es[es].span) ? recorded_at(w, es, &runs)
								    : (struct ready_time){0};
	map_done(&runs);
	return r;
}

/* Roots in hierarchies of the machine's are no threads; what a root calls is its own. Spans for
 * which the CPUs are not stay as recorded. */
static void find_threads(struct whatif *w)
{
	uint32_t cpus = hierarchy_named(w->model, "cpus"),
		 devices = hierarchy_named(w->model, "devices"), threads = 0;

	for (uint32_t span = 0; span < w->base.span_count; span++) {
		uint32_t parent = w->base.spans[span].parent, *thread = &w->cpus->thread_of[span];

		if (parent != CLEW_NONE)
			*thread = w->cpus->thread_of[parent];
		else if ((cpus != CLEW_NONE &&
			  clew_model_category_of(w->model, span, cpus) != CLEW_NONE) ||
			 (devices != CLEW_NONE &&
			  clew_model_category_of(w->model, span, devices) != CLEW_NONE))
			*thread = CLEW_NONE;
		else
			*thread = w->on_cpus && !w->on_cpus[span] ? CLEW_NONE : span;
		threads += *thread == span;
	}
	whatif_count(w, RESOURCE_CPUS, threads);
}

int cpus_prepare(struct whatif *w)
{
	struct whatif_cpus *c = w->cpus = calloc(1, sizeof(*c));
	uint32_t spans = w->base.span_count;

	if (!c)
		return -ENOMEM;
	w->result.cpus = w->cpu_count;
	/* More than one a span are never used. */
	c->limit = w->cpu_count < spans ? w->cpu_count : spans;
	c->free = c->first = c->last = CLEW_NONE;
	c->slice_end = INT64_MIN;
	c->queue_size = spans + 1;
	c->cpus = calloc((size_t)c->limit + 1, sizeof(*c->cpus));
	c->thread_of = malloc(((size_t)spans + 1) * sizeof(*c->thread_of));
	c->cpu_of = malloc(((size_t)spans + 1) * sizeof(*c->cpu_of));
	c->held = malloc(((size_t)spans + 1) * sizeof(*c->held));
	c->ends = calloc((size_t)spans + 1, 1);
	c->cut_of = malloc(((size_t)spans + 1) * sizeof(*c->cut_of));
	c->queue = malloc((size_t)c->queue_size * sizeof(*c->queue));
	c->recorded = big_alloc(w->base.es_count, sizeof(*c->recorded));
	c->ready = big_alloc(w->base.es_count, sizeof(*c->ready));
	if (!c->cpus || !c->thread_of || !c->cpu_of || !c->held || !c->cut_of || !c->ends ||
	    !c->queue || !c->recorded || !c->ready)
		return -ENOMEM;
	for (uint32_t span = 0; span < spans; span++)
		c->cpu_of[span] = c->held[span] = CLEW_NONE;
	find_threads(w);
	return read_recorded(w);
}

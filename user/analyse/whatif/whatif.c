/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One application of a what-if program, from its beginning to its end.
 */
#include "analyse/whatif/cpus.h"
#include "analyse/whatif/queues.h"

static void done(struct whatif *w)
{
	cpus_done(w);
	queues_done(w);
	free(w->on_cpus);
	free(w->moved);
	free(w->cut_before);
	for (uint32_t i = 0; i < w->wait_count; i++)
		free(w->waits[i].spans);
	for (uint32_t i = 0; i < w->edge_count; i++) {
		free(w->edges[i].spans);
		free(w->edges[i].to);
		free(w->edges[i].types);
	}
	for (uint32_t i = 0; i < w->gate_count; i++) {
		free(w->gates[i].spans);
		free(w->gates[i].parked);
	}
	free(w->rule_of);
	free(w->rules);
	free(w->early);
	free(w->waits);
	free(w->edges);
	free(w->gates);
	free(w->added);
	free(w->ends);
	free(w->base_es);
	free(w->base_spans);
	free(w->base_dependencies);
	free(w->base_origins);
	free(w->base_destinations);
	vector_done(&w->es_memory);
	free(w->state);
	free(w->fate);
	free(w->changed);
	free(w->left);
	free(w->latest);
	free(w->heap);
}

/* An ES that added dependencies divide lasts from its first part to its last one. */
static void give_times(const struct whatif *w)
{
	struct clew_what_if_time *times = w->options.times;

	for (uint32_t i = 0; times && i < w->model->es_count; i++) {
		uint32_t first = w->moved ? w->moved[i] : i,
			 last = w->moved ? w->moved[i + 1] - 1 : i;

		times[i].start = w->es[first].start;
		times[i].end = w->es[last].end;
	}
}

int clew_what_if(const struct clew_model *model, const struct clew_program *program,
		 const struct clew_what_if_options *options, struct clew_model **ret_model,
		 struct clew_what_if *ret_result, struct clew_query_error *ret_error)
{
	struct whatif w = {.model = model, .program = program, .error = ret_error};
	int r;

	if (options)
		w.options = *options;
	else
		w.options.hierarchy = model->hierarchy_count ? 0 : CLEW_NONE;
	if (w.options.matches)
		memset(w.options.matches, 0, program->count * sizeof(*w.options.matches));
	r = whatif_bind(&w);
	if (r == 0)
		r = whatif_sections(&w);
	if (r == 0)
		r = whatif_split(&w);
	if (r == 0)
		r = whatif_simulate(&w);
	if (r == 0)
		give_times(&w);
	if (r == 0 && ret_model)
		r = whatif_result(&w, ret_model);
	if (r == 0)
		*ret_result = w.result;
	done(&w);
	return r;
}

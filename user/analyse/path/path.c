/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Critical paths: endpoints, and the choice of the strategy.
 */
#include "analyse/path/internal.h"

static const char *const names[CLEW_STRATEGY_COUNT] = {
	[CLEW_STRATEGY_MOST_WORK] = "most_work",
	[CLEW_STRATEGY_TEMPORAL_MOST_WORK] = "temporal_most_work",
	[CLEW_STRATEGY_MOST_PROX] = "most_prox",
	[CLEW_STRATEGY_PREDECESSOR] = "predecessor",
	[CLEW_STRATEGY_LEAST_WORK] = "least_work",
	[CLEW_STRATEGY_LEAST_PROX] = "least_prox",
	[CLEW_STRATEGY_CAUSAL] = "causal",
};

const char *clew_strategy_name(unsigned strategy)
{
	return strategy < CLEW_STRATEGY_COUNT ? names[strategy] : "unknown";
}

int clew_strategy_from_name(const char *name)
{
	for (int i = 0; i < CLEW_STRATEGY_COUNT; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

int clew_endpoint_at(const struct clew_model *model, uint32_t span, clew_time at,
		     struct clew_position *ret_position)
{
	uint32_t es = clew_model_es_at(model, span, at);

	if (es == CLEW_NONE || model->es[es].start > at)
		return -ENOENT;
	*ret_position = (struct clew_position){.es = es, .at = at};
	return 0;
}

static bool holds(const struct clew_model *model, const struct clew_position *position)
{
	return position->es < model->es_count && model->es[position->es].start <= position->at &&
	       position->at <= model->es[position->es].end;
}

int clew_path_find(struct clew_path_finder *finder, const struct clew_position *from,
		   const struct clew_position *to, const struct clew_path_options *options,
		   struct clew_paths *ret_paths)
{
	struct clew_path_options wanted = *options;
	struct clew_paths paths = {};
	int r;

	if (!holds(finder->model, from) || !holds(finder->model, to))
		return -EINVAL;
	if (!wanted.top)
		wanted.top = 1;
	if (from->at > to->at)
		return -ENOENT;
	reach_forget(finder);
	switch (wanted.strategy) {
	case CLEW_STRATEGY_MOST_WORK:
	case CLEW_STRATEGY_LEAST_WORK:
		r = path_work(finder, from->es, to->es, &wanted, &paths);
		break;
	case CLEW_STRATEGY_TEMPORAL_MOST_WORK:
		r = path_temporal(finder, from->es, to->es, &wanted, &paths);
		break;
	case CLEW_STRATEGY_MOST_PROX:
	case CLEW_STRATEGY_PREDECESSOR:
	case CLEW_STRATEGY_LEAST_PROX:
	case CLEW_STRATEGY_CAUSAL:
		r = path_greedy(finder, from->es, to->es, &wanted, &paths);
		break;
	default:
		r = -EINVAL;
	}
	if (r < 0) {
		clew_paths_done(&paths);
		return r;
	}
	for (size_t i = 0; i < paths.count; i++) {
		paths.paths[i].start = from->at;
		paths.paths[i].end = to->at;
	}
	*ret_paths = paths;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The consistency check: it runs the checks that may find problems
 * (check_quick.c) one after the other. The order of ESs is that of the spans'
 * ranges, so that it can check a model whose ESs name other owners. Cycles are
 * in check_cycle.c.
 */
#include "model/check_internal.h"
#include <stdlib.h>

static const char *moment(const struct check *check, clew_time at)
{
	static _Thread_local char texts[4][32];
	static _Thread_local unsigned next;

	return clew_model_moment(check->model, at, texts[next++ % 4]);
}

/* ---- within spans ---- */

static void check_order(struct check *check)
{
	const struct clew_model *model = check->model;

	for (uint32_t i = 0; i < model->span_count && check->r == 0; i++) {
		const struct clew_span *span = &model->spans[i];
		uint32_t first = span->elementary.first, last = first + span->elementary.count - 1;

		if (model->es[first].start != span->start)
			check_add(
				check, "order", false, first,
				"the first elementary span of '%.60s' begins at %s, the span at %s",
				clew_model_string(model, span->name),
				moment(check, model->es[first].start), moment(check, span->start));
		for (uint32_t es = first + 1; es <= last; es++)
			if (model->es[es].start < model->es[es - 1].start)
				check_add(check, "order", false, es,
					  "an elementary span of '%.60s' begins at %s, the one "
					  "before it at %s",
					  clew_model_string(model, span->name),
					  moment(check, model->es[es].start),
					  moment(check, model->es[es - 1].start));
		if (model->es[last].end != span->end)
			check_add(check, "order", false, last,
				  "the last elementary span of '%.60s' ends at %s, the span at %s",
				  clew_model_string(model, span->name),
				  moment(check, model->es[last].end), moment(check, span->end));
	}
}

static void check_overlap(struct check *check)
{
	const struct clew_model *model = check->model;

	for (uint32_t i = 0; i < model->span_count && check->r == 0; i++) {
		const struct clew_range *range = &model->spans[i].elementary;

		for (uint32_t es = range->first + 1; es < range->first + range->count; es++)
			if (model->es[es].start >= model->es[es - 1].start &&
			    model->es[es].start < model->es[es - 1].end)
				check_add(check, "overlap", false, es,
					  "an elementary span of '%.60s' begins at %s, before the "
					  "one before it ends at %s",
					  clew_model_string(model, model->spans[i].name),
					  moment(check, model->es[es].start),
					  moment(check, model->es[es - 1].end));
	}
}

static void check_length(struct check *check)
{
	const struct clew_model *model = check->model;

	for (uint32_t es = 0; es < model->es_count && check->r == 0; es++)
		if (model->es[es].end < model->es[es].start)
			check_add(check, "negative-length", false, es,
				  "an elementary span of '%.60s' begins at %s and ends at %s",
				  check_name(check, es), moment(check, model->es[es].start),
				  moment(check, model->es[es].end));
}

/* ESs in the range of a span that they do not name, or in no range. */
static void check_owner(struct check *check)
{
	const struct clew_model *model = check->model;

	for (uint32_t es = 0; es < model->es_count && check->r == 0; es++) {
		const struct clew_range *range = &model->spans[model->es[es].span].elementary;

		if (es < range->first || es - range->first >= range->count)
			check_add(
				check, "owner", false, es,
				"an elementary span [%s,%s] is not among those of its span '%.60s'",
				moment(check, model->es[es].start),
				moment(check, model->es[es].end), check_name(check, es));
	}
}

/* ---- dependencies ---- */

static void check_ends(struct check *check)
{
	const struct clew_model *model = check->model;

	for (int destinations = 0; destinations < 2; destinations++)
		for (uint32_t i = 0; i < model->dependency_count && check->r == 0; i++) {
			const struct clew_dependency *d = &model->dependencies[i];
			const char *type = clew_model_string(model, model->types[d->type]);

			if (!destinations && d->origins.count == 0 && d->destinations.count > 0)
				check_add(check, "no-origin", false,
					  model->destinations[d->destinations.first],
					  "dependency %u (%.40s) has no origin", i + 1, type);
			if (destinations && d->destinations.count == 0 && d->origins.count > 0)
				check_add(check, "no-destination", false,
					  model->origins[d->origins.first],
					  "dependency %u (%.40s) has no destination", i + 1, type);
		}
}

/* Each ES in a list of a dependency must name it, and be there once; each ES
 * that names a dependency must be in its list. */
static void check_symmetry(struct check *check)
{
	enum { ORIGIN = 1, DESTINATION = 2 };
	const struct clew_model *model = check->model;
	uint8_t *known = calloc(model->es_count ? model->es_count : 1, 1);

	if (!known) {
		check->r = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < model->dependency_count && check->r == 0; i++) {
		const struct clew_dependency *d = &model->dependencies[i];

		for (uint32_t j = 0; j < d->origins.count; j++) {
			uint32_t es = model->origins[d->origins.first + j];

			if (model->es[es].out != i || (known[es] & ORIGIN))
				check_add(check, "symmetry", false, es,
					  "dependency %u has an origin in '%.60s' that does not "
					  "have it as outgoing%s",
					  i + 1, check_name(check, es),
					  model->es[es].out == i ? " twice" : "");
			else
				known[es] |= ORIGIN;
		}
		for (uint32_t j = 0; j < d->destinations.count; j++) {
			uint32_t es = model->destinations[d->destinations.first + j];

			if (model->es[es].in != i || (known[es] & DESTINATION))
				check_add(check, "symmetry", false, es,
					  "dependency %u has a destination in '%.60s' that does "
					  "not have it as incoming%s",
					  i + 1, check_name(check, es),
					  model->es[es].in == i ? " twice" : "");
			else
				known[es] |= DESTINATION;
		}
	}
	for (uint32_t es = 0; es < model->es_count && check->r == 0; es++) {
		if (model->es[es].out != CLEW_NONE && !(known[es] & ORIGIN))
			check_add(check, "symmetry", false, es,
				  "an elementary span of '%.60s' is no origin of its outgoing "
				  "dependency %u",
				  check_name(check, es), model->es[es].out + 1);
		if (model->es[es].in != CLEW_NONE && !(known[es] & DESTINATION))
			check_add(check, "symmetry", false, es,
				  "an elementary span of '%.60s' is no destination of its incoming "
				  "dependency %u",
				  check_name(check, es), model->es[es].in + 1);
	}
	free(known);
}

static void check_trigger(struct check *check)
{
	const struct clew_model *model = check->model;

	for (uint32_t i = 0; i < model->dependency_count && check->r == 0; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		uint32_t trigger = clew_model_trigger(model, i), better = CLEW_NONE;

		for (uint32_t j = 1; j < d->origins.count && better == CLEW_NONE; j++) {
			clew_time end = model->es[model->origins[d->origins.first + j]].end,
				  first = model->es[trigger].end;

			if (d->mode == CLEW_MODE_SINGLE ||
			    (d->mode == CLEW_MODE_AND ? end > first : end < first))
				better = model->origins[d->origins.first + j];
		}
		if (better == CLEW_NONE)
			continue;
		if (d->mode == CLEW_MODE_SINGLE)
			check_add(
				check, "trigger", false, better,
				"dependency %u has several origins, and is neither 'and' nor 'or'",
				i + 1);
		else
			check_add(check, "trigger", false, trigger,
				  "dependency %u is triggered at %s, though another origin ends "
				  "%s, at %s",
				  i + 1, moment(check, model->es[trigger].end),
				  d->mode == CLEW_MODE_AND ? "later" : "earlier",
				  moment(check, model->es[better].end));
	}
}

static void check_negative_edges(struct check *check, bool warn)
{
	const struct clew_model *model = check->model;

	for (uint32_t i = 0; i < model->dependency_count && check->r == 0; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		uint32_t trigger = clew_model_trigger(model, i);

		for (uint32_t j = 0; trigger != CLEW_NONE && j < d->destinations.count; j++) {
			uint32_t es = model->destinations[d->destinations.first + j];

			if (model->es[es].start < model->es[trigger].end)
				check_add(check, "negative-edge", warn, es,
					  "dependency %u ends at %s, before its origin at %s",
					  i + 1, moment(check, model->es[es].start),
					  moment(check, model->es[trigger].end));
		}
	}
}

int clew_model_check(const struct clew_model *model, bool negative_edges_warn,
		     struct clew_problem **ret_problems, size_t *ret_count)
{
	struct check check = {.model = model};
	unsigned suspects;

	check.r = check_quick(model, &suspects);
	if (check.r < 0)
		return check.r;
	if (suspects & SUSPECT_TIMES) {
		check_order(&check);
		check_overlap(&check);
		check_length(&check);
	}
	if (suspects & SUSPECT_CYCLES)
		check_cycles(&check);
	if (suspects & SUSPECT_ENDS)
		check_ends(&check);
	if (suspects & SUSPECT_SYMMETRY)
		check_symmetry(&check);
	if (suspects & SUSPECT_TRIGGER)
		check_trigger(&check);
	if (suspects & SUSPECT_NEGATIVE_EDGES)
		check_negative_edges(&check, negative_edges_warn);
	if (suspects & SUSPECT_TIMES)
		check_owner(&check);
	if (check.r < 0) {
		free(check.problems);
		return check.r;
	}
	*ret_problems = check.problems;
	*ret_count = check.count;
	return 0;
}

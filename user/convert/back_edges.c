/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dependencies that end no sleep: their edges are told by themselves.
 */
#include "convert/back.h"
#include <string.h>

static void take_comm(struct back *back, const char *value, uint32_t serial, uint64_t at,
		      char comm[static CLEW_COMM_SIZE])
{
	const char *name = value ?: clew_trace_comm_at(back->trace, serial, at);

	memcpy(comm, name, strnlen(name, value ? CLEW_COMM_SIZE : CLEW_COMM_SIZE - 1));
}

static int word_of(const char *word, const char *(*name)(unsigned), unsigned count,
		   unsigned otherwise)
{
	for (unsigned i = 0; word && i < count; i++)
		if (!strcmp(name(i), word))
			return (int)i;
	return (int)otherwise;
}

/* Whether the ES comes after a gap that a sleep stands for: the sleep tells of the dependency. */
static bool ends_sleep(struct back *back, uint32_t number)
{
	const struct clew_model *model = back->model;
	const struct clew_es *es = &model->es[number];

	if (clew_model_is_first(model, number) || es->start <= es[-1].end)
		return false;
	if (es->wait == CLEW_NONE)
		return true;
	if (model->waits[es->wait].kind == CLEW_SEGMENT_RUNQUEUE)
		return false;
	return !back_values(back, model->waits[es->wait].attributes)->of[ATTRIBUTE_KNOWN];
}

static int take_edge(struct back *back, const struct clew_dependency *dependency, uint32_t trigger,
		     uint32_t to)
{
	const struct clew_model *model = back->model;
	const struct values *values = back_values(back, dependency->attributes);
	struct clew_edge edge = {
		.from_at = (uint64_t)model->es[trigger].end,
		.to_at = (uint64_t)model->es[to].start,
		.from = back->serials[model->es[trigger].span],
		.to = back->serials[model->es[to].span],
		.type = back->edge_types[dependency->type],
		.evidence = (uint8_t)word_of(values->of[ATTRIBUTE_EVIDENCE], clew_evidence_name,
					     CLEW_EVIDENCE_COUNT, CLEW_EVIDENCE_EXACT),
		.context = (uint8_t)word_of(values->of[ATTRIBUTE_CONTEXT], clew_context_name,
					    CLEW_WAKE_WORK + 1, CLEW_WAKE_TASK),
	};
	uint64_t operation = 0, choice = 0;
	int r = back_object(back, values, &edge.object);

	if (r == 0)
		r = BACK_NUMBERS(back, values, {ATTRIBUTE_FROM, &edge.from_at},
				 {ATTRIBUTE_TO, &edge.to_at}, {ATTRIBUTE_OPERATION, &operation},
				 {ATTRIBUTE_CHOICE, &choice}, {ATTRIBUTE_WEIGHT, &edge.weight},
				 {ATTRIBUTE_OWN, &edge.own});
	if (r < 0)
		return r;
	edge.choice = (uint32_t)choice;
	edge.operation = (uint8_t)operation;
	take_comm(back, values->of[ATTRIBUTE_FROM_COMM], edge.from, edge.from_at, edge.from_comm);
	take_comm(back, values->of[ATTRIBUTE_TO_COMM], edge.to, edge.to_at, edge.to_comm);
	return back->sink.edge(back->sink.context, &edge);
}

int back_edges(struct back *back)
{
	const struct clew_model *model = back->model;
	int r = 0;

	for (uint32_t i = 0; i < model->dependency_count && r == 0; i++) {
		const struct clew_dependency *dependency = &model->dependencies[i];
		uint32_t trigger = clew_model_trigger(model, i);
		uint8_t type = back->edge_types[dependency->type];

		if (trigger == CLEW_NONE || type == UINT8_MAX || back->drop_types >> type & 1 ||
		    !back->serials[model->es[trigger].span])
			continue;
		if (back_values(back, dependency->attributes)->of[ATTRIBUTE_LONE])
			continue;
		for (uint32_t k = 0; k < dependency->destinations.count && r == 0; k++) {
			uint32_t to = model->destinations[dependency->destinations.first + k];

			if (back->serials[model->es[to].span] && !ends_sleep(back, to))
				r = take_edge(back, dependency, trigger, to);
		}
	}
	return r;
}

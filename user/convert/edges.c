/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Edges as dependencies, and back. A release that woke several threads is one
 * dependency with several destinations. A request lies between the thread that
 * submitted it and the thread that waited for it. After the dependencies of
 * edges come submissions of requests, then announced calls.
 */
#include "convert/to_trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

static int type_of(struct conversion *conversion, unsigned type, uint32_t *ret_type)
{
	int r = 0;

	if (conversion->types[type] == CLEW_NONE)
		r = clew_maker_type(conversion->maker,
				    clew_trace_type_name(conversion->trace, type),
				    &conversion->types[type]);
	*ret_type = conversion->types[type];
	return r;
}

static int type_of_call(struct conversion *conversion, const struct clew_call_dependency *call,
			uint32_t *ret_type)
{
	*ret_type = call->is_return ? CLEW_DEPENDENCY_RETURN : CLEW_DEPENDENCY_CALL;
	return call->is_return || !call->relation->submitted
		       ? 0
		       : type_of(conversion, CLEW_EDGE_SUBMIT, ret_type);
}

/* Makes a dependency of each group of edges. */
static int add_groups(struct conversion *conversion, const struct edge_groups *groups,
		      size_t *ret_origins)
{
	struct vector *out = &conversion->dependencies;
	uint32_t type, span, task;
	size_t origins = 0;
	uint64_t at;
	int r = 0;

	for (size_t group = 0; group < groups->group_count && r == 0; group++) {
		const struct clew_edge *edge = &groups->edges[groups->order[groups->begin[group]]];
		uint32_t count = 0;

		conversion->dependency_edge[group] = groups->order[groups->begin[group]];
		for (unsigned i = 0; capture_origin(conversion, edge, i, &span, &at, &task); i++)
			count += span != CLEW_NONE;
		r = type_of(conversion, edge->type, &type);
		((struct clew_dependency *)out->data)[out->count++] = (struct clew_dependency){
			.type = type & 0xffffff,
			.mode = count > 1 ? CLEW_MODE_AND : CLEW_MODE_SINGLE,
			.attributes = CLEW_NONE,
			.origins = {(uint32_t)origins, count},
			.destinations = {groups->begin[group],
					 groups->begin[group + 1] - groups->begin[group]},
		};
		origins += count;
		if (origins > CLEW_NONE / 2)
			return -E2BIG;
	}
	*ret_origins = origins;
	return r;
}

/* A dependency with one origin and one destination. */
static void add_single(struct conversion *conversion, uint32_t type, size_t origin,
		       size_t destination)
{
	struct vector *out = &conversion->dependencies;

	((struct clew_dependency *)out->data)[out->count++] = (struct clew_dependency){
		.type = type & 0xffffff,
		.attributes = CLEW_NONE,
		.origins = {(uint32_t)origin, 1},
		.destinations = {(uint32_t)destination, 1},
	};
}

/* Notes the dependency that ended each sleep, and whether the sleep is only a
 * mark. */
static void note_sleeps(struct conversion *conversion, const struct edge_groups *groups)
{
	for (size_t group = 0; group < groups->group_count; group++)
		for (uint32_t i = groups->begin[group]; i < groups->begin[group + 1]; i++) {
			uint32_t sleep = conversion->trace->edge_sleeps[groups->order[i]];

			if (sleep == CLEW_NONE)
				continue;
			conversion->sleep_dependency[sleep] = (uint32_t)group;
			((uint8_t *)conversion->has_marks.data)[group] |=
				!capture_ends_a_gap(conversion, sleep);
		}
}

static int make_dependencies(struct conversion *conversion, const struct edge_groups *groups)
{
	struct vector *out = &conversion->dependencies;
	size_t submissions, further, origins;
	uint32_t type = 0;
	int r;

	for (size_t i = 0; i < conversion->request_count; i++)
		conversion->submission_count += capture_has_submitter(&conversion->requests[i]);
	submissions = conversion->submission_count;
	further = submissions + conversion->call_count;
	if (groups->count + further > CLEW_NONE / 2)
		return -E2BIG;
	if (vector_reserve(out, groups->group_count + further) < 0 ||
	    vector_reserve(&conversion->destinations, groups->count + further) < 0 ||
	    vector_reserve(&conversion->has_marks, groups->group_count) < 0 ||
	    vector_reserve(&conversion->triggers, groups->group_count + further) < 0)
		return -ENOMEM;
	r = add_groups(conversion, groups, &origins);
	if (submissions && r == 0)
		r = type_of(conversion, CLEW_EDGE_REQUEST, &type);
	if (r < 0)
		return r;
	for (size_t i = 0; i < submissions; i++)
		add_single(conversion, type, origins + i, groups->count + i);
	for (size_t i = 0; i < conversion->call_count; i++) {
		r = type_of_call(conversion, &conversion->calls[i], &type);
		if (r < 0)
			return r;
		add_single(conversion, type, origins + submissions + i,
			   groups->count + submissions + i);
	}
	if (vector_reserve(&conversion->origins, origins + further) < 0)
		return -ENOMEM;
	conversion->triggers.count = out->count;
	conversion->origins.count = origins + further;
	conversion->destinations.count = groups->count + further;
	note_sleeps(conversion, groups);
	return 0;
}

int capture_make_edges(struct conversion *conversion)
{
	struct edge_groups groups = {0};
	int r;

	groups.edges = clew_trace_edges(conversion->trace, &groups.count);
	r = clew_trace_edge_groups(conversion->trace, &groups.order, &groups.begin,
				   &groups.group_count);
	if (r < 0)
		return r;
	conversion->dependency_edge =
		malloc((groups.group_count + 1) * sizeof(*conversion->dependency_edge));
	conversion->sleep_dependency =
		malloc((conversion->sleep_count + 1) * sizeof(*conversion->sleep_dependency));
	r = conversion->dependency_edge && conversion->sleep_dependency ? 0 : -ENOMEM;
	if (r == 0) {
		memset(conversion->sleep_dependency, 0xff,
		       conversion->sleep_count * sizeof(*conversion->sleep_dependency));
		r = make_dependencies(conversion, &groups);
	}
	if (r == 0)
		r = capture_make_endpoints(conversion, &groups);
	free(groups.order);
	free(groups.begin);
	return r;
}

/* ---- attributes, when every endpoint has its ES ---- */

static void add_comm(struct conversion *conversion, enum attribute_key key, const char *comm,
		     uint32_t serial, uint64_t at)
{
	const char *usual = clew_trace_comm_at(conversion->trace, serial, at);
	char text[CLEW_COMM_SIZE + 1] = "";

	if (!strncmp(comm, usual, CLEW_COMM_SIZE))
		return;
	memcpy(text, comm, CLEW_COMM_SIZE);
	pairs_add(&conversion->pairs, key, text);
}

/* An edge that ended no sleep: the way back has only these attributes for
 * it. */
static void describe_lone(struct conversion *conversion, const struct clew_edge *edge,
			  uint32_t dependency)
{
	const struct clew_dependency *made =
		(const struct clew_dependency *)conversion->dependencies.data + dependency;
	const struct trigger *trigger =
		(const struct trigger *)conversion->triggers.data + dependency;
	uint32_t to = ((const uint32_t *)conversion->destinations.data)[made->destinations.first];
	struct pairs *pairs = &conversion->pairs;

	if (trigger->at != edge->from_at)
		pairs_add_number(pairs, ATTRIBUTE_FROM, edge->from_at);
	if ((uint64_t)((const struct clew_es *)conversion->es.data)[to].start != edge->to_at)
		pairs_add_number(pairs, ATTRIBUTE_TO, edge->to_at);
	if (edge->operation)
		pairs_add_number(pairs, ATTRIBUTE_OPERATION, edge->operation);
	if (edge->choice) {
		pairs_add_number(pairs, ATTRIBUTE_CHOICE, edge->choice);
		pairs_add_number(pairs, ATTRIBUTE_WEIGHT, edge->weight);
		if (edge->own)
			pairs_add_number(pairs, ATTRIBUTE_OWN, edge->own);
	}
	add_comm(conversion, ATTRIBUTE_FROM_COMM, edge->from_comm, edge->from, edge->from_at);
	add_comm(conversion, ATTRIBUTE_TO_COMM, edge->to_comm, edge->to, edge->to_at);
}

static struct shape *shape_of(struct conversion *conversion, const struct clew_edge *edge)
{
	struct {
		uint64_t number, path;
		uint32_t device;
		uint8_t kind, evidence, context;
	} fields;
	char bytes[SHAPE_SIZE] = {0};

	memset(&fields, 0, sizeof(fields));
	fields.number = edge->object.number;
	fields.path = (uintptr_t)capture_path_of(conversion, &edge->object, edge->to_at);
	fields.device = edge->object.device;
	fields.kind = edge->object.kind;
	fields.evidence = edge->evidence;
	fields.context = edge->context;
	memcpy(bytes, &fields, sizeof(fields));
	return capture_shape(&conversion->edge_shapes, bytes);
}

static int describe_edge(struct conversion *conversion, const struct clew_edge *edge,
			 uint32_t sleep, uint32_t dependency, uint32_t *ret_attributes)
{
	bool by_mark = ((const uint8_t *)conversion->has_marks.data)[dependency];
	struct shape *shape = sleep != CLEW_NONE && !by_mark ? shape_of(conversion, edge) : NULL;
	struct pairs *pairs = &conversion->pairs;
	int r;

	if (shape && shape->made != CLEW_NONE) {
		*ret_attributes = shape->made;
		return 0;
	}
	pairs_add(pairs, ATTRIBUTE_EVIDENCE, clew_evidence_name(edge->evidence));
	pairs_add(pairs, ATTRIBUTE_CONTEXT, clew_context_name(edge->context));
	capture_object_pairs(conversion, &edge->object,
			     capture_path_of(conversion, &edge->object, edge->to_at),
			     sleep == CLEW_NONE);
	if (sleep == CLEW_NONE)
		describe_lone(conversion, edge, dependency);
	else if (by_mark)
		pairs_add(pairs, ATTRIBUTE_LONE, "no");
	r = pairs_make(pairs, conversion->maker, ret_attributes);
	if (shape)
		shape->made = *ret_attributes;
	return r;
}

int capture_finish_edges(struct conversion *conversion)
{
	struct clew_dependency *dependencies = conversion->dependencies.data;
	size_t edge_count, calls = conversion->dependencies.count - conversion->call_count;
	size_t group_count = calls - conversion->submission_count;
	const struct clew_edge *edges = clew_trace_edges(conversion->trace, &edge_count);
	uint32_t of_submission;
	int r = 0;

	for (uint32_t i = 0; i < group_count && r == 0; i++) {
		uint32_t edge = conversion->dependency_edge[i];

		r = describe_edge(conversion, &edges[edge], conversion->trace->edge_sleeps[edge], i,
				  &dependencies[i].attributes);
	}
	for (size_t i = 0; i < conversion->call_count && r == 0; i++)
		r = capture_describe_call(conversion, &conversion->calls[i],
					  &dependencies[calls + i].attributes);
	if (r < 0 || conversion->submission_count == 0)
		return r;
	pairs_add(&conversion->pairs, ATTRIBUTE_EVIDENCE,
		  clew_evidence_name(clew_is_imported(conversion->trace) ? CLEW_EVIDENCE_OBSERVED
									 : CLEW_EVIDENCE_EXACT));
	r = pairs_make(&conversion->pairs, conversion->maker, &of_submission);
	for (size_t i = group_count; i < calls; i++)
		dependencies[i].attributes = of_submission;
	return r;
}

/* ---- and back ---- */

static void take_comm(struct back *back, const char *value, uint32_t serial, uint64_t at,
		      char comm[static CLEW_COMM_SIZE])
{
	const char *name = value ?: clew_trace_comm_at(back->trace, serial, at);

	memcpy(comm, name, strnlen(name, value ? CLEW_COMM_SIZE : CLEW_COMM_SIZE - 1));
}

/* The number of a word; `otherwise` without a word that is one of them. */
static uint8_t word_of(const char *word, const char *(*name)(unsigned), unsigned count,
		       unsigned otherwise)
{
	int number = word ? back_word(word, name, count) : -1;

	return (uint8_t)(number < 0 ? otherwise : (unsigned)number);
}

/* True if a sleep is the gap before the ES: the way back makes the edge from
 * the sleep. */
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
		.evidence = word_of(values->of[ATTRIBUTE_EVIDENCE], clew_evidence_name,
				    CLEW_EVIDENCE_COUNT, CLEW_EVIDENCE_EXACT),
		.context = word_of(values->of[ATTRIBUTE_CONTEXT], clew_context_name,
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
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_EDGE, .edge = &edge});
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Edges as dependencies: one release that woke several is one with several
 * destinations; a request lies between who submitted it and who waited for it. Behind
 * them what the trace has besides: submissions of requests, then announced calls.
 *
 * A destination is where its task came on the CPU, at the end of the gap; an origin
 * is in an ES of its task. Where the records tell otherwise (clocks differ, something
 * was lost) it moves to the nearer end of the gap that it falls into, or gets an ES
 * of its own where nothing is known of the time; the dependency keeps the moment.
 */
#include "convert/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ns that two CPUs' clocks may differ by. */
#define CLOCK_SLACK 10000

struct edges {
	const struct clew_edge *edges;
	uint32_t *order, *begin;
	size_t count, group_count;
};

static const struct clew_edge *first_of(const struct edges *edges, size_t group)
{
	return &edges->edges[edges->order[edges->begin[group]]];
}

/* The span of the request that a step is, and when it was done; CLEW_NONE: it is none that can be
 * shown. */
static uint32_t request_span(const struct conversion *conversion, const struct clew_link *link,
			     uint64_t *ret_at)
{
	const struct clew_trace_request *request;

	if (link->kind != CLEW_LINK_REQUEST || link->number >= conversion->request_count)
		return CLEW_NONE;
	request = &conversion->requests[link->number];
	*ret_at = request->block.completed;
	return request->block.completed ? conversion->root_count + (uint32_t)link->number
					: CLEW_NONE;
}

/* Origin number i of an edge: its span and moment; false: there is no such one. Further requests
 * that are not known are left out. */
static bool origin_of(struct conversion *conversion, const struct clew_edge *edge, unsigned i,
		      uint32_t *ret_span, uint64_t *ret_at, uint32_t *ret_task)
{
	*ret_task = CLEW_NO_TASK;
	if (i > 0) {
		if (i > edge->and_count)
			return false;
		*ret_span =
			request_span(conversion, &edge->links[edge->link_count + i - 1], ret_at);
		return true;
	}
	/* The last step is the first cause. */
	*ret_span = edge->link_count && edge->type == CLEW_EDGE_REQUEST
			    ? request_span(conversion, &edge->links[edge->link_count - 1], ret_at)
			    : CLEW_NONE;
	if (*ret_span == CLEW_NONE) {
		*ret_span = capture_span_of(conversion, edge->from);
		*ret_at = edge->from_at;
		*ret_task = edge->from;
	}
	return true;
}

/* Whether a sleep is a gap in its task's time; else a mark tells of it. */
static bool ends_a_gap(const struct conversion *conversion, uint32_t number)
{
	const struct clew_sleep *sleep = number == CLEW_NONE ? NULL : &conversion->sleeps[number];
	const struct trace_task *task =
		sleep ? trace_task_find(conversion->trace, sleep->task) : NULL;

	return task && sleep->start < sleep->switch_in && sleep->start < task->end;
}

static uint64_t destination_at(const struct conversion *conversion, const struct clew_edge *edge,
			       uint32_t sleep)
{
	const struct trace_task *task = trace_task_find(conversion->trace, edge->to);
	uint64_t at = sleep == CLEW_NONE ? edge->to_at : conversion->sleeps[sleep].switch_in;

	if (!task)
		return at;
	at = at > task->end ? task->end : at;
	return at < task->begin ? task->begin : at;
}

/* Endpoints in order of making: ends of sleeps before all else, a task's own exec behind what it
 * starts from. */
enum pass { PASS_SLEEP_ENDS, PASS_OTHER_ENDS, PASS_ORIGINS, PASS_LATE_ENDS, PASS_COUNT };

static enum pass pass_of(const struct conversion *conversion, const struct clew_edge *edge,
			 uint32_t sleep)
{
	if (ends_a_gap(conversion, sleep))
		return PASS_SLEEP_ENDS;
	return edge->from == edge->to ? PASS_LATE_ENDS : PASS_OTHER_ENDS;
}

static void put_endpoint(struct conversion *conversion, uint32_t *next, uint32_t span,
			 struct endpoint endpoint)
{
	if (conversion->endpoints)
		conversion->endpoints[next[span]] = endpoint;
	next[span]++;
}

static void put_destinations(struct conversion *conversion, const struct edges *edges, size_t group,
			     enum pass pass, uint32_t *next)
{
	for (uint32_t i = edges->begin[group]; i < edges->begin[group + 1]; i++) {
		uint32_t number = edges->order[i], sleep = conversion->trace->edge_sleeps[number];
		const struct clew_edge *edge = &edges->edges[number];

		if (pass_of(conversion, edge, sleep) == pass)
			put_endpoint(conversion, next, capture_span_of(conversion, edge->to),
				     (struct endpoint){
					     .at = destination_at(conversion, edge, sleep),
					     .slot = i,
					     .dependency = (uint32_t)group,
					     .rank = pass == PASS_LATE_ENDS ? EVENT_RANK_LATE_IN
									    : EVENT_RANK_IN,
					     .ends_sleep = pass == PASS_SLEEP_ENDS,
					     .stays = edge->type == CLEW_EDGE_FORK ||
						      edge->type == CLEW_EDGE_EXEC});
	}
}

/* The first of the latest ones: of several that all must happen, it triggers. */
static unsigned latest_origin(struct conversion *conversion, const struct clew_edge *edge)
{
	uint64_t at, latest = 0;
	uint32_t span, task;
	unsigned number = 0;

	for (unsigned i = 0; edge->and_count && origin_of(conversion, edge, i, &span, &at, &task);
	     i++)
		if (span != CLEW_NONE && at > latest) {
			latest = at;
			number = i;
		}
	return number;
}

static void put_origins(struct conversion *conversion, const struct edges *edges, size_t group,
			uint32_t *next)
{
	const struct clew_dependency *dependency =
		(const struct clew_dependency *)conversion->dependencies.data + group;
	const struct clew_edge *edge = first_of(edges, group);
	uint32_t first = dependency->origins.first, slot = first + 1, span, task;
	unsigned latest = latest_origin(conversion, edge);
	uint64_t at;

	for (unsigned i = 0; origin_of(conversion, edge, i, &span, &at, &task); i++)
		if (span != CLEW_NONE)
			put_endpoint(conversion, next, span,
				     (struct endpoint){.at = at,
						       .slot = i == latest ? first : slot++,
						       .dependency = (uint32_t)group,
						       .rank = EVENT_RANK_OUT});
}

bool capture_by_request(const struct conversion *conversion, uint32_t dependency)
{
	const struct clew_edge *edge =
		conversion->trace->edges + conversion->dependency_edge[dependency];
	uint64_t at;

	return edge->type == CLEW_EDGE_REQUEST && edge->link_count &&
	       request_span(conversion, &edge->links[edge->link_count - 1], &at) != CLEW_NONE;
}

static bool same_link(const struct clew_link *a, const struct clew_link *b)
{
	return a->at == b->at && a->begin == b->begin && a->end == b->end && a->task == b->task &&
	       a->worker == b->worker && a->flags == b->flags && a->evidence == b->evidence;
}

bool capture_says_links(struct conversion *conversion, uint32_t dependency,
			const struct clew_sleep *sleep)
{
	const struct clew_edge *edge =
		conversion->trace->edges + conversion->dependency_edge[dependency];
	const struct clew_link *links = sleep->links;
	unsigned count = sleep->and_count + 1u;
	uint64_t at;

	/* Of several destinations the edge is another's; the trigger comes first of the origins. */
	if (!capture_by_request(conversion, dependency) || edge->link_count != 1 ||
	    sleep->link_count != 1 || edge->and_count != sleep->and_count ||
	    latest_origin(conversion, edge) != 0)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (links[i].number != edge->links[i].number ||
		    request_span(conversion, &links[i], &at) == CLEW_NONE)
			return false;
	for (unsigned i = 0; i < count; i++) {
		const struct clew_link implied =
			capture_request_link(conversion->requests, links, count, i);

		if (!same_link(&links[i], &implied))
			return false;
	}
	return true;
}

static bool has_submitter(const struct clew_trace_request *request)
{
	return !trace_nobody(request->block.submitter) && request->block.queued;
}

/* From who submitted a request to it: dependencies behind those of edges. */
static void put_submissions(struct conversion *conversion, const struct edges *edges,
			    enum pass pass, uint32_t *next)
{
	uint32_t dependency = (uint32_t)edges->group_count;
	uint32_t origin = (uint32_t)(conversion->origins.count - conversion->call_count -
				     conversion->submission_count);
	uint32_t destination = (uint32_t)edges->count;

	for (uint32_t i = 0; i < conversion->request_count; i++) {
		const struct clew_block_request *block = &conversion->requests[i].block;

		if (!has_submitter(&conversion->requests[i]))
			continue;
		if (pass == PASS_ORIGINS)
			put_endpoint(conversion, next,
				     capture_span_of(conversion, block->submitter),
				     (struct endpoint){.at = block->queued,
						       .slot = origin,
						       .dependency = dependency,
						       .rank = EVENT_RANK_OUT});
		else
			put_endpoint(conversion, next, conversion->root_count + i,
				     (struct endpoint){.at = block->queued,
						       .slot = destination,
						       .dependency = dependency,
						       .stays = true});
		dependency++;
		origin++;
		destination++;
	}
}

/* Of what programs announced: behind submissions. */
static void put_calls(struct conversion *conversion, const struct edges *edges, bool origins,
		      uint32_t *next)
{
	for (uint32_t i = 0; i < conversion->call_count; i++) {
		const struct clew_call_dependency *call = &conversion->calls[i];
		const uint32_t dependency =
			(uint32_t)(edges->group_count + conversion->submission_count) + i;
		const uint32_t origin =
			(uint32_t)(conversion->origins.count - conversion->call_count) + i;
		const uint32_t destination =
			(uint32_t)(edges->count + conversion->submission_count) + i;

		if (origins)
			put_endpoint(conversion, next, capture_span_of(conversion, call->from),
				     (struct endpoint){.at = call->from_at,
						       .slot = origin,
						       .dependency = dependency,
						       .rank = EVENT_RANK_OUT});
		else
			put_endpoint(conversion, next, capture_span_of(conversion, call->to),
				     (struct endpoint){.at = call->to_at,
						       .slot = destination,
						       .dependency = dependency,
						       .rank = EVENT_RANK_IN});
	}
}

static void put_all(struct conversion *conversion, const struct edges *edges, uint32_t *next)
{
	for (enum pass pass = 0; pass < PASS_COUNT; pass++) {
		for (size_t group = 0; group < edges->group_count; group++) {
			if (pass == PASS_ORIGINS)
				put_origins(conversion, edges, group, next);
			else
				put_destinations(conversion, edges, group, pass, next);
		}
		if (pass == PASS_ORIGINS || pass == PASS_SLEEP_ENDS)
			put_submissions(conversion, edges, pass, next);
		if (pass == PASS_ORIGINS || pass == PASS_OTHER_ENDS)
			put_calls(conversion, edges, pass == PASS_ORIGINS, next);
	}
}

/* ---- dependencies ---- */

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

/* What groups of edges become. */
static int add_groups(struct conversion *conversion, const struct edges *edges, size_t *ret_origins)
{
	struct vector *out = &conversion->dependencies;
	uint32_t type, span, task;
	size_t origins = 0;
	uint64_t at;
	int r = 0;

	for (size_t group = 0; group < edges->group_count && r == 0; group++) {
		const struct clew_edge *edge = first_of(edges, group);
		uint32_t count = 0;

		conversion->dependency_edge[group] = edges->order[edges->begin[group]];
		for (unsigned i = 0; origin_of(conversion, edge, i, &span, &at, &task); i++)
			count += span != CLEW_NONE;
		r = type_of(conversion, edge->type, &type);
		((struct clew_dependency *)out->data)[out->count++] = (struct clew_dependency){
			.type = type & 0xffffff,
			.mode = count > 1 ? CLEW_MODE_AND : CLEW_MODE_SINGLE,
			.attributes = CLEW_NONE,
			.origins = {(uint32_t)origins, count},
			.destinations = {edges->begin[group],
					 edges->begin[group + 1] - edges->begin[group]},
		};
		origins += count;
		if (origins > CLEW_NONE / 2)
			return -E2BIG;
	}
	*ret_origins = origins;
	return r;
}

/* One from one to one. */
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

/* Which dependency ended each sleep, and what of it only a mark tells. */
static void note_sleeps(struct conversion *conversion, const struct edges *edges)
{
	for (size_t group = 0; group < edges->group_count; group++)
		for (uint32_t i = edges->begin[group]; i < edges->begin[group + 1]; i++) {
			uint32_t sleep = conversion->trace->edge_sleeps[edges->order[i]];

			if (sleep == CLEW_NONE)
				continue;
			conversion->sleep_dependency[sleep] = (uint32_t)group;
			((uint8_t *)conversion->told_by_mark.data)[group] |=
				!ends_a_gap(conversion, sleep);
		}
}

static int make_dependencies(struct conversion *conversion, const struct edges *edges)
{
	struct vector *out = &conversion->dependencies;
	size_t submissions, further, origins;
	uint32_t type = 0;
	int r;

	for (size_t i = 0; i < conversion->request_count; i++)
		conversion->submission_count += has_submitter(&conversion->requests[i]);
	submissions = conversion->submission_count;
	further = submissions + conversion->call_count;
	if (edges->count + further > CLEW_NONE / 2)
		return -E2BIG;
	if (vector_reserve(out, edges->group_count + further) < 0 ||
	    vector_reserve(&conversion->destinations, edges->count + further) < 0 ||
	    vector_reserve(&conversion->told_by_mark, edges->group_count) < 0 ||
	    vector_reserve(&conversion->triggers, edges->group_count + further) < 0)
		return -ENOMEM;
	r = add_groups(conversion, edges, &origins);
	if (submissions && r == 0)
		r = type_of(conversion, CLEW_EDGE_REQUEST, &type);
	if (r < 0)
		return r;
	for (size_t i = 0; i < submissions; i++)
		add_single(conversion, type, origins + i, edges->count + i);
	for (size_t i = 0; i < conversion->call_count; i++)
		add_single(conversion,
			   conversion->calls[i].is_return ? CLEW_DEPENDENCY_RETURN
							  : CLEW_DEPENDENCY_CALL,
			   origins + submissions + i, edges->count + submissions + i);
	if (vector_reserve(&conversion->origins, origins + further) < 0)
		return -ENOMEM;
	conversion->triggers.count = out->count;
	conversion->origins.count = origins + further;
	conversion->destinations.count = edges->count + further;
	note_sleeps(conversion, edges);
	return 0;
}

/* ---- endpoints to their places ---- */

static int sort_endpoints(struct endpoint *endpoints, uint32_t count, struct vector *keys,
			  struct vector *spare)
{
	struct sort_key *sorted;
	struct endpoint *copy;
	bool in_order = true;

	for (uint32_t i = 1; i < count && in_order; i++)
		in_order = endpoints[i - 1].at <= endpoints[i].at;
	if (in_order)
		return 0;
	if (vector_reserve(keys, 2 * (size_t)count) < 0 || vector_reserve(spare, count) < 0)
		return -ENOMEM;
	sorted = keys->data;
	copy = memcpy(spare->data, endpoints, count * sizeof(*endpoints));
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (struct sort_key){.key = endpoints[i].at, .index = i};
	sort_keys(sorted, sorted + count, count);
	for (uint32_t i = 0; i < count; i++)
		endpoints[i] = copy[sorted[i].index];
	return 0;
}

/* Where an endpoint goes that falls into a stretch, which begins before or at it and ends behind
 * it. */
static uint64_t place_in(const struct stretch *stretch, const struct endpoint *endpoint)
{
	uint64_t at = endpoint->at;

	if (endpoint->ends_sleep || stretch->kind == STRETCH_RUN ||
	    stretch->kind == STRETCH_UNKNOWN)
		return at;
	if (endpoint->rank != EVENT_RANK_OUT) {
		if (at == stretch->start && (endpoint->stays || stretch->kind == STRETCH_SLEEP))
			return at;
		return stretch->end;
	}
	/* An act comes before what it causes: it goes back, unless clocks alone can have parted it
	 * from the run behind. */
	return stretch->end - at < at - stretch->start && stretch->end - at < CLOCK_SLACK
		       ? stretch->end
		       : stretch->start;
}

/* Whether one of the same moment comes later: the end of a sleep is what ends the gap. */
static bool comes_after(const struct endpoint *a, const struct endpoint *b)
{
	if (a->at != b->at)
		return a->at > b->at;
	if (a->ends_sleep != b->ends_sleep)
		return b->ends_sleep;
	return a->rank > b->rank;
}

static void put_in_order(struct endpoint *endpoints, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct endpoint endpoint = endpoints[i];
		uint32_t at = i;

		for (; at > 0 && comes_after(&endpoints[at - 1], &endpoint); at--)
			endpoints[at] = endpoints[at - 1];
		endpoints[at] = endpoint;
	}
}

static void settle(const struct clew_trace *trace, const struct trace_task *task,
		   struct endpoint *endpoints, uint32_t count)
{
	struct stretches stretches = capture_stretches(trace, task);
	struct stretch stretch;
	bool moved = false;
	uint32_t i = 0;

	while (i < count && capture_stretch(&stretches, &stretch)) {
		for (; i < count && endpoints[i].at < stretch.end; i++) {
			uint64_t at = place_in(&stretch, &endpoints[i]);

			moved |= at != endpoints[i].at;
			endpoints[i].at = at;
		}
	}
	if (moved)
		put_in_order(endpoints, count);
}

static int settle_all(struct conversion *conversion)
{
	struct vector keys = {.item = sizeof(struct sort_key)},
		      spare = {.item = sizeof(struct endpoint)};
	const struct clew_trace *trace = conversion->trace;
	int r = 0;

	for (uint32_t span = 0; span < conversion->span_count && r == 0; span++) {
		struct endpoint *endpoints =
			conversion->endpoints + conversion->endpoint_begin[span];
		uint32_t count =
			conversion->endpoint_begin[span + 1] - conversion->endpoint_begin[span];
		const struct trace_task *task =
			span < conversion->task_count ? trace_task_at(trace, span) : NULL;
		uint64_t begin = task ? task->begin : trace->start,
			 end = task ? task->end : conversion->end;

		for (uint32_t i = 0; i < count && span < conversion->actor_count; i++) {
			endpoints[i].at = endpoints[i].at < begin ? begin : endpoints[i].at;
			endpoints[i].at = endpoints[i].at > end ? end : endpoints[i].at;
		}
		r = sort_endpoints(endpoints, count, &keys, &spare);
		if (r == 0 && task && count)
			settle(trace, task, endpoints, count);
		for (uint32_t i = 0; i < count; i++) {
			const struct clew_dependency *dependency =
				(const struct clew_dependency *)conversion->dependencies.data +
				endpoints[i].dependency;
			struct trigger *trigger = (struct trigger *)conversion->triggers.data +
						  endpoints[i].dependency;

			if (endpoints[i].rank == EVENT_RANK_OUT &&
			    endpoints[i].slot == dependency->origins.first)
				*trigger = (struct trigger){.at = endpoints[i].at,
							    .task = task ? task->task.serial
									 : CLEW_NO_TASK};
		}
	}
	vector_done(&keys);
	vector_done(&spare);
	return r;
}

int capture_make_edges(struct conversion *conversion)
{
	struct edges edges = {0};
	uint32_t *next = NULL;
	int r;

	edges.edges = clew_trace_edges(conversion->trace, &edges.count);
	r = clew_trace_edge_groups(conversion->trace, &edges.order, &edges.begin,
				   &edges.group_count);
	if (r < 0)
		return r;
	conversion->dependency_edge =
		malloc((edges.group_count + 1) * sizeof(*conversion->dependency_edge));
	conversion->endpoint_begin =
		calloc((size_t)conversion->span_count + 2, sizeof(*conversion->endpoint_begin));
	next = calloc((size_t)conversion->span_count + 1, sizeof(*next));
	conversion->sleep_dependency =
		malloc((conversion->sleep_count + 1) * sizeof(*conversion->sleep_dependency));
	r = conversion->dependency_edge && conversion->endpoint_begin && next &&
			    conversion->sleep_dependency
		    ? 0
		    : -ENOMEM;
	if (r == 0) {
		memset(conversion->sleep_dependency, 0xff,
		       conversion->sleep_count * sizeof(*conversion->sleep_dependency));
		r = make_dependencies(conversion, &edges);
	}
	if (r == 0) {
		/* Counted first, then put. */
		put_all(conversion, &edges, next);
		for (uint32_t span = 0; span < conversion->span_count; span++)
			conversion->endpoint_begin[span + 1] =
				conversion->endpoint_begin[span] + next[span];
		memcpy(next, conversion->endpoint_begin, conversion->span_count * sizeof(*next));
		conversion->endpoints =
			malloc((conversion->endpoint_begin[conversion->span_count] + 1ul) *
			       sizeof(*conversion->endpoints));
		r = conversion->endpoints ? 0 : -ENOMEM;
	}
	if (r == 0) {
		put_all(conversion, &edges, next);
		r = settle_all(conversion);
	}
	free(next);
	free(edges.order);
	free(edges.begin);
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

/* Of an edge that no sleep tells of. */
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
	bool by_mark = ((const uint8_t *)conversion->told_by_mark.data)[dependency];
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
	pairs_add(&conversion->pairs, ATTRIBUTE_EVIDENCE, clew_evidence_name(CLEW_EVIDENCE_EXACT));
	r = pairs_make(&conversion->pairs, conversion->maker, &of_submission);
	for (size_t i = group_count; i < calls; i++)
		dependencies[i].attributes = of_submission;
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Endpoints of dependencies, in order of time within each span.
 *
 * A destination is at the end of the gap, where its task came on the CPU; an
 * origin is within an ES of its task. An endpoint that falls into a gap,
 * because clocks differ or records were lost, moves to an end of the gap. If
 * nothing is known of that time, it gets an ES of its own. The attributes of
 * the dependency keep the recorded moment.
 */
#include "convert/to_model.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ns by which the clocks of two CPUs may differ. */
#define CLOCK_SLACK 10000

bool capture_ends_a_gap(const struct conversion *conversion, uint32_t number)
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

/* The order in which endpoints are made: ends of sleeps come first, a task's
 * own exec comes after the origins. */
enum pass { PASS_SLEEP_ENDS, PASS_OTHER_ENDS, PASS_ORIGINS, PASS_LATE_ENDS, PASS_COUNT };

static enum pass pass_of(const struct conversion *conversion, const struct clew_edge *edge,
			 uint32_t sleep)
{
	if (capture_ends_a_gap(conversion, sleep))
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

static void put_destinations(struct conversion *conversion, const struct edge_groups *groups,
			     size_t group, enum pass pass, uint32_t *next)
{
	for (uint32_t i = groups->begin[group]; i < groups->begin[group + 1]; i++) {
		uint32_t number = groups->order[i], sleep = conversion->trace->edge_sleeps[number];
		const struct clew_edge *edge = &groups->edges[number];

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

static void put_origins(struct conversion *conversion, const struct edge_groups *groups,
			size_t group, uint32_t *next)
{
	const struct clew_dependency *dependency =
		(const struct clew_dependency *)conversion->dependencies.data + group;
	const struct clew_edge *edge = &groups->edges[groups->order[groups->begin[group]]];
	uint32_t first = dependency->origins.first, slot = first + 1, span, task;
	unsigned latest = capture_latest_origin(conversion, edge);
	uint64_t at;

	for (unsigned i = 0; capture_origin(conversion, edge, i, &span, &at, &task); i++)
		if (span != CLEW_NONE)
			put_endpoint(conversion, next, span,
				     (struct endpoint){.at = at,
						       .slot = i == latest ? first : slot++,
						       .dependency = (uint32_t)group,
						       .rank = EVENT_RANK_OUT});
}

/* Dependencies from the submitter to the request; they come after those of
 * edges. */
static void put_submissions(struct conversion *conversion, const struct edge_groups *groups,
			    enum pass pass, uint32_t *next)
{
	uint32_t dependency = (uint32_t)groups->group_count;
	uint32_t origin = (uint32_t)(conversion->origins.count - conversion->call_count -
				     conversion->submission_count);
	uint32_t destination = (uint32_t)groups->count;

	for (uint32_t i = 0; i < conversion->request_count; i++) {
		const struct clew_block_request *block = &conversion->requests[i].block;

		if (!capture_has_submitter(&conversion->requests[i]))
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

/* Dependencies of announced calls; they come after submissions. */
static void put_calls(struct conversion *conversion, const struct edge_groups *groups, bool origins,
		      uint32_t *next)
{
	for (uint32_t i = 0; i < conversion->call_count; i++) {
		const struct clew_call_dependency *call = &conversion->calls[i];
		const uint32_t dependency =
			(uint32_t)(groups->group_count + conversion->submission_count) + i;
		const uint32_t origin =
			(uint32_t)(conversion->origins.count - conversion->call_count) + i;
		const uint32_t destination =
			(uint32_t)(groups->count + conversion->submission_count) + i;

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

static void put_all(struct conversion *conversion, const struct edge_groups *groups, uint32_t *next)
{
	for (enum pass pass = 0; pass < PASS_COUNT; pass++) {
		for (size_t group = 0; group < groups->group_count; group++) {
			if (pass == PASS_ORIGINS)
				put_origins(conversion, groups, group, next);
			else
				put_destinations(conversion, groups, group, pass, next);
		}
		if (pass == PASS_ORIGINS || pass == PASS_SLEEP_ENDS)
			put_submissions(conversion, groups, pass, next);
		if (pass == PASS_ORIGINS || pass == PASS_OTHER_ENDS)
			put_calls(conversion, groups, pass == PASS_ORIGINS, next);
	}
}

/* ---- moving them into ESs ---- */

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

/* The moment to which an endpoint moves that lies in this interval. */
static uint64_t moment_in(const struct interval *interval, const struct endpoint *endpoint)
{
	uint64_t at = endpoint->at;

	if (endpoint->ends_sleep || interval->kind == INTERVAL_RUN ||
	    interval->kind == INTERVAL_UNKNOWN)
		return at;
	if (endpoint->rank != EVENT_RANK_OUT) {
		if (at == interval->start && (endpoint->stays || interval->kind == INTERVAL_SLEEP))
			return at;
		return interval->end;
	}
	/* An origin comes before its effect, so it moves back, unless it is so
	 * near the end that clocks that differ explain it. */
	return interval->end - at < at - interval->start && interval->end - at < CLOCK_SLACK
		       ? interval->end
		       : interval->start;
}

/* The order of endpoints: at one moment the end of a sleep comes first, as it
 * ends the gap. */
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
	struct intervals intervals = capture_intervals(trace, task);
	struct interval interval;
	bool moved = false;
	uint32_t i = 0;

	while (i < count && capture_interval_next(&intervals, &interval)) {
		for (; i < count && endpoints[i].at < interval.end; i++) {
			uint64_t at = moment_in(&interval, &endpoints[i]);

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

int capture_make_endpoints(struct conversion *conversion, const struct edge_groups *groups)
{
	uint32_t *next = calloc((size_t)conversion->span_count + 1, sizeof(*next));
	int r;

	conversion->endpoint_begin =
		calloc((size_t)conversion->span_count + 2, sizeof(*conversion->endpoint_begin));
	if (!next || !conversion->endpoint_begin) {
		free(next);
		return -ENOMEM;
	}
	/* The first pass, without an array, only counts them. */
	put_all(conversion, groups, next);
	for (uint32_t span = 0; span < conversion->span_count; span++)
		conversion->endpoint_begin[span + 1] =
			conversion->endpoint_begin[span] + next[span];
	memcpy(next, conversion->endpoint_begin, conversion->span_count * sizeof(*next));
	conversion->endpoints = malloc((conversion->endpoint_begin[conversion->span_count] + 1ul) *
				       sizeof(*conversion->endpoints));
	r = conversion->endpoints ? 0 : -ENOMEM;
	if (r == 0) {
		put_all(conversion, groups, next);
		r = settle_all(conversion);
	}
	free(next);
	return r;
}

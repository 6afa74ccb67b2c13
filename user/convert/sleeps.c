/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sleeps as typed waits. Attributes that follow from the gap and from the
 * dependency that ends it are left out, so that most waits share their
 * attributes with many others. sleeps_back.c is the way back.
 */
#include "convert/to_model.h"
#include "explain/operations.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Values that the way back derives from the gap and the dependency alone. */
struct implied {
	uint64_t end, raw_end, switch_in, from_at;
	uint32_t from, ended_by;
	unsigned evidence;
	bool by_edge, by_request, links;
};

static struct implied implied_by(struct conversion *conversion, const struct clew_sleep *sleep,
				 uint64_t start, uint64_t end)
{
	uint32_t dependency = conversion->sleep_dependency[sleep - conversion->sleeps];
	struct implied implied = {.end = end, .switch_in = end};
	const struct trigger *trigger;
	const struct clew_edge *edge;
	size_t count;

	if (dependency != CLEW_NONE && start < end) {
		edge = clew_trace_edges(conversion->trace, &count) +
		       conversion->dependency_edge[dependency];
		trigger = (const struct trigger *)conversion->triggers.data + dependency;
		implied.by_edge = true;
		implied.evidence = edge->evidence;
		implied.from = trigger->task;
		implied.from_at = trigger->task == CLEW_NO_TASK ? 0 : trigger->at;
		implied.ended_by = sleep->from;
		implied.by_request = capture_by_request(conversion, dependency);
		implied.links = capture_implies_links(conversion, dependency, sleep);
		if (implied.links) {
			implied.from = sleep->links[0].task;
			implied.from_at = sleep->links[0].at;
		}
	}
	/* Without links the dependency is the wake itself. */
	if (implied.by_edge && sleep->link_count == 0) {
		implied.raw_end = sleep->from_at;
		implied.end = implied.raw_end > start ? implied.raw_end : start;
	} else if (sleep->end != CLEW_TIME_OPEN && sleep->context != CLEW_WAKE_UNKNOWN) {
		implied.raw_end = sleep->end;
	}
	return implied;
}

static const char *const open_words[] = {
	[CLEW_OPEN_START] = "start", [CLEW_OPEN_END] = "end", [CLEW_OPEN_BOTH] = "both"};

/* True if the thread waited on for the same after this. */
static bool is_retried(const struct conversion *conversion, const struct clew_sleep *sleep)
{
	return clew_trace_last_slice(conversion->trace, sleep) != sleep;
}

/* True if a thread's operations are separated by a wait that does not look like one for work. */
static bool is_rest(const struct conversion *conversion, const struct clew_sleep *sleep)
{
	return wait_separates(conversion->trace, sleep) &&
	       !operation_is_idle(sleep->kind, sleep->call,
				  clew_trace_in_exchange(conversion->trace, sleep), 0);
}

/* Attributes that few sleeps have. */
static void describe_rest(struct conversion *conversion, const struct clew_sleep *sleep)
{
	struct pairs *pairs = &conversion->pairs;

	if (sleep->frozen)
		pairs_add(pairs, ATTRIBUTE_FROZEN, "yes");
	if (sleep->blind)
		pairs_add(pairs, ATTRIBUTE_BLIND, sleep->hidden ? "hidden" : "yes");
	if (is_retried(conversion, sleep))
		pairs_add(pairs, ATTRIBUTE_RETRIED, "yes");
	if (sleep->asked)
		pairs_add_number(pairs, ATTRIBUTE_ASKED, sleep->asked);
	if (sleep->away)
		pairs_add_number(pairs, ATTRIBUTE_AWAY, sleep->away);
	if (clew_trace_in_exchange(conversion->trace, sleep))
		pairs_add(pairs, ATTRIBUTE_EXCHANGE, "yes");
	if (is_rest(conversion, sleep))
		pairs_add(pairs, ATTRIBUTE_REST, "yes");
	if (sleep->operation)
		pairs_add_number(pairs, ATTRIBUTE_OPERATION, sleep->operation);
	if (sleep->poller)
		pairs_add_number(pairs, ATTRIBUTE_EPOLL, sleep->poller);
	if (sleep->flags)
		pairs_add_number(pairs, ATTRIBUTE_FLAGS, sleep->flags);
}

/* `call_id`: the last one of the thread. */
static void describe_sleep(struct conversion *conversion, const struct clew_sleep *sleep,
			   uint64_t start, const struct implied *implied, uint32_t call_id)
{
	struct pairs *pairs = &conversion->pairs;

	capture_object_pairs(conversion, &sleep->object,
			     capture_path_of(conversion, &sleep->object, sleep->start), true);
	if (sleep->call != CLEW_NO_CALL)
		pairs_add(pairs, ATTRIBUTE_CALL, clew_call_name(sleep->call));
	if (sleep->call_id == call_id && call_id)
		pairs_add(pairs, ATTRIBUTE_CALL_ID, "same");
	else if (sleep->call_id != call_id + 1)
		pairs_add_number(pairs, ATTRIBUTE_CALL_ID, sleep->call_id);
	if (sleep->context != (implied->by_edge ? CLEW_WAKE_TASK : CLEW_WAKE_UNKNOWN))
		pairs_add(pairs, ATTRIBUTE_CONTEXT, clew_context_name(sleep->context));
	if (sleep->ended_by != implied->ended_by)
		pairs_add(pairs, ATTRIBUTE_ENDED_BY,
			  sleep->ended_by ? capture_name_of(conversion, sleep->ended_by) : "-");
	if (sleep->edge_type >= 0 && !implied->by_edge)
		pairs_add(pairs, ATTRIBUTE_EDGE,
			  clew_trace_type_name(conversion->trace, (unsigned)sleep->edge_type));
	if (sleep->edge_type >= 0 && sleep->edge_evidence != implied->evidence)
		pairs_add(pairs, ATTRIBUTE_EVIDENCE, clew_evidence_name(sleep->edge_evidence));
	if (sleep->edge_type >= 0 && sleep->from != implied->from)
		pairs_add(pairs, ATTRIBUTE_FROM_TASK,
			  sleep->from ? capture_name_of(conversion, sleep->from) : "-");
	if (sleep->edge_type >= 0 && sleep->from_at != implied->from_at)
		pairs_add_number(pairs, ATTRIBUTE_FROM, sleep->from_at);
	if (implied->by_request && sleep->link_count == 0)
		pairs_add(pairs, ATTRIBUTE_LINKS, "-");
	else if (!implied->links)
		capture_describe_links(conversion, sleep);
	capture_describe_holders(conversion, sleep);
	if (sleep->open)
		pairs_add(pairs, ATTRIBUTE_OPEN, open_words[sleep->open & 3]);
	/* A request or timer ended before it woke anybody, and an origin may
	 * have had to move: that there was no delay has to be said. */
	if (sleep->end != CLEW_TIME_OPEN &&
	    (sleep->end != implied->end ||
	     (implied->by_edge && (sleep->link_count || sleep->from_at != implied->from_at)))) {
		if (sleep->end <= implied->switch_in)
			pairs_add_number(pairs, ATTRIBUTE_RUNQUEUE,
					 implied->switch_in - sleep->end);
		else
			pairs_add_number(pairs, ATTRIBUTE_ENDED, sleep->end);
	}
	if (sleep->raw_end != implied->raw_end)
		pairs_add_number(pairs, ATTRIBUTE_RAW_AT, sleep->raw_end);
	if (sleep->start != start)
		pairs_add_number(pairs, ATTRIBUTE_SINCE, sleep->start);
	if (sleep->switch_in == CLEW_TIME_OPEN && sleep->end != CLEW_TIME_OPEN)
		pairs_add(pairs, ATTRIBUTE_UNTIL, "open");
	else if (sleep->switch_in != CLEW_TIME_OPEN && sleep->switch_in != implied->switch_in)
		pairs_add_number(pairs, ATTRIBUTE_UNTIL, sleep->switch_in);
	describe_rest(conversion, sleep);
}

/* True if the sleep has attributes that hardly any other shares. */
static bool is_special(const struct clew_sleep *sleep, uint64_t start,
		       const struct implied *implied, uint32_t call_id)
{
	return (sleep->call_id != call_id && sleep->call_id != call_id + 1) ||
	       sleep->holder_count || sleep->link_count || sleep->asked || sleep->away ||
	       (sleep->edge_type >= 0 &&
		(sleep->from != implied->from || sleep->from_at != implied->from_at)) ||
	       (sleep->end != CLEW_TIME_OPEN && sleep->end != implied->end) ||
	       sleep->raw_end != implied->raw_end || sleep->start != start ||
	       sleep->switch_in == CLEW_TIME_OPEN || sleep->switch_in != implied->switch_in;
}

static struct shape *shape_of(struct conversion *conversion, const struct clew_sleep *sleep,
			      const struct implied *implied, uint32_t call_id)
{
	struct {
		uint64_t number, path;
		uint32_t device, ended_by;
		int32_t descriptor;
		uint16_t call, poller;
		uint8_t object_kind, futex_operation, shared, kind, same_call, context, open, flags,
			evidence, by_edge, blind, operation, retried, exchange, rest;
		int8_t edge_type;
	} fields;
	char bytes[SHAPE_SIZE] = {0};

	_Static_assert(sizeof(fields) <= SHAPE_SIZE, "a shape holds what there is to say");
	memset(&fields, 0, sizeof(fields));
	fields.number = sleep->object.number;
	/* Equal paths have the same address in the trace. */
	fields.path = (uintptr_t)capture_path_of(conversion, &sleep->object, sleep->start);
	fields.device = sleep->object.device;
	fields.descriptor = sleep->object.descriptor;
	fields.object_kind = sleep->object.kind;
	fields.futex_operation = sleep->object.futex_operation;
	fields.shared = sleep->object.shared;
	/* There is an attribute only if the task is not that of the
	 * dependency. */
	fields.ended_by = sleep->ended_by == implied->ended_by ? UINT32_MAX : sleep->ended_by;
	fields.call = sleep->call;
	fields.poller = sleep->poller;
	fields.kind = sleep->kind;
	fields.same_call = sleep->call_id == call_id;
	fields.context = sleep->context;
	fields.open = sleep->open;
	fields.flags = sleep->flags;
	fields.evidence = sleep->edge_type >= 0 && sleep->edge_evidence != implied->evidence
				  ? 1 + sleep->edge_evidence
				  : 0;
	fields.by_edge = implied->by_edge;
	fields.blind = sleep->blind + sleep->hidden;
	fields.operation = sleep->operation;
	fields.retried = is_retried(conversion, sleep);
	fields.exchange = clew_trace_in_exchange(conversion->trace, sleep);
	fields.rest = is_rest(conversion, sleep);
	fields.edge_type = implied->by_edge ? -1 : sleep->edge_type;
	memcpy(bytes, &fields, sizeof(fields));
	return capture_shape(&conversion->wait_shapes, bytes);
}

int capture_sleep_wait(struct conversion *conversion, const struct clew_sleep *sleep,
		       uint64_t start, uint64_t end, uint32_t *ret_wait)
{
	struct implied implied = implied_by(conversion, sleep, start, end);
	uint32_t call_id = conversion->last_call_id, attributes;
	struct shape *shape = NULL;
	int r;

	conversion->last_call_id = sleep->call_id;
	if (!is_special(sleep, start, &implied, call_id)) {
		shape = shape_of(conversion, sleep, &implied, call_id);
		if (shape && shape->made != CLEW_NONE) {
			*ret_wait = shape->made;
			return 0;
		}
	}
	describe_sleep(conversion, sleep, start, &implied, call_id);
	r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
	if (r == 0)
		r = capture_wait_row(conversion, sleep->kind, attributes, ret_wait);
	if (r == 0 && shape)
		shape->made = *ret_wait;
	return r;
}

/* A mark has no attributes, so they become words of its label. */
int capture_sleep_label(struct conversion *conversion, const struct clew_sleep *sleep, uint64_t at,
			uint32_t *ret_attributes)
{
	struct implied implied = implied_by(conversion, sleep, at, at);
	struct pairs *pairs = &conversion->pairs;
	uint32_t call_id = conversion->last_call_id;
	struct pairs words;
	int r;

	conversion->last_call_id = sleep->call_id;
	describe_sleep(conversion, sleep, at, &implied, call_id);
	pairs_value(pairs);
	words = *pairs;
	pairs_init(pairs);
	pairs_begin(pairs, "mark");
	pairs_text(pairs, "wait ");
	pairs_text(pairs, clew_wait_kind_name(sleep->kind));
	for (size_t i = 0; i < words.offsets.count && !words.failed; i++) {
		pairs_byte(pairs, i % 2 ? '=' : ' ');
		pairs_word(pairs, (const char *)words.text.data +
					  ((const uint32_t *)words.offsets.data)[i]);
	}
	pairs->failed |= words.failed;
	pairs_done(&words);
	r = pairs_make(pairs, conversion->maker, ret_attributes);
	return r < 0 ? r : *ret_attributes >= LABEL_OF_LIST ? -E2BIG : 0;
}

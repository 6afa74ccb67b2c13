/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sleep from its gap, its attributes, and the dependency that ends it.
 * sleeps.c leaves out what is implied.
 */
#include "convert/to_trace.h"
#include <clew/tokens.h>
#include <errno.h>
#include <string.h>

/* -1: there is no such type. */
static int type_of(const struct back *back, const char *name)
{
	const struct vector *own = &back->trace->own_types;

	for (size_t i = 0; i < own->count; i++)
		if (!strcmp(((const char *const *)own->data)[i], name))
			return (int)(CLEW_EDGE_TYPE_COUNT + i);
	return clew_edge_type_from_name(name);
}

/* The task and moment that the wake came from: attributes override the
 * dependency. */
static int take_edge(struct back *back, const struct values *values, uint32_t dependency,
		     struct clew_sleep *sleep)
{
	const struct clew_model *model = back->model;
	uint32_t trigger =
		dependency == CLEW_NONE ? CLEW_NONE : clew_model_trigger(model, dependency);
	uint32_t span = trigger == CLEW_NONE ? CLEW_NONE : model->es[trigger].span;
	const char *evidence = values->of[ATTRIBUTE_EVIDENCE];
	int type = -1, r;

	if (span != CLEW_NONE) {
		uint8_t own = back->edge_types[model->dependencies[dependency].type];

		type = own == UINT8_MAX ? -1 : own;
		sleep->from = back->is_device[span] ? CLEW_NO_TASK : back->serials[span];
		sleep->from_at = back->is_device[span] ? 0 : (uint64_t)model->es[trigger].end;
	}
	if (type >= 0 && !evidence)
		evidence = clew_model_attribute(model, model->dependencies[dependency].attributes,
						"evidence");
	if (values->of[ATTRIBUTE_EDGE])
		type = type_of(back, values->of[ATTRIBUTE_EDGE]);
	sleep->edge_type = (int8_t)type;
	if (type < 0)
		sleep->from = sleep->from_at = 0;
	if (values->of[ATTRIBUTE_FROM_TASK])
		sleep->from = back_serial(back, values->of[ATTRIBUTE_FROM_TASK]);
	r = back_number(back, values, ATTRIBUTE_FROM, &sleep->from_at);
	if (type >= 0 && evidence) {
		int value = back_word(evidence, clew_evidence_name, CLEW_EVIDENCE_COUNT);

		if (value < 0)
			return back_fail(back, "evidence=%.40s: there is no such word", evidence);
		sleep->edge_evidence = (uint8_t)value;
	}
	return r;
}

static int context_of(struct back *back, const struct values *values, unsigned kind, bool by_edge,
		      uint8_t *ret_context)
{
	const char *word = values->of[ATTRIBUTE_CONTEXT];

	if (word) {
		int context = back_word(word, clew_context_name, CLEW_WAKE_WORK + 1);

		if (context < 0)
			return back_fail(back, "context=%.40s: there is no such word", word);
		*ret_context = (uint8_t)context;
		return 0;
	}
	*ret_context = by_edge ? CLEW_WAKE_TASK : CLEW_WAKE_UNKNOWN;
	/* In a hand-written trace a timer ends a sleep without dependency, a
	 * device other waits. */
	if (!by_edge && !back->from_capture)
		*ret_context = kind == CLEW_WAIT_SLEEP ? CLEW_WAKE_TIMER : CLEW_WAKE_IRQ;
	return 0;
}

static int take_times(struct back *back, const struct values *values, uint64_t start, uint64_t end,
		      bool by_edge, struct clew_sleep *sleep)
{
	uint64_t implied_end = end, implied_raw = 0, number;
	const char *until = values->of[ATTRIBUTE_UNTIL];
	int r = 0;

	sleep->switch_in = end;
	if (until && !strcmp(until, "open"))
		sleep->switch_in = CLEW_TIME_OPEN;
	else if (until)
		r = back_number(back, values, ATTRIBUTE_UNTIL, &sleep->switch_in);
	if (by_edge && sleep->link_count == 0) {
		implied_raw = sleep->from_at;
		implied_end = implied_raw > start ? implied_raw : start;
		if (!back->from_capture && implied_end > end)
			implied_end = end;
	}
	sleep->end = implied_end;
	if (r == 0 && values->of[ATTRIBUTE_RUNQUEUE]) {
		r = back_number(back, values, ATTRIBUTE_RUNQUEUE, &number);
		sleep->end = number < end ? end - number : 0;
		if (sleep->end < sleep->start)
			sleep->end = sleep->start;
	}
	if (r == 0)
		r = back_number(back, values, ATTRIBUTE_ENDED, &sleep->end);
	if (sleep->open & CLEW_OPEN_END)
		sleep->end = sleep->switch_in = CLEW_TIME_OPEN;
	else if (!implied_raw && !(by_edge && sleep->link_count == 0) &&
		 sleep->context != CLEW_WAKE_UNKNOWN)
		implied_raw = sleep->end;
	sleep->raw_end = implied_raw;
	return r < 0 ? r : back_number(back, values, ATTRIBUTE_RAW_AT, &sleep->raw_end);
}

static int take_rest(struct back *back, const struct values *values, struct clew_sleep *sleep,
		     uint32_t *call_id)
{
	const char *id = values->of[ATTRIBUTE_CALL_ID];
	uint64_t call = *call_id + 1ul, operation = 0, poller = 0, flags = 0, away = 0;
	int r = 0;

	sleep->call = CLEW_NO_CALL;
	if (values->of[ATTRIBUTE_CALL])
		sleep->call = (uint16_t)clew_call_from_name(values->of[ATTRIBUTE_CALL]);
	if (id && !strcmp(id, "same"))
		call = *call_id;
	else
		r = back_number(back, values, ATTRIBUTE_CALL_ID, &call);
	*call_id = sleep->call_id = (uint32_t)call;
	if (r == 0)
		r = BACK_NUMBERS(back, values, {ATTRIBUTE_OPERATION, &operation},
				 {ATTRIBUTE_EPOLL, &poller}, {ATTRIBUTE_FLAGS, &flags},
				 {ATTRIBUTE_AWAY, &away});
	if (r == 0)
		r = back_number(back, values, ATTRIBUTE_ASKED, &sleep->asked);
	sleep->operation = (uint8_t)operation;
	sleep->poller = (uint16_t)poller;
	sleep->flags = (uint8_t)flags;
	sleep->away = (uint32_t)away;
	sleep->frozen = values->of[ATTRIBUTE_FROZEN] != NULL;
	sleep->blind = values->of[ATTRIBUTE_BLIND] != NULL;
	sleep->hidden = sleep->blind && !strcmp(values->of[ATTRIBUTE_BLIND], "hidden");
	return r;
}

/* Another host sent what ended the sleep: the interrupt and the softirq that brought it are no
 * causes. */
static void take_across(struct back *back, uint32_t dependency, struct clew_sleep *sleep)
{
	const struct clew_model *model = back->model;
	uint32_t attributes = model->dependencies[dependency].attributes;

	sleep->across = clew_model_attribute(model, attributes, "across") != NULL;
	for (uint32_t i = 0; i < sleep->link_count && sleep->across; i++)
		if (sleep->links[i].kind != CLEW_LINK_IRQ &&
		    sleep->links[i].kind != CLEW_LINK_SOFTIRQ)
			return;
	if (sleep->across)
		sleep->link_count = sleep->and_count = 0;
}

/* Removes what dependencies of the dropped types brought. */
static void drop(const struct back *back, struct clew_sleep *sleep)
{
	if (back->drop_types >> CLEW_EDGE_UNLOCK & 1)
		sleep->holder_count = 0;
	if (sleep->edge_type < 0 || !(back->drop_types >> sleep->edge_type & 1))
		return;
	sleep->edge_type = -1;
	sleep->context = CLEW_WAKE_UNKNOWN;
	sleep->ended_by = sleep->from = CLEW_NO_TASK;
	sleep->from_at = 0;
	sleep->link_count = sleep->and_count = 0;
}

int back_sleep(struct back *back, uint32_t serial, unsigned kind, const struct values *values,
	       uint64_t start, uint64_t end, uint32_t dependency, uint32_t *call_id)
{
	struct clew_sleep sleep = {.start = start,
				   .task = serial,
				   .kind = (uint8_t)kind,
				   .number = back->sleep_number++};
	const char *open = values->of[ATTRIBUTE_OPEN], *ended_by = values->of[ATTRIBUTE_ENDED_BY];
	bool by_edge;
	int r = back_object(back, values, &sleep.object);

	if (open)
		sleep.open = !strcmp(open, "both")  ? CLEW_OPEN_BOTH
			     : !strcmp(open, "end") ? CLEW_OPEN_END
						    : CLEW_OPEN_START;
	if (r == 0)
		r = back_number(back, values, ATTRIBUTE_SINCE, &sleep.start);
	if (r == 0)
		r = take_edge(back, values, dependency, &sleep);
	by_edge = dependency != CLEW_NONE && sleep.edge_type >= 0;
	if (r == 0)
		r = back_links(back, values, dependency, &sleep);
	if (r == 0 && by_edge)
		take_across(back, dependency, &sleep);
	if (r == 0)
		r = context_of(back, values, kind, by_edge, &sleep.context);
	if (r == 0)
		r = take_times(back, values, start, end, by_edge, &sleep);
	if (r == 0)
		r = take_rest(back, values, &sleep, call_id);
	if (r == 0)
		r = back_holders(back, values, &sleep);
	if (r < 0)
		return r;
	sleep.ended_by = by_edge ? sleep.from : CLEW_NO_TASK;
	if (ended_by)
		sleep.ended_by = back_serial(back, ended_by);
	drop(back, &sleep);
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_SLEEP, .sleep = &sleep});
}

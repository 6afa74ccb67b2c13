/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The findings that only clew has, as track events in order of time. Waits, and the time from their
 * end until the thread ran, are slices on the thread's own track. A wait that was not over at the
 * capture's end has no end here either.
 */
#include "export/perfetto_events.h"

#include <errno.h>
#include <stdlib.h>

#include "export/flow.h"

#define PROGRESS_EVERY 65536

static int add_waits(struct events *events)
{
	size_t count;
	int r = 0;

	events->sleeps = clew_trace_sleeps(events->it->trace, &count);
	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct clew_sleep *sleep = &events->sleeps[i];

		if (!clew_export_wants(events->it->export, sleep->task) ||
		    !clew_export_has(events->it->export, sleep->start, sleep->end) ||
		    !perfetto_thread_track(events->it, sleep->task))
			continue;
		r = event_add(events, BEGIN_WAIT, sleep->start, i);
		/* A wait of no length ends where it begins, together with its begin. */
		if (r >= 0 && sleep->end != CLEW_TIME_OPEN && sleep->end > sleep->start)
			r = event_add(events, END_WAIT, sleep->end, i);
		if (r >= 0 && flow_was_ready(sleep))
			r = event_add(events, BEGIN_READY, sleep->end, i);
		if (r >= 0 && flow_was_ready(sleep) && sleep->switch_in != CLEW_TIME_OPEN)
			r = event_add(events, END_READY, sleep->switch_in, i);
	}
	return r;
}

static void note_ended_by(struct events *events, const struct clew_sleep *sleep)
{
	char name[EXPORT_TASK_SIZE];

	if (sleep->end == CLEW_TIME_OPEN)
		return;
	if (sleep->ended_by != CLEW_NO_TASK)
		perfetto_note(events->it, "ended_by",
			      export_task_name(events->it->trace, sleep->ended_by,
					       sleep->raw_end ? sleep->raw_end : sleep->end, name));
	perfetto_note(events->it, "context", clew_context_name(sleep->context));
	if (sleep->edge_type >= 0)
		perfetto_note(events->it, "evidence", clew_evidence_name(sleep->edge_evidence));
}

static void put_wait(struct events *events, const struct clew_sleep *sleep)
{
	struct perfetto *it = events->it;
	const char *call = clew_call_name(sleep->call);
	uint64_t track = perfetto_thread_track(it, sleep->task);
	struct object_description object;
	char name[EXPORT_TASK_SIZE];
	size_t opened;

	opened = perfetto_event_open(it, EVENT_BEGIN, track, sleep->start, "wait",
				     clew_wait_kind_name(sleep->kind));
	if (object_describe_then(it->trace, &sleep->object, sleep, sleep->start, &object))
		perfetto_note(it, "object", object.name);
	if (call)
		perfetto_note(it, "call", call);
	for (uint32_t i = 0; i < sleep->holder_count; i++)
		perfetto_note(it, sleep->holders[i].coming ? "coming" : "holder",
			      export_task_name(it->trace, sleep->holders[i].task,
					       sleep->holders[i].from, name));
	note_ended_by(events, sleep);
	if (sleep->open & CLEW_OPEN_START)
		perfetto_note(it, "open", "start");
	if (sleep->blind)
		perfetto_note(it, "blind", sleep->hidden ? "hidden" : "lost");
	perfetto_event_close(it, opened);
	if (sleep->end == sleep->start)
		perfetto_event_end(it, track, sleep->end);
}

static void put_ready(struct events *events, const struct clew_sleep *sleep)
{
	uint64_t track = perfetto_thread_track(events->it, sleep->task);
	size_t opened =
		perfetto_event_open(events->it, EVENT_BEGIN, track, sleep->end, "ready", "ready");

	edges_end_flows(events, sleep);
	perfetto_event_close(events->it, opened);
}

static int add_losses(struct events *events)
{
	const struct clew_capture_info *info = clew_trace_info(events->it->trace);
	int r = 0;

	for (size_t i = 0; info && i < info->gap_count && r >= 0; i++)
		if (clew_export_has(events->it->export, info->gaps[i].from,
				    info->gaps[i].header.time))
			r = event_add(events, LOSS, info->gaps[i].from, i);
	if (events->keys[LOSS].count)
		perfetto_track(events->it, TRACK_LOST,
			       &(struct perfetto_track_options){.name = "clew: lost", .rank = 3});
	return r;
}

/* Losses may overlap: an event marks where each begins, and has its length. */
static void put_loss(struct events *events, const struct clew_gap *gap)
{
	struct perfetto *it = events->it;
	size_t opened = perfetto_event_open(it, EVENT_INSTANT, TRACK_LOST, gap->from, "lost",
					    "records lost");

	perfetto_note_number(it, "records", gap->count);
	perfetto_note_number(it, "ns", gap->header.time - gap->from);
	perfetto_note_number(it, "cpu", gap->header.cpu);
	perfetto_event_close(it, opened);
}

static void put(struct events *events, const struct sort_key *key)
{
	const struct clew_sleep *sleep = &events->sleeps[key->index];
	struct perfetto *it = events->it;

	switch ((enum event_kind)key->tag) {
	case END_WAIT:
	case END_READY:
		perfetto_event_end(it, perfetto_thread_track(it, sleep->task), key->key);
		break;
	case BEGIN_WAIT:
		put_wait(events, sleep);
		break;
	case BEGIN_READY:
		put_ready(events, sleep);
		break;
	case CAUSE:
		edges_put_cause(events, key->index);
		break;
	case EFFECT:
		edges_put_effect(events, key->index);
		break;
	case END_SLICE:
	case BEGIN_SLICE:
		slices_put(events, key->tag, key->index, key->key);
		break;
	case END_SEGMENT:
	case BEGIN_SEGMENT:
		why_put(events, key->tag, key->index, key->key);
		break;
	case LOSS:
		put_loss(events, &clew_trace_info(it->trace)->gaps[key->index]);
		break;
	default:
		requests_put(events, key->tag, key->index, key->key);
		break;
	}
}

/* Sorting keeps the order of kinds at equal times. */
static int put_all(struct events *events)
{
	const struct clew_export *export = events->it->export;
	size_t count = 0;
	struct sort_key *keys, *spare;

	for (unsigned i = 0; i < EVENT_KIND_COUNT; i++)
		count += events->keys[i].count;
	keys = malloc((count + 1) * sizeof(*keys));
	spare = malloc((count + 1) * sizeof(*spare));
	if (!keys || !spare) {
		free(keys);
		free(spare);
		return -ENOMEM;
	}
	count = 0;
	for (unsigned i = 0; i < EVENT_KIND_COUNT; i++) {
		const struct sort_key *of = events->keys[i].data;

		for (size_t k = 0; k < events->keys[i].count; k++)
			keys[count++] = of[k];
		vector_done(&events->keys[i]);
	}
	sort_keys(keys, spare, count);
	free(spare);
	if (count) {
		events->it->from = keys[0].key;
		perfetto_tracks_begin(events->it);
	}
	for (size_t i = 0; i < count; i++) {
		put(events, &keys[i]);
		if (i % PROGRESS_EVERY == 0)
			export->progress(export->progress_context,
					 .4 + .6 * (double)i / (double)count);
	}
	free(keys);
	return events->it->error;
}

int perfetto_events(struct perfetto *it)
{
	struct events events = {.it = it,
				.causes.item = sizeof(struct event_cause),
				.segments.item = sizeof(struct event_segment)};
	int r;

	for (unsigned i = 0; i < EVENT_KIND_COUNT; i++)
		events.keys[i].item = sizeof(struct sort_key);
	r = why_add(&events);
	if (r >= 0)
		r = add_waits(&events);
	if (r >= 0)
		r = edges_add(&events);
	if (r >= 0)
		r = requests_add(&events);
	if (r >= 0)
		r = slices_add(&events);
	if (r >= 0)
		r = add_losses(&events);
	if (r >= 0)
		r = put_all(&events);
	for (unsigned i = 0; i < EVENT_KIND_COUNT; i++)
		vector_done(&events.keys[i]);
	vector_done(&events.causes);
	why_done(&events);
	slices_done(&events);
	free(events.groups.order);
	free(events.groups.begin);
	free(events.request_tracks);
	return r;
}

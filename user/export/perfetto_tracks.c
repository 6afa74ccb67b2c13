/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tracks and track events for Perfetto. Each event's time is the difference to the one before,
 * and each string is written once.
 */
#include "export/perfetto.h"

#include <errno.h>

/* TrackDescriptor */
#define TRACK_UUID   1
#define TRACK_NAME   2
#define TRACK_THREAD 4
#define TRACK_PARENT 5
#define TRACK_ORDER  11
#define TRACK_RANK   12
#define TRACK_MERGE  15
#define ORDER_RANKS  3
#define MERGE_NEVER  2

/* TrackEvent */
#define EVENT_CATEGORY 3
#define EVENT_NOTE     4
#define EVENT_TYPE     9
#define EVENT_NAME     10
#define EVENT_TRACK    11
#define EVENT_FLOW     47
#define EVENT_FLOW_END 48

/* DebugAnnotation */
#define NOTE_KEY    1
#define NOTE_NUMBER 3
#define NOTE_VALUE  17

void perfetto_tracks_begin(struct perfetto *it)
{
	size_t clocks, clock, defaults;

	it->last_time = perfetto_time(it, it->from);
	clocks = proto_open(&it->packet, PACKET_CLOCKS);
	clock = proto_open(&it->packet, 1);
	proto_number(&it->packet, 1, PERFETTO_CLOCK_BOOT);
	proto_number(&it->packet, 2, it->last_time);
	proto_close(&it->packet, clock);
	clock = proto_open(&it->packet, 1);
	proto_number(&it->packet, 1, PERFETTO_CLOCK_INCREMENTAL);
	proto_number(&it->packet, 2, it->last_time);
	proto_number(&it->packet, 3, true);
	proto_close(&it->packet, clock);
	proto_close(&it->packet, clocks);
	proto_number(&it->packet, PACKET_FLAGS, SEQUENCE_BEGINS);
	perfetto_send(it, PERFETTO_TRACKS);
	defaults = proto_open(&it->packet, PACKET_DEFAULTS);
	proto_number(&it->packet, 58, PERFETTO_CLOCK_INCREMENTAL);
	proto_close(&it->packet, defaults);
	proto_number(&it->packet, PACKET_FLAGS, SEQUENCE_BEGINS);
	perfetto_send(it, PERFETTO_TRACKS);
}

static void send_track(struct perfetto *it, size_t opened)
{
	proto_close(&it->packet, opened);
	perfetto_send(it, PERFETTO_PLAIN);
}

void perfetto_track(struct perfetto *it, uint64_t track,
		    const struct perfetto_track_options *options)
{
	size_t opened = proto_open(&it->packet, PACKET_TRACK);

	proto_number(&it->packet, TRACK_UUID, track);
	proto_string(&it->packet, TRACK_NAME, options->name);
	if (options->parent)
		proto_number(&it->packet, TRACK_PARENT, options->parent);
	if (options->ordered)
		proto_number(&it->packet, TRACK_ORDER, ORDER_RANKS);
	proto_number(&it->packet, TRACK_RANK, options->rank);
	if (options->alone)
		proto_number(&it->packet, TRACK_MERGE, MERGE_NEVER);
	send_track(it, opened);
}

uint64_t perfetto_thread_track(struct perfetto *it, uint32_t serial)
{
	const struct clew_trace_task *task;
	uint64_t *known = map_get(&it->threads, serial, 0);
	size_t opened, thread;

	if (known)
		return *known;
	task = clew_trace_task(it->trace, serial);
	if (!task || !task->tid)
		return 0;
	if (map_set(&it->threads, serial, 0, it->next_track) < 0)
		it->error = -ENOMEM;
	opened = proto_open(&it->packet, PACKET_TRACK);
	proto_number(&it->packet, TRACK_UUID, it->next_track);
	thread = proto_open(&it->packet, TRACK_THREAD);
	proto_number(&it->packet, 1, task->pid ? task->pid : task->tid);
	proto_number(&it->packet, 2, task->tid);
	proto_close(&it->packet, thread);
	send_track(it, opened);
	return it->next_track++;
}

size_t perfetto_event_open(struct perfetto *it, enum perfetto_event event, uint64_t track,
			   uint64_t at, const char *category, const char *name)
{
	uint64_t time = perfetto_time(it, at);
	size_t opened;

	if (time < it->last_time)
		time = it->last_time;
	proto_number(&it->packet, PACKET_TIMESTAMP, time - it->last_time);
	it->last_time = time;
	opened = proto_open(&it->packet, PACKET_TRACK_EVENT);
	proto_number(&it->packet, EVENT_TYPE, event);
	proto_number(&it->packet, EVENT_TRACK, track);
	if (category)
		proto_number(&it->packet, EVENT_CATEGORY,
			     perfetto_string(it, &it->track_strings, INTERNED_CATEGORY, category));
	if (name)
		proto_number(&it->packet, EVENT_NAME,
			     perfetto_string(it, &it->track_strings, INTERNED_EVENT, name));
	return opened;
}

static size_t open_note(struct perfetto *it, const char *key)
{
	size_t opened = proto_open(&it->packet, EVENT_NOTE);

	proto_number(&it->packet, NOTE_KEY,
		     perfetto_string(it, &it->track_strings, INTERNED_KEY, key));
	return opened;
}

void perfetto_note(struct perfetto *it, const char *key, const char *value)
{
	size_t opened = open_note(it, key);

	proto_number(&it->packet, NOTE_VALUE,
		     perfetto_string(it, &it->track_strings, INTERNED_VALUE, value));
	proto_close(&it->packet, opened);
}

void perfetto_note_number(struct perfetto *it, const char *key, uint64_t value)
{
	size_t opened = open_note(it, key);

	proto_number(&it->packet, NOTE_NUMBER, value);
	proto_close(&it->packet, opened);
}

void perfetto_flow(struct perfetto *it, uint64_t flow)
{
	proto_fixed(&it->packet, EVENT_FLOW, flow);
}

void perfetto_flow_end(struct perfetto *it, uint64_t flow)
{
	proto_fixed(&it->packet, EVENT_FLOW_END, flow);
}

void perfetto_event_close(struct perfetto *it, size_t opened)
{
	proto_close(&it->packet, opened);
	proto_number(&it->packet, PACKET_FLAGS, SEQUENCE_HAS_STRINGS);
	perfetto_send(it, PERFETTO_TRACKS);
}

void perfetto_event_end(struct perfetto *it, uint64_t track, uint64_t at)
{
	perfetto_event_close(it, perfetto_event_open(it, EVENT_END, track, at, NULL, NULL));
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announced calls and activations of functions for Perfetto. They are slices of their thread's
 * track, with its waits inside; those that do not nest stand on tracks of their own below it. An
 * arrow leads from a call to one in another thread that is for it.
 */
#include "export/perfetto_events.h"

#include <errno.h>

#include "export/slices.h"

#define FLOW_OF_CALL (UINT64_C(1) << 61)

int slices_add(struct events *events)
{
	const struct export_slice *slices;
	size_t count;
	int r = export_slices(events->it->export, &events->slices);

	if (r >= 0)
		r = export_arrows(events->it->export, &events->arrows);
	slices = events->slices.data;
	count = events->slices.count;
	for (size_t i = 0; i < count && r >= 0; i++) {
		if (!perfetto_thread_track(events->it, slices[i].task))
			continue;
		r = event_add(events, BEGIN_SLICE, slices[i].start, i);
		/* A slice of no length ends where it begins, together with its begin. */
		if (r >= 0 && slices[i].end != CLEW_TIME_OPEN && slices[i].end > slices[i].start)
			r = event_add(events, END_SLICE, slices[i].end, i);
	}
	return r;
}

/* Tracks of one name below one thread are drawn as one, with rows for what overlaps. */
static uint64_t track_beside(struct events *events, const struct export_slice *slice, size_t index)
{
	struct perfetto *it = events->it;
	uint64_t *known = map_get(&events->beside, index, 0);

	if (known)
		return *known;
	if (map_set(&events->beside, index, 0, it->next_track) < 0)
		it->error = -ENOMEM;
	perfetto_track(it, it->next_track,
		       &(struct perfetto_track_options){
			       .parent = perfetto_thread_track(it, slice->task),
			       .name = slice->activity ? "other calls" : "other functions"});
	return it->next_track++;
}

static uint64_t track_of(struct events *events, const struct export_slice *slice, size_t index)
{
	return slice->beside ? track_beside(events, slice, index)
			     : perfetto_thread_track(events->it, slice->task);
}

static void note(void *context, const char *key, const char *value)
{
	perfetto_note(context, key, value);
}

/* The call that this one is for, if that is known, and by which evidence. */
static void put_arrows(struct events *events, const struct clew_activity *activity)
{
	struct perfetto *it = events->it;
	const struct clew_relation *relation;
	const struct export_arrow *arrows;
	size_t count;

	arrows = export_arrows_of(&events->arrows, activity, &count);
	for (size_t i = 0; i < count; i++)
		if (arrows[i].ends)
			perfetto_flow_end(it, FLOW_OF_CALL | arrows[i].number);
		else
			perfetto_flow(it, FLOW_OF_CALL | arrows[i].number);
	if (activity->relation == CLEW_NO_NUMBER)
		return;
	relation = &clew_relations_list(it->export->relations, &count)[activity->relation];
	perfetto_note(it, "evidence", clew_evidence_name(relation->evidence));
	if (relation->bridged)
		perfetto_note(it, "bridged", "yes");
}

static void put_begin(struct events *events, const struct export_slice *slice, size_t index)
{
	struct perfetto *it = events->it;
	uint64_t track = track_of(events, slice, index);
	char name[SLICE_NAME_SIZE];
	size_t opened;

	export_slice_name(it->trace, slice, name, sizeof(name));
	opened = perfetto_event_open(it, EVENT_BEGIN, track, slice->start,
				     slice->activity ? "call" : "function", name);
	if (export_slice_notes(it->trace, slice, note, it) < 0)
		it->error = -ENOMEM;
	if (slice->activity)
		put_arrows(events, slice->activity);
	perfetto_event_close(it, opened);
	if (slice->end == slice->start)
		perfetto_event_end(it, track, slice->end);
}

void slices_put(struct events *events, enum event_kind kind, size_t index, uint64_t at)
{
	const struct export_slice *slice = (const struct export_slice *)events->slices.data + index;

	if (kind == BEGIN_SLICE)
		put_begin(events, slice, index);
	else
		perfetto_event_end(events->it, track_of(events, slice, index), at);
}

void slices_done(struct events *events)
{
	vector_done(&events->slices);
	vector_done(&events->arrows);
	map_done(&events->beside);
}

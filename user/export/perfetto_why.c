/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The explained operations for Perfetto: a track each, with one slice for each stretch of
 * time. Its name is who did what, and its text is the sentence of `clew why`.
 */
#include "export/perfetto_events.h"

#include <errno.h>
#include <stdlib.h>

#include "format/text.h"
#include "words/beside.h"
#include "words/segment_text.h"

static void describe_track(struct events *events, size_t i)
{
	const struct clew_operation *operation = &events->it->export->operations[i];
	struct perfetto *it = events->it;
	char name[EXPORT_TASK_SIZE], title[200];

	snprintf(title, sizeof(title), "%s at +%s, %s",
		 export_task_name(it->trace, operation->task, operation->from, name),
		 CLEW_OFFSET(operation->from - clew_trace_start(it->trace),
			     clew_trace_end(it->trace) - clew_trace_start(it->trace)),
		 CLEW_DURATION(operation->to - operation->from));
	perfetto_track(
		it, events->why_track + i,
		&(struct perfetto_track_options){
			.parent = TRACK_WHY, .name = title, .rank = (unsigned)i, .alone = true});
}

static int add_operation(struct events *events, size_t i)
{
	const struct clew_export *export = events->it->export;
	const struct clew_operation *operation = &export->operations[i];
	struct clew_why *why = &events->whys[i];
	struct vector *segments = &events->segments;
	int r = clew_why_operation(export->trace, export->relations, operation, why);

	for (size_t k = 0; k < why->segment_count && r >= 0; k++) {
		const struct clew_segment *segment = &why->segments[k];

		r = vector_reserve(segments, segments->count + 1);
		if (r < 0)
			break;
		((struct event_segment *)segments->data)[segments->count] =
			(struct event_segment){.segment = segment, .operation = (uint32_t)i};
		r = event_add(events, BEGIN_SEGMENT, segment->start, segments->count);
		if (r >= 0)
			r = event_add(events, END_SEGMENT, segment->end, segments->count);
		segments->count++;
	}
	return r;
}

int why_add(struct events *events)
{
	size_t count = events->it->export->operation_count;
	int r = 0;

	if (!count)
		return 0;
	events->whys = calloc(count, sizeof(*events->whys));
	if (!events->whys)
		return -ENOMEM;
	perfetto_track(
		events->it, TRACK_WHY,
		&(struct perfetto_track_options){.name = "clew: why", .rank = 1, .ordered = true});
	events->why_track = events->it->next_track;
	events->it->next_track += count;
	for (size_t i = 0; i < count && r >= 0; i++) {
		describe_track(events, i);
		r = add_operation(events, i);
	}
	return r;
}

static void put_segment(struct events *events, const struct event_segment *of)
{
	const struct clew_segment *segment = of->segment;
	struct perfetto *it = events->it;
	char task[EXPORT_TASK_SIZE], name[EXPORT_TASK_SIZE + 32], *text;
	struct clew_beside beside;
	int r = clew_beside_find(it->trace, &segment, 1, &beside);
	size_t opened;

	/* The name at the segment's end: a new process soon gets that of its program. */
	snprintf(name, sizeof(name), "%s %s",
		 export_task_name(it->trace, segment->task, segment->end - 1, task),
		 clew_wait_kind_name(segment->kind));
	opened = perfetto_event_open(it, EVENT_BEGIN, events->why_track + of->operation,
				     segment->start, "why", name);
	text = r < 0 ? NULL : clew_segment_text(it->trace, it->export->relations, segment, &beside);
	if (!text)
		it->error = -ENOMEM;
	else
		perfetto_note(it, "text", text);
	free(text);
	perfetto_note(it, "kind", clew_wait_kind_name(segment->kind));
	if (segment->via_type >= 0) {
		perfetto_note(it, "type", clew_trace_type_name(it->trace, segment->via_type));
		perfetto_note(it, "evidence", clew_evidence_name(segment->via_evidence));
	}
	for (uint32_t i = 0; i < segment->chain_length; i++)
		perfetto_note(
			it, "waits",
			export_task_name(it->trace, segment->chain[i], segment->end - 1, task));
	perfetto_event_close(it, opened);
}

void why_put(struct events *events, enum event_kind kind, size_t index, uint64_t at)
{
	const struct event_segment *of =
		(const struct event_segment *)events->segments.data + index;

	if (kind == BEGIN_SEGMENT)
		put_segment(events, of);
	else
		perfetto_event_end(events->it, events->why_track + of->operation, at);
}

void why_done(struct events *events)
{
	for (size_t i = 0; events->whys && i < events->it->export->operation_count; i++)
		clew_why_done(&events->whys[i]);
	free(events->whys);
	vector_done(&events->segments);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Announced calls and activations of functions as slices. */
#include "export/slices.h"

#include <errno.h>
#include <stdlib.h>

#include "words/frame.h"
#include "words/functions.h"

/* Waits, and the time in which a thread was ready, have their places on the track already. */
struct taken {
	uint64_t start;
	uint64_t end;
	uint32_t task;
};

static int add(struct vector *slices, struct export_slice slice)
{
	if (vector_reserve(slices, slices->count + 1) < 0)
		return -ENOMEM;
	((struct export_slice *)slices->data)[slices->count++] = slice;
	return 0;
}

static int add_activities(const struct clew_export *export, struct vector *slices)
{
	size_t count;
	const struct clew_activity *all;
	int r = 0;

	if (!export->relations)
		return 0;
	all = clew_relations_activities(export->relations, &count);
	for (size_t i = 0; i < count && r >= 0; i++)
		if (clew_export_wants(export, all[i].task) &&
		    clew_export_has(export, all[i].begin, all[i].end))
			r = add(slices, (struct export_slice){.start = all[i].begin,
							      .end = all[i].end,
							      .task = all[i].task,
							      .beside = all[i].is_async,
							      .activity = &all[i]});
	return r;
}

static int add_frames(const struct clew_export *export, struct vector *slices)
{
	size_t tasks = clew_trace_task_count(export->trace), count;
	int r = 0;

	for (size_t i = 0; i < tasks; i++) {
		uint32_t serial = clew_trace_task_at(export->trace, i)->serial;
		const struct clew_trace_frame *frames;

		if (!clew_export_wants(export, serial))
			continue;
		frames = clew_trace_frames(export->trace, serial, &count);
		for (size_t k = 0; k < count && r >= 0; k++)
			if (clew_export_has(export, frames[k].start, frames[k].end))
				r = add(slices, (struct export_slice){.start = frames[k].start,
								      .end = frames[k].end,
								      .task = serial,
								      .frame = &frames[k]});
	}
	return r;
}

/* By thread and start, the longer one first; a call before a function, and those by depth. */
static int compare_slices(const void *left, const void *right)
{
	const struct export_slice *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (a->frame && b->frame)
		return a->frame < b->frame ? -1 : a->frame > b->frame;
	return (a->frame != NULL) - (b->frame != NULL);
}

static int compare_taken(const void *left, const void *right)
{
	const struct taken *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* The places of all tasks, by task and start. */
static int make_taken(const struct clew_export *export, struct taken **ret_taken, size_t *ret_count)
{
	size_t count, places = 0;
	const struct clew_sleep *sleeps = clew_trace_sleeps(export->trace, &count);
	struct taken *taken = malloc((2 * count + 1) * sizeof(*taken));

	for (size_t i = 0; taken && i < count; i++) {
		const struct clew_sleep *sleep = &sleeps[i];

		taken[places++] = (struct taken){sleep->start, sleep->end, sleep->task};
		if (sleep->end != CLEW_TIME_OPEN && sleep->switch_in > sleep->end)
			taken[places++] = (struct taken){sleep->end, sleep->switch_in, sleep->task};
	}
	if (taken)
		qsort(taken, places, sizeof(*taken), compare_taken);
	*ret_taken = taken;
	*ret_count = places;
	return taken ? 0 : -ENOMEM;
}

/* True if a moment cuts a place that a slice up to `end`, or from `start` on, does not contain. */
static bool cuts(const struct taken *taken, size_t count, const struct export_slice *slice,
		 uint64_t at)
{
	struct taken key = {.start = at, .task = slice->task};
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_taken(&taken[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* The last two that begin by then: one of no length may stand behind the one that is cut.
	 */
	for (size_t i = low; i > 0 && low - i < 2 && taken[i - 1].task == slice->task; i--) {
		const struct taken *place = &taken[i - 1];
		bool is_within = slice->start > place->start && slice->end <= place->end;
		bool is_around = slice->start <= place->start && slice->end >= place->end;

		if (place->end > at && place->start < slice->end && !is_within && !is_around)
			return true;
	}
	return false;
}

/* Puts aside what crosses a wait or another slice of its thread. */
static int put_aside(const struct clew_export *export, struct vector *slices)
{
	struct export_slice *all = slices->data;
	struct taken *taken;
	size_t count, depth = 0, *open = malloc((slices->count + 1) * sizeof(*open));
	int r = open ? make_taken(export, &taken, &count) : -ENOMEM;

	for (size_t i = 0; i < slices->count && r >= 0; i++) {
		struct export_slice *slice = &all[i];

		while (depth && (all[open[depth - 1]].task != slice->task ||
				 all[open[depth - 1]].end <= slice->start))
			depth--;
		slice->beside |= (depth && all[open[depth - 1]].end < slice->end) ||
				 cuts(taken, count, slice, slice->start) ||
				 cuts(taken, count, slice, slice->end);
		if (!slice->beside)
			open[depth++] = i;
	}
	if (r >= 0)
		free(taken);
	free(open);
	return r;
}

int export_slices(const struct clew_export *export, struct vector *slices)
{
	int r;

	slices->item = sizeof(struct export_slice);
	r = add_activities(export, slices);
	if (r >= 0)
		r = add_frames(export, slices);
	if (r < 0 || !slices->count)
		return r;
	qsort(slices->data, slices->count, sizeof(struct export_slice), compare_slices);
	return put_aside(export, slices);
}

void export_slice_name(const struct clew_trace *trace, const struct export_slice *slice,
		       char *buffer, size_t size)
{
	if (slice->activity)
		snprintf(buffer, size, "%s.%s", slice->activity->interface,
			 slice->activity->operation);
	else
		snprintf(buffer, size, "%s", clew_function_name(trace, slice->frame->function));
}

static int note_values(const struct clew_trace *trace, const struct clew_trace_frame *frame,
		       void (*take)(void *context, const char *key, const char *value),
		       void *context)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool has_values = out && clew_print_frame_values(out, trace, frame);

	if (!out || fclose(out) != 0) {
		free(text);
		return -ENOMEM;
	}
	if (has_values)
		take(context, "values", text);
	free(text);
	return 0;
}

int export_slice_notes(const struct clew_trace *trace, const struct export_slice *slice,
		       void (*take)(void *context, const char *key, const char *value),
		       void *context)
{
	const struct clew_activity *activity = slice->activity;
	const struct clew_trace_function *function;

	if (activity) {
		for (unsigned i = 0; i < activity->descriptor_count + activity->attribute_count;
		     i++)
			take(context, activity->descriptors[i].type,
			     activity->descriptors[i].value);
		return 0;
	}
	function = clew_trace_function(trace, slice->frame->function);
	if (function && function->object[0])
		take(context, "file", function->object);
	if (slice->frame->closed != CLEW_FRAME_RETURNED)
		take(context, "closed", clew_frame_closed_name(slice->frame->closed));
	return note_values(trace, slice->frame, take, context);
}

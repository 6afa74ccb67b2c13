/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of files: touches, requests and waits, in order of time.
 */
#include "base/map.h"
#include "base/vector.h"
#include "explain/io.h"
#include <errno.h>
#include <stdlib.h>

static int compare_events(const void *left, const void *right)
{
	const struct clew_io_event *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	switch ((enum clew_io_event_kind)a->kind) {
	case CLEW_IO_TOUCH:
		if (a->touch->task != b->touch->task)
			return a->touch->task < b->touch->task ? -1 : 1;
		return (int)a->touch->event - b->touch->event;
	case CLEW_IO_REQUEST:
		return a->extent < b->extent ? -1 : a->extent > b->extent;
	case CLEW_IO_WAIT:
		return a->sleep < b->sleep ? -1 : a->sleep > b->sleep;
	}
	return 0;
}

static int add(struct vector *events, struct clew_io_event event)
{
	int r = vector_reserve(events, events->count + 1);

	if (r >= 0)
		((struct clew_io_event *)events->data)[events->count++] = event;
	return r;
}

static bool is_of(const struct clew_trace *trace, const struct map *files, uint64_t inode,
		  uint32_t device, uint64_t at)
{
	struct clew_file_key key = clew_trace_file_key(trace, device, inode, at);

	return map_get(files, key.number, key.device);
}

static int add_requests(const struct clew_trace *trace, const struct map *files,
			struct vector *events)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		for (uint32_t k = 0; k < requests[i].page_count && r >= 0; k++) {
			const struct clew_page_extent *extent = &requests[i].pages[k];

			if (is_of(trace, files, extent->inode, extent->device,
				  requests[i].block.queued))
				r = add(events,
					(struct clew_io_event){.at = requests[i].block.queued,
							       .kind = CLEW_IO_REQUEST,
							       .extent = extent});
		}
	return r;
}

/* True if an event began within from..to, or is a wait of which a part lies there. */
static bool is_within(const struct clew_io_event *event, uint64_t from, uint64_t to)
{
	uint64_t until = event->kind == CLEW_IO_WAIT ? event->sleep->end : event->at;

	return event->at <= to && until >= from;
}

int clew_io_story(const struct clew_trace *trace, const struct clew_io *io, const bool *wanted,
		  uint64_t from, uint64_t to, struct clew_io_event **ret_events, size_t *ret_count)
{
	struct vector events = {.item = sizeof(struct clew_io_event)};
	struct map files = {0};
	size_t touch_count, sleep_count;
	const struct clew_touch *touches = clew_trace_touches(trace, &touch_count);
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &sleep_count);
	int r = 0;

	for (size_t i = 0; i < io->file_count && r >= 0; i++) {
		struct clew_file_key key = clew_trace_file_key(trace, io->files[i].device,
							       io->files[i].inode, io->files[i].at);

		if (wanted[i])
			r = map_set(&files, key.number, key.device, i);
	}
	for (size_t i = 0; i < touch_count && r >= 0; i++)
		if (is_of(trace, &files, touches[i].inode, touches[i].device, touches[i].begin))
			r = add(&events, (struct clew_io_event){.at = touches[i].begin,
								.kind = CLEW_IO_TOUCH,
								.touch = &touches[i]});
	if (r >= 0)
		r = add_requests(trace, &files, &events);
	for (size_t i = 0; i < sleep_count && r >= 0; i++)
		if (io->sleep_files[i] != UINT32_MAX && wanted[io->sleep_files[i]])
			r = add(&events, (struct clew_io_event){.at = sleeps[i].start,
								.kind = CLEW_IO_WAIT,
								.sleep = &sleeps[i]});
	map_done(&files);
	if (r < 0) {
		vector_done(&events);
		return r;
	}
	*ret_count = 0;
	*ret_events = malloc((events.count + 1) * sizeof(**ret_events));
	if (*ret_events) {
		for (size_t i = 0; i < events.count; i++) {
			const struct clew_io_event *event =
				(const struct clew_io_event *)events.data + i;

			if (is_within(event, from, to))
				(*ret_events)[(*ret_count)++] = *event;
		}
		qsort(*ret_events, *ret_count, sizeof(**ret_events), compare_events);
	}
	vector_done(&events);
	return *ret_events ? 0 : -ENOMEM;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Block requests for Perfetto: a track for each disk, with as many rows as requests overlap. A
 * request is a slice from its queueing to its completion, and the time in the device is a
 * slice within it. An arrow leads to it from the task that submitted it.
 */
#include "export/perfetto_events.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/name.h"

#define FLOW_OF_REQUEST (UINT64_C(1) << 62)
#define WRITERS_MOST	8

/* A row of a disk's track. */
struct lane {
	uint64_t until;
	uint64_t track;
	uint32_t device;
};

static uint64_t begin_of(const struct clew_block_request *block)
{
	return block->queued ? block->queued : block->issued;
}

static bool is_shown(const struct events *events, const struct clew_trace_request *request)
{
	const struct clew_export *export = events->it->export;
	const struct clew_block_request *block = &request->block;

	/* A request of an unknown task is only in an export of all tasks. */
	return begin_of(block) &&
	       (export->wanted ? clew_export_wants(export, block->submitter) : true) &&
	       clew_export_has(export, begin_of(block),
			       block->completed ? block->completed : CLEW_TIME_OPEN);
}

/* The first row of a disk that is free; a new one where none is. 0: no memory. */
static uint64_t find_lane(struct events *events, struct vector *lanes,
			  const struct clew_block_request *block)
{
	struct perfetto *it = events->it;
	struct lane *lane = lanes->data;
	size_t i = 0;

	while (i < lanes->count &&
	       (lane[i].device != block->device || lane[i].until > begin_of(block)))
		i++;
	if (i == lanes->count) {
		if (vector_reserve(lanes, i + 1) < 0)
			return 0;
		if (!i)
			perfetto_track(
				it, TRACK_DISKS,
				&(struct perfetto_track_options){.name = "clew: disks", .rank = 2});
		lane = lanes->data;
		lane[i] = (struct lane){.track = it->next_track++, .device = block->device};
		lanes->count++;
		perfetto_track(it, lane[i].track,
			       &(struct perfetto_track_options){
				       .parent = TRACK_DISKS,
				       .name = CLEW_DISK(it->trace, block->device)});
	}
	lane[i].until = block->completed ? block->completed : CLEW_TIME_OPEN;
	return lane[i].track;
}

static int add_request(struct events *events, const struct clew_block_request *block, size_t i)
{
	uint64_t begin = begin_of(block);
	bool in_device = block->issued >= begin && block->issued;
	int r = event_add(events, BEGIN_REQUEST, begin, i);

	if (r >= 0 && perfetto_thread_track(events->it, block->submitter) && block->queued)
		r = event_add(events, SUBMIT, begin, i);
	if (r >= 0 && in_device)
		r = event_add(events, BEGIN_PART, block->issued, i);
	if (r < 0 || !block->completed)
		return r;
	/* The part of a request that takes no time ends with the request. */
	if (in_device && block->completed > block->issued)
		r = event_add(events, END_PART, block->completed, i);
	if (r >= 0 && block->completed > begin)
		r = event_add(events, END_REQUEST, block->completed, i);
	return r;
}

int requests_add(struct events *events)
{
	struct vector lanes = {.item = sizeof(struct lane)};
	size_t count;
	int r = 0;

	events->requests = clew_trace_requests(events->it->trace, &count);
	events->request_tracks = calloc(count + 1, sizeof(*events->request_tracks));
	if (!events->request_tracks)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct clew_trace_request *request = &events->requests[i];

		if (!is_shown(events, request))
			continue;
		events->request_tracks[i] = find_lane(events, &lanes, &request->block);
		r = events->request_tracks[i] ? add_request(events, &request->block, i) : -ENOMEM;
	}
	vector_done(&lanes);
	return r;
}

static void note_files(struct events *events, const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	char name[EXPORT_TASK_SIZE];
	struct perfetto *it = events->it;
	const char *path = NULL;
	unsigned written = 0;

	if (block->inode &&
	    clew_trace_file_at(it->trace, block->file_device, block->inode, begin_of(block),
			       &path) &&
	    path)
		perfetto_note(it, "path", path);
	for (uint32_t i = 0; i < request->page_count; i++)
		for (uint32_t k = 0; k < request->pages[i].writer_count && written < WRITERS_MOST;
		     k++, written++)
			perfetto_note(it, "writer",
				      export_task_name(it->trace, request->pages[i].writers[k],
						       begin_of(block), name));
}

static void put_request(struct events *events, size_t index)
{
	const struct clew_trace_request *request = &events->requests[index];
	const struct clew_block_request *block = &request->block;
	char name[EXPORT_TASK_SIZE];
	struct perfetto *it = events->it;
	uint64_t submitter = perfetto_thread_track(it, block->submitter);
	size_t opened;

	opened = perfetto_event_open(it, EVENT_BEGIN, events->request_tracks[index],
				     begin_of(block), "request",
				     clew_request_operation_name(block->operation, block->bytes));
	perfetto_note_number(it, "bytes", block->bytes);
	if (block->sector != UINT64_MAX)
		perfetto_note_number(it, "sector", block->sector);
	perfetto_note(it, "reason", clew_request_reason_name(block->reason));
	if (submitter)
		perfetto_note(it, "submitter",
			      export_task_name(it->trace, block->submitter, begin_of(block), name));
	note_files(events, request);
	for (uint32_t i = 0; i < request->woke_count; i++)
		perfetto_note(it, "woke",
			      export_task_name(
				      it->trace, request->woke[i],
				      block->completed ? block->completed : begin_of(block), name));
	if (submitter && block->queued)
		perfetto_flow_end(it, FLOW_OF_REQUEST | index);
	perfetto_event_close(it, opened);
	if (block->completed && block->completed <= begin_of(block))
		perfetto_event_end(it, events->request_tracks[index], block->completed);
}

static void put_part(struct events *events, size_t index)
{
	const struct clew_block_request *block = &events->requests[index].block;
	uint64_t track = events->request_tracks[index];
	size_t opened;

	/* The request of no length has ended already. */
	if (block->completed && block->completed <= begin_of(block))
		return;
	opened = perfetto_event_open(events->it, EVENT_BEGIN, track, block->issued, "request",
				     "in the device");
	perfetto_event_close(events->it, opened);
	if (block->completed && block->completed <= block->issued)
		perfetto_event_end(events->it, track, block->issued);
}

static void put_submit(struct events *events, size_t index)
{
	const struct clew_block_request *block = &events->requests[index].block;
	struct perfetto *it = events->it;
	size_t opened =
		perfetto_event_open(it, EVENT_INSTANT, perfetto_thread_track(it, block->submitter),
				    block->queued, "cause", "submit");

	perfetto_flow(it, FLOW_OF_REQUEST | index);
	perfetto_event_close(it, opened);
}

void requests_put(struct events *events, enum event_kind kind, size_t index, uint64_t at)
{
	switch (kind) {
	case BEGIN_REQUEST:
		put_request(events, index);
		break;
	case BEGIN_PART:
		put_part(events, index);
		break;
	case SUBMIT:
		put_submit(events, index);
		break;
	default:
		perfetto_event_end(events->it, events->request_tracks[index], at);
		break;
	}
}

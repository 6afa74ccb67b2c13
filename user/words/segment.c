/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The relation of a segment of a why to the task that waits for it. */
#include "words/segment.h"

#include <string.h>

const struct clew_trace_request *clew_segment_request(const struct clew_trace *trace,
						      const struct clew_link *link)
{
	const struct clew_trace_request *requests;
	size_t count;

	if (!link || link->kind != CLEW_LINK_REQUEST)
		return NULL;
	requests = clew_trace_requests(trace, &count);
	return link->number < count ? &requests[link->number] : NULL;
}

bool clew_segment_read_again(const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_trace_request *request = clew_segment_request(trace, segment->link);

	return request &&
	       (segment->kind == CLEW_SEGMENT_DEVICE || segment->kind == CLEW_SEGMENT_QUEUED) &&
	       !strcmp(clew_request_operation_name(request->block.operation, request->block.bytes),
		       "read") &&
	       clew_trace_read_again(trace, &request->block);
}

bool clew_segment_done_below(const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_trace_request *upper = clew_segment_request(trace, segment->link),
					*requests;
	size_t count;

	if (segment->kind != CLEW_SEGMENT_DEVICE || segment->below || !upper || !upper->lower_count)
		return false;
	requests = clew_trace_requests(trace, &count);
	for (uint32_t i = 0; i < upper->lower_count; i++)
		if (upper->lower[i] < count &&
		    (!requests[upper->lower[i]].block.completed ||
		     requests[upper->lower[i]].block.completed > segment->start))
			return false;
	return true;
}

uint32_t clew_segment_waiter(const struct clew_segment *segment)
{
	uint32_t length = segment->chain_length;

	if (length && segment->chain[length - 1] == segment->task)
		length--;
	return length ? segment->chain[length - 1] : CLEW_NO_TASK;
}

const struct clew_sleep *clew_segment_awaiting(const struct clew_trace *trace,
					       const struct clew_segment *segment)
{
	uint32_t waiter = clew_segment_waiter(segment);
	struct clew_piece piece;

	if (waiter == CLEW_NO_TASK ||
	    !clew_trace_piece(trace, waiter, segment->start, false, &piece))
		return NULL;
	return piece.kind == CLEW_PIECE_SLEEP ? piece.sleep : NULL;
}

bool clew_work_to_come(const struct clew_sleep *sleep, uint64_t at)
{
	return sleep && sleep->edge_type == CLEW_EDGE_WORK && sleep->link_count &&
	       at < sleep->links[sleep->link_count - 1].at;
}

bool clew_segment_queues(const struct clew_sleep *sleep, const struct clew_segment *segment)
{
	return segment->via_type == CLEW_EDGE_WORK && clew_work_to_come(sleep, segment->start);
}

uint64_t clew_segment_awaited_until(const struct clew_trace *trace,
				    const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = clew_segment_awaiting(trace, segment);

	return sleep ? sleep->end : CLEW_TIME_OPEN;
}

bool clew_held_by(const struct clew_sleep *sleep, uint32_t task, uint64_t at)
{
	for (uint32_t i = 0; sleep && i < sleep->holder_count; i++)
		if (sleep->holders[i].task == task && !sleep->holders[i].coming &&
		    sleep->holders[i].from <= at && at < sleep->holders[i].to)
			return true;
	return false;
}

bool clew_segment_holds(const struct clew_sleep *sleep, const struct clew_segment *segment)
{
	return clew_held_by(sleep, segment->task, segment->start);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Origins of edges: the requests and threads that they come from, and what the
 * requests already say of the links of a wake.
 */
#include "builder/block.h"
#include "convert/to_model.h"

uint32_t capture_request_span(const struct conversion *conversion, const struct clew_link *link,
			      uint64_t *ret_at)
{
	const struct clew_trace_request *request;

	if (link->kind != CLEW_LINK_REQUEST || link->number >= conversion->request_count)
		return CLEW_NONE;
	request = &conversion->requests[link->number];
	*ret_at = request->block.completed;
	return request->block.completed ? conversion->root_count + (uint32_t)link->number
					: CLEW_NONE;
}

bool capture_origin(struct conversion *conversion, const struct clew_edge *edge, unsigned i,
		    uint32_t *ret_span, uint64_t *ret_at, uint32_t *ret_task)
{
	*ret_task = CLEW_NO_TASK;
	if (i > 0) {
		if (i > edge->and_count)
			return false;
		*ret_span = capture_request_span(conversion, &edge->links[edge->link_count + i - 1],
						 ret_at);
		return true;
	}
	/* The last link is the earliest cause. */
	*ret_span = edge->link_count && edge->type == CLEW_EDGE_REQUEST
			    ? capture_request_span(conversion, &edge->links[edge->link_count - 1],
						   ret_at)
			    : CLEW_NONE;
	if (*ret_span == CLEW_NONE) {
		*ret_span = capture_span_of(conversion, edge->from);
		*ret_at = edge->from_at;
		*ret_task = edge->from;
	}
	return true;
}

unsigned capture_latest_origin(struct conversion *conversion, const struct clew_edge *edge)
{
	uint64_t at, latest = 0;
	uint32_t span, task;
	unsigned number = 0;

	for (unsigned i = 0;
	     edge->and_count && capture_origin(conversion, edge, i, &span, &at, &task); i++)
		if (span != CLEW_NONE && at > latest) {
			latest = at;
			number = i;
		}
	return number;
}

struct clew_link capture_request_link(const struct clew_trace_request *requests,
				      const struct clew_link *links, unsigned count,
				      unsigned number)
{
	const struct clew_block_request *block = &requests[links[number].number].block;
	struct clew_link link = block_link(block, block->issued, block->completed);

	link.number = links[number].number;
	/* The kernel issues no bare flush: it makes and issues a request of its
	 * own at that time. */
	for (unsigned i = 0; i < count && link.begin == 0; i++) {
		const struct clew_block_request *other = &requests[links[i].number].block;

		if (other->queued == block->queued)
			link.begin = other->issued;
	}
	return link;
}

bool capture_by_request(const struct conversion *conversion, uint32_t dependency)
{
	const struct clew_edge *edge =
		conversion->trace->edges + conversion->dependency_edge[dependency];
	uint64_t at;

	return edge->type == CLEW_EDGE_REQUEST && edge->link_count &&
	       capture_request_span(conversion, &edge->links[edge->link_count - 1], &at) !=
		       CLEW_NONE;
}

static bool same_link(const struct clew_link *a, const struct clew_link *b)
{
	return a->at == b->at && a->begin == b->begin && a->end == b->end && a->task == b->task &&
	       a->worker == b->worker && a->flags == b->flags && a->evidence == b->evidence;
}

bool capture_implies_links(struct conversion *conversion, uint32_t dependency,
			   const struct clew_sleep *sleep)
{
	const struct clew_edge *edge =
		conversion->trace->edges + conversion->dependency_edge[dependency];
	const struct clew_link *links = sleep->links;
	unsigned count = sleep->and_count + 1u;
	uint64_t at;

	/* With several destinations this edge may be that of another sleep. The
	 * first origin must be the trigger. */
	if (!capture_by_request(conversion, dependency) || edge->link_count != 1 ||
	    sleep->link_count != 1 || edge->and_count != sleep->and_count ||
	    capture_latest_origin(conversion, edge) != 0)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (links[i].number != edge->links[i].number ||
		    capture_request_span(conversion, &links[i], &at) == CLEW_NONE)
			return false;
	for (unsigned i = 0; i < count; i++) {
		const struct clew_link implied =
			capture_request_link(conversion->requests, links, count, i);

		if (!same_link(&links[i], &implied))
			return false;
	}
	return true;
}

bool capture_has_submitter(const struct clew_trace_request *request)
{
	return !trace_nobody(request->block.submitter) && request->block.queued;
}

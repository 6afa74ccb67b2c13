/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why: a wait that nothing ends in the capture is explained by what the task
 * does that has the other end of it, or the child that is waited for.
 */
#include "explain/awaited_child.h"
#include "explain/other_end.h"
#include "explain/why_internal.h"

/* The task that has the other end; ends.follow CLEW_NO_TASK: it is not known. */
static int find_end(const struct clew_trace *trace, const struct clew_sleep *sleep,
		    struct clew_other_ends *ret_ends)
{
	uint8_t evidence;
	uint32_t child = clew_awaited_child(trace, sleep, &evidence);

	if (child == CLEW_NO_TASK)
		return clew_other_ends_find(trace, sleep, ret_ends);
	*ret_ends = (struct clew_other_ends){
		.follow = child, .follow_type = CLEW_EDGE_EXIT, .follow_evidence = evidence};
	return 0;
}

int why_follow_end(struct why_search *search, const struct clew_sleep *sleep,
		   const struct why_cause *cause, uint64_t from, bool *ret_found, bool *ret_cycle)
{
	const struct frame *frame = &search->frames[search->depth - 1];
	const struct trace_task *task;
	struct clew_other_ends ends;
	int r;

	*ret_found = *ret_cycle = false;
	if (sleep->end != CLEW_TIME_OPEN || cause->task != CLEW_NO_TASK || cause->late ||
	    cause->link || (cause->kind != CLEW_WAIT_UNKNOWN && cause->kind != sleep->kind))
		return 0;
	r = find_end(search->trace, sleep, &ends);
	if (r < 0)
		return r;
	task = ends.follow == CLEW_NO_TASK ? NULL : trace_task_find(search->trace, ends.follow);
	if (task && !(search->trace->drop_types >> ends.follow_type & 1)) {
		if (why_in_chain(&frame->sleeping, ends.follow)) {
			*ret_cycle = ends.follow_evidence == CLEW_EVIDENCE_OBSERVED;
		} else {
			r = why_push(search, task, from, cause->until, frame->sleeping,
				     ends.follow_type, ends.follow_evidence, sleep);
			if (r >= 0)
				search->frames[search->depth - 1].by_end =
					ends.follow_type != CLEW_EDGE_EXIT;
			*ret_found = r >= 0;
		}
	}
	clew_other_ends_done(&ends);
	return r;
}

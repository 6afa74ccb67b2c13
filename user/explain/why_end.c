/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why: a wait that nothing ends in the capture is explained by what the task
 * does that has the other end of it, or the child that is waited for.
 */
#include "explain/awaited_child.h"
#include "explain/may_end.h"
#include "explain/other_end.h"
#include "explain/why_internal.h"
#include "trace/deadlock.h"

/* The next task of the circle that a sleeper is in. */
static struct clew_other_ends next_of(const struct clew_stuck_step *step)
{
	static const uint8_t types[] = {
		[CLEW_STUCK_HOLDER] = CLEW_EDGE_UNLOCK, [CLEW_STUCK_THREAD] = CLEW_EDGE_WAKE,
		[CLEW_STUCK_JOINED] = CLEW_EDGE_WAKE,	[CLEW_STUCK_CHILD] = CLEW_EDGE_EXIT,
		[CLEW_STUCK_READER] = CLEW_EDGE_PIPE,	[CLEW_STUCK_WRITER] = CLEW_EDGE_PIPE,
		[CLEW_STUCK_PEER] = CLEW_EDGE_SOCKET,
	};

	return (struct clew_other_ends){.follow = step->next,
					.follow_type = types[step->role],
					.follow_evidence = step->evidence};
}

/* The task that has to act; ends.follow CLEW_NO_TASK: it is not known. */
static int find_end(const struct clew_trace *trace, const struct clew_sleep *sleep,
		    struct clew_other_ends *ret_ends)
{
	const struct clew_stuck_step *step = clew_trace_stuck_step(trace, sleep->task);
	const struct clew_may_end threads = clew_may_end_find(trace, sleep);
	uint8_t evidence;
	uint32_t child = clew_awaited_child(trace, sleep, &evidence);

	if (step && step->sleep == sleep) {
		*ret_ends = next_of(step);
		return 0;
	}
	if (threads.count == 1) {
		*ret_ends = (struct clew_other_ends){.follow = threads.tasks[0],
						     .follow_type = CLEW_EDGE_WAKE,
						     .follow_evidence = CLEW_EVIDENCE_CANDIDATE};
		return 0;
	}
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
	if ((sleep->end != CLEW_TIME_OPEN && !clew_trace_is_stuck(search->trace, sleep)) ||
	    cause->task != CLEW_NO_TASK || cause->late || cause->link ||
	    (cause->kind != CLEW_WAIT_UNKNOWN && cause->kind != sleep->kind))
		return 0;
	r = find_end(search->trace, sleep, &ends);
	if (r < 0)
		return r;
	task = ends.follow == CLEW_NO_TASK ? NULL : trace_task_find(search->trace, ends.follow);
	if (task && !(search->trace->drop_types >> ends.follow_type & 1)) {
		if (why_in_chain(&frame->sleeping, ends.follow)) {
			*ret_cycle = ends.follow_evidence == CLEW_EVIDENCE_OBSERVED ||
				     clew_trace_stuck_step(search->trace, sleep->task);
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

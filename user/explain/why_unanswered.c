/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why: an attempt to connect that nothing answers is explained by what the task does that accepts
 * there, until its accept queue is empty; else it is a wait for TCP to ask again.
 */
#include "explain/unanswered.h"
#include "explain/why_internal.h"

#define PIECES_MOST 10000 /* of the accepting task, looked at for its next wait */

/* When a task next waits for a connection at a listener, at most `to`: then its queue is empty. */
static uint64_t accepts_at(const struct clew_trace *trace, const struct clew_unanswered *part,
			   uint64_t from, uint64_t to)
{
	struct clew_piece piece;

	for (unsigned i = 0; i < PIECES_MOST && from < to; i++, from = piece.end) {
		if (!clew_trace_piece(trace, part->acceptor, from, false, &piece) ||
		    piece.end <= from)
			break;
		if (piece.kind == CLEW_PIECE_SLEEP &&
		    piece.sleep->object.kind == CLEW_OBJECT_SOCKET &&
		    piece.sleep->object.number == part->listener)
			return piece.start > from ? piece.start : from;
	}
	return to;
}

int why_follow_unanswered(struct why_search *search, const struct clew_sleep *sleep,
			  struct why_cause *cause, uint64_t from, bool *ret_found)
{
	struct frame *frame = &search->frames[search->depth - 1];
	const struct trace_task *task;
	struct clew_unanswered part;
	uint64_t until;
	int r;

	*ret_found = false;
	if (cause->task != CLEW_NO_TASK || !clew_unanswered_at(search->trace, sleep, from, &part))
		return 0;
	if (part.until < cause->until)
		cause->until = part.until;
	frame->cursor = cause->until;
	cause->kind = sleep->kind;
	cause->held = part.full ? CLEW_HELD_QUEUE : CLEW_HELD_UNANSWERED;
	task = part.full && part.acceptor != CLEW_NO_TASK
		       ? trace_task_find(search->trace, part.acceptor)
		       : NULL;
	if (!task || why_in_chain(&frame->sleeping, part.acceptor))
		return 0;
	until = accepts_at(search->trace, &part, from, cause->until);
	if (until <= from)
		return 0;
	frame->cursor = until;
	r = why_push(search, task, from, until, frame->sleeping, CLEW_EDGE_SOCKET,
		     CLEW_EVIDENCE_OBSERVED, sleep);
	if (r >= 0)
		search->frames[search->depth - 1].by_end = true;
	*ret_found = r >= 0;
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why: the time of a logical span. While it runs it is the time of its thread; while it is
 * suspended, that of the span that resumed it; in a queue nobody's.
 *
 * A wait of a thread for an object that a description joins is the time of the span that woke it.
 * A span that is on the stack already is not followed again.
 */
#include "explain/why_internal.h"

#include <errno.h>

static const struct clew_jobs *jobs_of(const struct why_search *search)
{
	return search->relations ? clew_relations_jobs(search->relations) : NULL;
}

static bool is_on_stack(const struct why_search *search, uint32_t job)
{
	for (size_t i = 0; i < search->depth; i++)
		if (search->frames[i].job == job + 1)
			return true;
	return false;
}

int why_push_job(struct why_search *search, uint32_t job, uint64_t from, uint64_t to,
		 struct chain chain, int type, unsigned evidence, const struct clew_sleep *waited)
{
	const struct clew_jobs *jobs = jobs_of(search);
	const struct clew_job *wanted = clew_job_at(jobs, job);
	const struct trace_task *task = trace_task_find(search->trace, clew_job_task(jobs, wanted));
	int r = task ? why_push(search, task, from, to, chain, type, evidence, waited) : 0;

	if (r >= 0 && task) {
		search->frames[search->depth - 1].job = job + 1;
		search->frames[search->depth - 1].piece = wanted->first;
	}
	return r;
}

/* Goes into the time of who had the lock that is waited for. *ret_found: it is known. */
static int go_into_holder(struct why_search *search, const struct clew_job_wait *wait,
			  uint64_t from, uint64_t end, struct chain chain,
			  const struct clew_sleep *waited, bool *ret_found)
{
	struct frame *frame = &search->frames[search->depth - 1];
	const struct clew_jobs *jobs = jobs_of(search);
	struct clew_job_holder holder;
	unsigned evidence;
	int r;

	*ret_found = false;
	if (!clew_job_holder_of(jobs, wait, from, &holder) || holder.until <= from)
		return 0;
	if (holder.job == CLEW_NO_NUMBER ? why_in_chain(&chain, holder.task)
					 : is_on_stack(search, holder.job) ||
						   clew_job_at(jobs, holder.job)->begin > from)
		return 0;
	if (holder.job == CLEW_NO_NUMBER && !trace_task_find(search->trace, holder.task))
		return 0;
	evidence = holder.exact ? CLEW_EVIDENCE_EXACT : CLEW_EVIDENCE_OBSERVED;
	end = holder.until < end ? holder.until : end;
	frame->cursor = end;
	r = holder.job == CLEW_NO_NUMBER
		    ? why_push(search, trace_task_find(search->trace, holder.task), from, end,
			       chain, CLEW_EDGE_UNLOCK, evidence, waited)
		    : why_push_job(search, holder.job, from, end, chain, CLEW_EDGE_UNLOCK, evidence,
				   waited);
	if (r >= 0)
		search->frames[search->depth - 1].lock = wait;
	*ret_found = r >= 0;
	return r;
}

uint32_t why_job_of(const struct clew_relations *relations, const struct clew_operation *operation)
{
	const struct clew_activity *activity = operation->activity;

	if (!relations || !clew_relations_jobs(relations))
		return CLEW_NO_NUMBER;
	return activity && activity->part == CLEW_ACTIVITY_JOB ? activity->job : operation->job - 1;
}

int why_push_before_job(struct why_search *search, const struct trace_task *asked, uint32_t job,
			uint64_t *from, uint64_t to)
{
	const struct clew_job *wanted = clew_job_at(jobs_of(search), job);
	uint64_t until = wanted->begin < to ? wanted->begin : to, since = *from;
	const struct trace_task *task = trace_task_find(search->trace, wanted->submitter);

	if (until <= since)
		return 0;
	*from = until;
	if (wanted->parent != CLEW_NO_NUMBER &&
	    clew_job_at(jobs_of(search), wanted->parent)->begin <= since)
		return why_push_job(search, wanted->parent, since, until, (struct chain){0}, -1, 0,
				    NULL);
	return why_push(search, task ?: asked, since, until, (struct chain){0}, -1, 0, NULL);
}

/* Nothing is followed from here. */
static int add_leaf(struct why_search *search, struct frame *frame, uint64_t end,
		    const struct clew_job_piece *piece)
{
	bool queued = piece && piece->kind == CLEW_JOB_QUEUED;
	struct clew_segment segment = why_segment_of(frame, frame->cursor, end,
						     queued ? CLEW_WAIT_WORK : CLEW_WAIT_UNKNOWN);

	segment.job = clew_job_at(jobs_of(search), frame->job - 1);
	segment.piece = piece;
	frame->cursor = end;
	return why_add_segment(search, segment);
}

/* Goes into what the piece's thread did meanwhile. */
static int go_into_thread(struct why_search *search, struct frame *frame, uint64_t end,
			  const struct clew_job_piece *piece, unsigned via_type,
			  unsigned via_evidence)
{
	const struct trace_task *task = trace_task_find(search->trace, piece->task);
	const struct clew_job_wait *lock = frame->lock;
	uint64_t from = frame->cursor;
	int r;

	if (!task || why_in_chain(&frame->chain, piece->task))
		return add_leaf(search, frame, end, piece);
	frame->cursor = end;
	r = why_push(search, task, from, end, frame->chain, via_type, via_evidence, frame->waited);
	if (r >= 0)
		search->frames[search->depth - 1].lock = lock;
	return r;
}

/* The lock that a suspended span waits for; NULL: none. */
static const struct clew_job_wait *lock_of(const struct clew_jobs *jobs,
					   const struct clew_job_piece *piece)
{
	return piece->kind == CLEW_JOB_SUSPENDED && piece->wait
		       ? (const struct clew_job_wait *)jobs->waits.data + piece->wait - 1
		       : NULL;
}

/* Goes into the span that resumed this one. */
static int follow_waker(struct why_search *search, struct frame *frame, uint64_t end,
			const struct clew_job_piece *piece)
{
	const struct clew_jobs *jobs = jobs_of(search);
	const struct clew_job_hop hop = {.job = clew_job_at(jobs, frame->job - 1),
					 .waker = clew_job_at(jobs, piece->waker),
					 .place = frame->chain.length,
					 .up = frame->job_hops};
	const struct clew_job_hop *copy = arena_copy(search->arena, &hop, sizeof(hop));
	uint64_t from = frame->cursor;
	int r;

	if (!copy)
		return -ENOMEM;
	frame->cursor = end;
	r = why_push_job(search, piece->waker, from, end, frame->chain, CLEW_EDGE_WAKE,
			 CLEW_EVIDENCE_EXACT, frame->waited);
	if (r >= 0)
		search->frames[search->depth - 1].job_hops = copy;
	return r;
}

int why_explain_job(struct why_search *search)
{
	struct frame *frame = &search->frames[search->depth - 1];
	const struct clew_jobs *jobs = jobs_of(search);
	const struct clew_job_piece *piece = NULL;
	const struct clew_job_wait *lock;
	uint64_t end = frame->to;
	bool followed;
	int r;

	while (frame->piece != CLEW_NO_NUMBER &&
	       (piece = clew_job_piece_at(jobs, frame->piece))->end <= frame->cursor)
		frame->piece = piece->next;
	if (frame->piece == CLEW_NO_NUMBER)
		return add_leaf(search, frame, end, NULL);
	if (piece->start > frame->cursor)
		return add_leaf(search, frame, piece->start < end ? piece->start : end, NULL);
	end = piece->end < end ? piece->end : end;
	if (piece->kind == CLEW_JOB_RUNS)
		return go_into_thread(search, frame, end, piece, frame->via_type,
				      frame->via_evidence);
	lock = lock_of(jobs, piece);
	r = lock ? go_into_holder(search, lock, frame->cursor, end, frame->chain, frame->waited,
				  &followed)
		 : 0;
	if (r < 0 || (lock && followed))
		return r;
	if (piece->kind == CLEW_JOB_SUSPENDED && piece->waker != CLEW_NO_NUMBER &&
	    !is_on_stack(search, piece->waker) &&
	    clew_job_at(jobs, piece->waker)->begin <= frame->cursor) {
		return follow_waker(search, frame, end, piece);
	}
	/* A suspended span could not go on before its thread came to it. */
	return piece->kind == CLEW_JOB_SUSPENDED && piece->by_thread
		       ? go_into_thread(search, frame, end, piece, CLEW_EDGE_WAKE,
					CLEW_EVIDENCE_OBSERVED)
		       : add_leaf(search, frame, end, piece);
}

int why_follow_job(struct why_search *search, const struct clew_sleep *sleep,
		   struct why_cause *cause, uint64_t from, bool *ret_found)
{
	struct frame *frame = &search->frames[search->depth - 1];
	const struct clew_jobs *jobs = jobs_of(search);
	const struct clew_job_wait *wait =
		jobs ? clew_job_wait_of(jobs, frame->task->task.serial, from) : NULL;
	const struct clew_job_wait *lock =
		jobs ? clew_job_lock_of(jobs, frame->task->task.serial, sleep) : NULL;
	uint64_t until;
	int r;

	*ret_found = false;
	if (lock)
		return go_into_holder(search, lock, from, cause->until, frame->sleeping, sleep,
				      ret_found);
	if (!wait || wait->kind->lock || wait->job == CLEW_NO_NUMBER || sleep->start < wait->from ||
	    is_on_stack(search, wait->job) || clew_job_at(jobs, wait->job)->begin > from)
		return 0;
	until = cause->until < wait->to ? cause->until : wait->to;
	frame->cursor = until;
	r = why_push_job(search, wait->job, from, until, frame->sleeping, CLEW_EDGE_RETURN,
			 CLEW_EVIDENCE_EXACT, sleep);
	*ret_found = r >= 0;
	return r;
}

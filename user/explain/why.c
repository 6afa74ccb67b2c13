/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why: goes through a task's timeline and explains each wait by the timeline of
 * the task that caused it, to any depth.
 *
 * The stack is explicit. A frame is a task and the interval of its time that is
 * still to be explained. To explain a part of a wait, a frame for its cause is
 * pushed.
 *
 * The intervals on the stack lie within each other. Every task that sleeps
 * because of the one above it is in that frame's chain, and is asleep for the
 * whole interval. A task that appears in its own chain closes a cycle, so the
 * stack is never deeper than there are tasks.
 *
 * A wait that no record explains may be explained by an announced call: one in
 * another task that is open for the call of the waiting task. The same holds
 * where a task in between announces nothing itself, but its message is waited
 * for within a call.
 */
#include "base/kind.h"
#include "explain/why_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Stays in one call that differ only in when something was known of them. */
static bool same_stay(const struct clew_stay *a, const struct clew_stay *b)
{
	return a == b || (a && b && a->call == b->call && a->reason == b->reason &&
			  a->evidence == b->evidence && a->end == b->start);
}

static bool same_segment(const struct clew_segment *a, const struct clew_segment *b)
{
	return a->end == b->start && a->task == b->task && a->kind == b->kind &&
	       a->unknown_kind == b->unknown_kind && a->cycle == b->cycle &&
	       a->via_type == b->via_type && a->via_evidence == b->via_evidence &&
	       a->born == b->born && a->by == b->by && a->sleep == b->sleep && a->link == b->link &&
	       a->below == b->below && a->spin == b->spin && same_stay(a->stay, b->stay) &&
	       a->late == b->late && a->held == b->held && a->called == b->called &&
	       a->by_end == b->by_end && a->perhaps == b->perhaps && a->activity == b->activity &&
	       a->piece == b->piece && a->job_hops == b->job_hops && clew_segment_same_chain(a, b);
}

static int put_segment(struct why_search *search, struct clew_segment segment)
{
	struct clew_why *why = search->why;

	if (segment.start >= segment.end)
		return 0;
	if (segment.kind == CLEW_WAIT_UNKNOWN)
		why->unknown_ns += segment.end - segment.start;
	if (why->segment_count > 0 &&
	    same_segment(&why->segments[why->segment_count - 1], &segment)) {
		why->segments[why->segment_count - 1].end = segment.end;
		return 0;
	}
	if (why->segment_count == search->segment_capacity) {
		size_t capacity = search->segment_capacity ? search->segment_capacity * 2 : 64;
		struct clew_segment *segments =
			realloc(why->segments, capacity * sizeof(*segments));

		if (!segments)
			return -ENOMEM;
		why->segments = segments;
		search->segment_capacity = capacity;
	}
	why->segments[why->segment_count++] = segment;
	return 0;
}

/* Adds the segment, cut where the task enters or leaves an announced call. */
int why_add_segment(struct why_search *search, struct clew_segment segment)
{
	uint64_t end = segment.end, until;
	int r = 0;

	if (!search->relations || segment.piece)
		return put_segment(search, segment);
	if (segment.link && segment.link->kind == CLEW_LINK_REQUEST) {
		segment.activity = clew_relations_from(search->relations, segment.task,
						       segment.link->at ?: segment.start, &until);
		return put_segment(search, segment);
	}
	for (; segment.start < end && r >= 0; segment.start = segment.end) {
		segment.activity =
			clew_relations_from(search->relations, segment.task, segment.start, &until);
		segment.end = until < end ? until : end;
		r = put_segment(search, segment);
	}
	return r;
}

struct clew_segment why_segment_of(const struct frame *frame, uint64_t start, uint64_t end,
				   unsigned kind)
{
	return (struct clew_segment){
		.start = start,
		.end = end,
		.task = frame->task->task.serial,
		.kind = (uint8_t)kind,
		.unknown_kind = CLEW_WAIT_UNKNOWN,
		.via_type = frame->via_type,
		.via_evidence = frame->via_evidence,
		.born = frame->born,
		.called = frame->called,
		.by_end = frame->by_end,
		.lock = frame->lock,
		.job_hops = frame->job_hops,
		.chain = frame->chain.length ? frame->chain.block->tasks : NULL,
		.vias = frame->chain.length ? frame->chain.block->vias : NULL,
		.chain_length = frame->chain.length,
	};
}

int why_push(struct why_search *search, const struct trace_task *task, uint64_t from, uint64_t to,
	     struct chain chain, int type, unsigned evidence, const struct clew_sleep *waited)
{
	const struct clew_job_hop *hops =
		search->depth ? search->frames[search->depth - 1].job_hops : NULL;

	if (search->depth == search->frame_capacity) {
		size_t capacity = search->frame_capacity ? search->frame_capacity * 2 : 32;
		struct frame *frames = realloc(search->frames, capacity * sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		search->frames = frames;
		search->frame_capacity = capacity;
	}
	search->frames[search->depth++] = (struct frame){
		.task = task,
		.cursor = from,
		.to = to,
		.chain = chain,
		.via_type = (int8_t)type,
		.via_evidence = (uint8_t)evidence,
		.waited = waited,
		.job_hops = hops,
	};
	return 0;
}

void clew_cut_by_stay(const struct clew_trace *trace, struct clew_segment *segment)
{
	const struct clew_stay *stay = clew_trace_stay(trace, segment->task, segment->start);
	uint64_t at;

	if (!stay)
		return;
	if (stay->start <= segment->start)
		segment->stay = stay;
	at = segment->stay ? stay->end : stay->start;
	if (at < segment->end)
		segment->end = at;
}

/* One piece of time on a CPU; spinning for a lock counts as waiting. */
static int explain_running(struct why_search *search, struct frame *frame, uint64_t end)
{
	const struct clew_spin *spin =
		clew_trace_spin(search->trace, frame->task->task.serial, frame->cursor);
	struct clew_segment segment =
		why_segment_of(frame, frame->cursor, end, CLEW_SEGMENT_RUNNING);

	if (spin && spin->start <= frame->cursor) {
		segment.kind = CLEW_WAIT_LOCK;
		segment.spin = spin;
		segment.end = spin->end < end ? spin->end : end;
	} else if (spin && spin->start < end) {
		segment.end = spin->start;
	}
	if (segment.kind == CLEW_SEGMENT_RUNNING)
		clew_cut_by_stay(search->trace, &segment);
	frame->cursor = segment.end;
	return why_add_segment(search, segment);
}

/*
 * Ready without a CPU. Cut by the task that had the CPU on which this one ran
 * next, and by whether a quota kept it off.
 */
static int explain_run_queue(struct why_search *search, const struct frame *frame,
			     const struct clew_piece *piece, uint64_t end)
{
	uint64_t at = frame->cursor, until;
	int r = 0;

	for (; at < end && r >= 0; at = until) {
		struct clew_segment segment = why_segment_of(frame, at, end, CLEW_SEGMENT_RUNQUEUE);

		if (why_throttled(search->trace, frame->task, piece->cpu, at, end, &segment.sleep,
				  &until))
			segment.kind = CLEW_WAIT_THROTTLE;
		else if (!trace_ran_at(search->trace, piece->cpu, at, until, &segment.by, &until))
			segment.by = UINT32_MAX;
		segment.end = until;
		r = why_add_segment(search, segment);
	}
	return r;
}

/* The task did not exist yet: the time of the task that created it counts. */
static int explain_absence(struct why_search *search, struct frame *frame)
{
	const struct trace_task *task = frame->task, *maker;
	const struct clew_edge *origin = trace_origin_of(search->trace, task);
	uint64_t from = frame->cursor, end = frame->to;
	struct chain chain = frame->chain;
	int r;

	if (from >= task->begin) {
		frame->cursor = end;
		return why_add_segment(search, why_segment_of(frame, from, end, CLEW_WAIT_UNKNOWN));
	}
	end = task->begin < end ? task->begin : end;
	frame->cursor = end;
	maker = origin ? trace_task_find(search->trace, origin->from) : NULL;
	/*
	 * The creator must be older, or contradictory records could form a
	 * cycle.
	 */
	if (!maker || maker->begin >= task->begin || why_in_chain(&chain, maker->task.serial))
		return why_add_segment(search, why_segment_of(frame, from, end, CLEW_WAIT_UNKNOWN));
	r = why_push(search, maker, from, end, chain, origin->type, origin->evidence, NULL);
	if (r >= 0)
		search->frames[search->depth - 1].born = task->task.serial;
	return r;
}

/*
 * A kernel thread ended the wait and had been idle. The wait was for whatever
 * gave the thread its work, which no record shows. A wait for the disk remains
 * one, as its end may be deferred to a kernel thread.
 */
static int explain_idle_helper(struct why_search *search, struct frame *frame, uint64_t end)
{
	const struct frame *waiter = &search->frames[search->depth - 2];
	struct clew_segment segment = why_segment_of(waiter, frame->cursor, end, CLEW_WAIT_UNKNOWN);

	/* The request or work item was queued, and no worker had begun it. */
	if (frame->link && frame->link->kind == CLEW_LINK_REQUEST) {
		segment.kind = CLEW_SEGMENT_DEVICE;
		segment.link = frame->link;
	} else if (frame->link && frame->link->at && frame->link->at <= frame->cursor) {
		segment.kind = CLEW_WAIT_WORK;
		segment.link = frame->link;
	} else if (why_waits_for_disk(frame->waited->kind))
		segment.kind = frame->waited->kind;
	else
		segment.unknown_kind = frame->waited->kind;
	segment.sleep = frame->waited;
	segment.chain = frame->chain.block->tasks;
	segment.vias = frame->chain.block->vias;
	segment.chain_length = frame->chain.length;
	frame->cursor = end;
	return why_add_segment(search, segment);
}

/*
 * True if a dependency of this type carries a message: only then may its sender
 * have been asked for it.
 */
static bool is_message(int type)
{
	return type >= 0 && clew_edge_type_has((unsigned)type, CLEW_TYPE_MESSAGE);
}

/*
 * The call in another task that the top frame's wait may be for; tasks in the
 * top frame's chain do not count.
 *
 * A task without an open call, whose message is waited for, stands between the
 * waiter and the call. The call must have ended before that wait did. *until:
 * how long the result holds.
 */
static const struct clew_relation *find_call(const struct why_search *search, uint64_t at,
					     bool perhaps, uint64_t *until)
{
	const struct frame *top = &search->frames[search->depth - 1];
	uint64_t over = CLEW_TIME_OPEN;

	for (size_t i = search->depth; search->relations && i-- > 0;) {
		const struct frame *frame = &search->frames[i];
		uint32_t task = frame->task->task.serial;
		uint64_t changes = *until;
		const struct clew_relation *found = clew_relations_called(
			search->relations, task, at, *until, over, perhaps, &changes);

		*until = changes;
		if (found && !why_in_chain(&top->sleeping,
					   clew_relations_lower(search->relations, found)->task))
			return found;
		if (found || clew_relations_at(search->relations, task, at) ||
		    !is_message(frame->via_type) || !frame->waited)
			return NULL;
		over = frame->waited->end < over ? frame->waited->end : over;
	}
	return NULL;
}

/*
 * Tries to explain a wait that no record explains by an announced call.
 * *ret_found: a frame for the call was pushed.
 */
static int follow_call(struct why_search *search, const struct clew_sleep *sleep,
		       struct why_cause *cause, uint64_t from,
		       const struct clew_relation **ret_perhaps, bool *ret_found)
{
	struct frame *frame = &search->frames[search->depth - 1];
	const struct clew_relation *called;
	const struct trace_task *task;
	int r;

	*ret_found = false;
	*ret_perhaps = NULL;
	if (!search->relations || !why_may_be_for_call(sleep, cause))
		return 0;
	called = find_call(search, from, false, &cause->until);
	frame->cursor = cause->until;
	task = called ? trace_task_find(search->trace,
					clew_relations_lower(search->relations, called)->task)
		      : NULL;
	if (!task) {
		*ret_perhaps = find_call(search, from, true, &cause->until);
		frame->cursor = cause->until;
		return 0;
	}
	/*
	 * Even where the caller is certain, it is not certain that the wait was
	 * for the call.
	 */
	r = why_push(search, task, from, cause->until, frame->sleeping, CLEW_EDGE_CALL,
		     CLEW_EVIDENCE_OBSERVED, sleep);
	if (r >= 0)
		search->frames[search->depth - 1].called = called;
	*ret_found = r >= 0;
	return r;
}

/* The cause of the part of a wait that begins at the frame's cursor. */
static int find_cause(struct why_search *search, struct frame *frame,
		      const struct clew_sleep *sleep, uint64_t end, struct why_cause *ret_cause)
{
	struct why_cause cause = why_cause_of(search->trace, sleep, frame->cursor, end);
	int r = 0;

	if (!frame->sleeping.block)
		r = why_chain_extend(search, frame, &frame->sleeping);
	if (r < 0)
		return r;
	/* One who sleeps because of this wait is not what an earlier slice of it was for. */
	if (cause.sleep != sleep && cause.task && why_in_chain(&frame->sleeping, cause.task))
		cause = why_own_cause(sleep, frame->cursor, end);
	if (cause.kind == CLEW_SEGMENT_DEVICE)
		r = why_below(search->trace, search->arena, frame->cursor, &cause);
	*ret_cause = cause;
	return r;
}

/* Adds the segment with all that its cause says of it. A request to a device is the submitter's. */
static int add_explained(struct why_search *search, const struct frame *frame,
			 const struct why_cause *cause, struct clew_segment segment)
{
	segment.late = cause->late;
	segment.held = cause->held;
	if (segment.kind == CLEW_SEGMENT_DEVICE || segment.kind == CLEW_SEGMENT_QUEUED ||
	    (segment.kind == CLEW_WAIT_THROTTLE && cause->link)) {
		segment.link = cause->link;
		segment.below = cause->below;
		if (cause->submitter != CLEW_NO_TASK && cause->submitter != segment.task) {
			segment.task = cause->submitter;
			segment.via_type = CLEW_EDGE_REQUEST;
			segment.via_evidence = cause->link->evidence;
			segment.born = CLEW_NO_TASK;
			segment.called = NULL;
			segment.by_end = false;
		}
	}
	segment.sleep = cause->sleep;
	segment.chain = frame->sleeping.block->tasks;
	segment.vias = frame->sleeping.block->vias;
	segment.chain_length = frame->sleeping.length;
	return why_add_segment(search, segment);
}

static int explain_sleep(struct why_search *search, struct frame *frame,
			 const struct clew_sleep *sleep, uint64_t end)
{
	struct why_cause cause;
	struct clew_segment segment;
	const struct trace_task *task;
	bool followed;
	int r = find_cause(search, frame, sleep, end, &cause);

	if (r < 0)
		return r;
	sleep = cause.sleep;
	segment = why_segment_of(frame, frame->cursor, cause.until, cause.kind);
	task = cause.task ? trace_task_find(search->trace, cause.task) : NULL;
	if (!cause.task && cause.kind == CLEW_WAIT_IDLE && frame->waited)
		return explain_idle_helper(search, frame, cause.until);
	r = why_follow_job(search, sleep, &cause, segment.start, &followed);
	if (r < 0 || followed)
		return r;
	segment.end = cause.until;
	frame->cursor = cause.until;
	if (task && !why_in_chain(&frame->sleeping, cause.task)) {
		r = why_push(search, task, segment.start, cause.until, frame->sleeping,
			     cause.edge_type, cause.evidence, sleep);
		if (r >= 0)
			search->frames[search->depth - 1].link = cause.link;
		return r;
	}
	if (cause.task && cause.kind != CLEW_SEGMENT_DEVICE)
		segment.kind = CLEW_WAIT_UNKNOWN;
	if (task && (sleep->kind == CLEW_WAIT_FUTEX || sleep->kind == CLEW_WAIT_LOCK ||
		     sleep->holder_count > 0)) {
		segment.kind = sleep->kind;
		segment.cycle = true;
	}
	if (!segment.cycle) {
		r = why_follow_unanswered(search, sleep, &cause, segment.start, &followed);
		if (r < 0 || followed)
			return r;
		if (cause.held) {
			segment.kind = cause.kind;
			segment.end = cause.until;
		}
	}
	if (!segment.cycle) {
		r = follow_call(search, sleep, &cause, segment.start, &segment.perhaps, &followed);
		if (r < 0 || followed)
			return r;
		segment.end = cause.until;
	}
	if (!segment.cycle && !segment.perhaps) {
		r = why_follow_end(search, sleep, &cause, segment.start, &followed, &segment.cycle);
		if (r < 0 || followed)
			return r;
		if (segment.cycle)
			segment.kind = sleep->kind;
	}
	if (segment.kind == CLEW_WAIT_UNKNOWN)
		segment.unknown_kind = sleep->kind;
	return add_explained(search, frame, &cause, segment);
}

static int step(struct why_search *search)
{
	struct frame *frame = &search->frames[search->depth - 1];
	uint32_t *hint = (uint32_t *)search->hints.data + frame->task->index;
	struct clew_piece piece;
	uint64_t from = frame->cursor, end;

	if (frame->job)
		return why_explain_job(search);
	if (!trace_piece_at(search->trace, frame->task, from, hint, &piece))
		return explain_absence(search, frame);
	end = piece.end < frame->to ? piece.end : frame->to;
	switch (piece.kind) {
	case CLEW_PIECE_RUNNING:
		return explain_running(search, frame, end);
	case CLEW_PIECE_RUNQUEUE: {
		int r = explain_run_queue(search, frame, &piece, end);

		frame->cursor = end;
		return r;
	}
	case CLEW_PIECE_SLEEP:
		return explain_sleep(search, frame, piece.sleep, end);
	default:
		frame->cursor = end;
		return why_add_segment(search, why_segment_of(frame, from, end, CLEW_WAIT_UNKNOWN));
	}
}

/* Explains all that is pushed. */
static int search_pushed(struct why_search *search)
{
	int r = 0;

	while (r >= 0 && search->depth > 0) {
		const struct frame *frame = &search->frames[search->depth - 1];

		if (frame->cursor < frame->to)
			r = step(search);
		else
			search->depth--;
	}
	return r;
}

int why_search_all(struct why_search *search, const struct trace_task *task, uint64_t from,
		   uint64_t to)
{
	int r = why_push(search, task, from, to, (struct chain){0}, -1, 0, NULL);

	return r < 0 ? r : search_pushed(search);
}

static int explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   uint32_t task, uint32_t job, uint64_t from, uint64_t to,
		   struct clew_why *ret_why);

int clew_why_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		     uint32_t task, uint64_t from, uint64_t to, struct clew_why *ret_why)
{
	return explain(trace, relations, task, CLEW_NO_NUMBER, from, to, ret_why);
}

int clew_why_operation(const struct clew_trace *trace, const struct clew_relations *relations,
		       const struct clew_operation *operation, struct clew_why *ret_why)
{
	return explain(trace, relations, operation->task, why_job_of(relations, operation),
		       operation->from, operation->to, ret_why);
}

/* `job`: the logical span whose time it is; CLEW_NO_NUMBER: the task's. */
static int explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   uint32_t task, uint32_t job, uint64_t from, uint64_t to,
		   struct clew_why *ret_why)
{
	const struct trace_task *asked = trace_task_find(trace, task);
	struct clew_why why = {.from = from, .to = to, .task = task};
	struct why_search search = {.trace = trace,
				    .relations = relations,
				    .why = &why,
				    .hints = {.item = sizeof(uint32_t)}};
	int r;

	if (!asked)
		return -ESRCH;
	if (to < from)
		return -EINVAL;
	search.arena = calloc(1, sizeof(*search.arena));
	if (!search.arena)
		return -ENOMEM;
	why.memory = search.arena;
	why.job = job == CLEW_NO_NUMBER ? NULL : clew_job_at(clew_relations_jobs(relations), job);
	r = vector_reserve(&search.hints, trace->tasks.count);
	if (r >= 0 && job != CLEW_NO_NUMBER)
		r = why_push_before_job(&search, asked, job, &from, to);
	if (r >= 0)
		r = search_pushed(&search);
	if (r >= 0)
		r = job == CLEW_NO_NUMBER
			    ? why_push(&search, asked, from, to, (struct chain){0}, -1, 0, NULL)
			    : why_push_job(&search, job, from, to, (struct chain){0}, -1, 0, NULL);
	if (r >= 0)
		r = search_pushed(&search);
	why.gap_count = clew_trace_gaps(trace, from, to, NULL);
	vector_done(&search.hints);
	free(search.frames);
	if (r < 0) {
		clew_why_done(&why);
		return r;
	}
	*ret_why = why;
	return 0;
}

void clew_why_done(struct clew_why *why)
{
	if (why->memory)
		arena_done(why->memory);
	free(why->memory);
	free(why->segments);
	*why = (struct clew_why){0};
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verbs of runtimes' events change spans, and threads that wait for an object.
 */
#include "relate/job_join.h"

#include <errno.h>

#include "base/hash.h"

/* Puts a span behind those that are pending with its key. */
static int queue_behind(struct join *join, uint64_t key, uint32_t oldest, uint32_t number)
{
	struct clew_job *first = clew_job_at(join->jobs, oldest);
	uint32_t youngest = first->youngest == CLEW_NO_NUMBER ? oldest : first->youngest;

	clew_job_at(join->jobs, youngest)->next = number;
	first->youngest = number;
	return map_set(&join->live, key, 0, (uint64_t)oldest + 1);
}

/* The oldest one that is pending with its key starts: the next one is the oldest then. */
static int take_from_queue(struct join *join, uint32_t number)
{
	struct clew_job *span = clew_job_at(join->jobs, number);

	if (!span->kind->several || job_look_up(&join->live, span->joined, 0) != number)
		return 0;
	if (span->next == CLEW_NO_NUMBER) {
		map_remove(&join->live, span->joined, 0);
		return 0;
	}
	clew_job_at(join->jobs, span->next)->youngest =
		span->youngest == span->next ? CLEW_NO_NUMBER : span->youngest;
	return map_set(&join->live, span->joined, 0, (uint64_t)span->next + 1);
}

int job_submit(struct join *join, const struct taking *taking, uint64_t key,
	       const uint64_t *numbers, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job *span = number == CLEW_NO_NUMBER ? NULL : clew_job_at(join->jobs, number);
	bool several = span && span->kind->several;
	uint32_t oldest = number;
	int r = 0;

	/* An event for each way that leads to a place may be met there: it is one submit. */
	if (span && span->submitted == happened->time && span->submitter == happened->task)
		return 0;
	if (span && span->kind->coalesce && !span->started) {
		span->origins++;
		return 0;
	}
	/* An item that comes while it runs is for the next run; and a function may give its memory
	 * free, for the next job with that key, before it returns. */
	if (span && !several &&
	    !((span->kind->coalesce || span->kind->ends_by_thread) &&
	      job_is_in(join, number, CLEW_JOB_RUNS)))
		r = job_finish(join, key, number, happened->time, CLEW_JOB_SUPERSEDED);
	r = r < 0 ? r : job_new(join, taking, key, numbers, &number);
	if (r >= 0 && several)
		r = queue_behind(join, key, oldest, number);
	if (r < 0)
		return r;
	span = clew_job_at(join->jobs, number);
	span->submitted = happened->time;
	span->submitter = happened->task;
	span->parent = job_look_up(&join->top, happened->task, 0);
	span->origins = 1;
	r = job_begin_piece(join, number, CLEW_JOB_QUEUED, happened->time, CLEW_NO_TASK);
	r = r < 0 ? r : job_enter_group(join, taking, number);
	return r < 0 ? r : job_describe(join, taking, number);
}

/* The span that the one at hand is a part of: of the key `in`, else what runs on the thread. */
static uint32_t part_of(const struct join *join, const struct taking *taking)
{
	const uint16_t kind = taking->runtime->spans[taking->event->span].of;
	const char *text;
	uint64_t number;

	if (!clew_event_value(taking->event, "in"))
		return job_running_of(join, taking->happened->task, &taking->runtime->spans[kind]);
	if (!job_named_value(taking, "in", &number, &text) || text)
		return CLEW_NO_NUMBER;
	return job_look_up(&join->live, job_object_key(join, taking, kind, number), 0);
}

bool job_has_whole(const struct join *join, const struct taking *taking)
{
	return taking->runtime->spans[taking->event->span].of == CLEW_RUNTIME_NONE ||
	       !clew_event_value(taking->event, "in") || part_of(join, taking) != CLEW_NO_NUMBER;
}

static int start(struct join *join, const struct taking *taking, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job *span = clew_job_at(join->jobs, number);
	struct clew_job_piece *last = job_last_piece(join, span);
	int r;

	if (last && last->end == CLEW_TIME_OPEN && last->kind == CLEW_JOB_RUNS &&
	    last->task == happened->task && job_look_up(&join->top, happened->task, 0) == number)
		return 0;
	if (last && job_is_in(join, number, CLEW_JOB_SUSPENDED) && !span->kind->resumes) {
		last->task = happened->task;
		last->by_thread = true;
	}
	r = job_begin_piece(join, number, CLEW_JOB_RUNS, happened->time, happened->task);
	span->started = span->started ?: happened->time;
	if (r >= 0)
		r = take_from_queue(join, number);
	if (span->parent == CLEW_NO_NUMBER && span->kind->of != CLEW_RUNTIME_NONE)
		span->parent = part_of(join, taking);
	span->below = job_look_up(&join->top, happened->task, 0);
	return r < 0 ? r : map_set(&join->top, happened->task, 0, (uint64_t)number + 1);
}

/* It is suspended for the lock that it waits for, if for any. */
static void suspend_for_lock(struct join *join, uint32_t number)
{
	struct clew_job *span = clew_job_at(join->jobs, number);

	if (!span->waiting)
		return;
	((struct clew_job_wait *)join->jobs->waits.data)[span->waiting - 1].piece = span->last;
	job_last_piece(join, span)->wait = span->waiting;
	span->waiting = 0;
}

/* A span that waited for a lock goes on. */
static void resume_for_lock(struct join *join, const struct clew_job_piece *piece, uint64_t at)
{
	struct clew_job_wait *wait;

	if (!piece->wait)
		return;
	wait = (struct clew_job_wait *)join->jobs->waits.data + piece->wait - 1;
	wait->to = wait->over = at;
	wait->waker = piece->task;
	wait->job = piece->waker;
}

static int suspend(struct join *join, const struct taking *taking, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job_piece *piece;
	const char *text;
	int r;

	/* A function of Go whose stack grows is met twice. */
	if (job_is_in(join, number, CLEW_JOB_SUSPENDED))
		return 0;
	r = job_begin_piece(join, number, CLEW_JOB_SUSPENDED, happened->time, CLEW_NO_TASK);
	if (r < 0)
		return r;
	piece = job_last_piece(join, clew_job_at(join->jobs, number));
	piece->has_why = job_named_value(taking, "why", &piece->why, &text) && !text;
	suspend_for_lock(join, number);
	return 0;
}

/* Somebody lets a suspended span go on. */
static int resume(struct join *join, const struct taking *taking, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job_piece *piece;
	uint32_t waker;

	if (!job_is_in(join, number, CLEW_JOB_SUSPENDED))
		return 0;
	piece = job_last_piece(join, clew_job_at(join->jobs, number));
	waker = job_look_up(&join->top, happened->task, 0);
	piece->task = happened->task;
	piece->waker = waker == number ? CLEW_NO_NUMBER : waker;
	resume_for_lock(join, piece, happened->time);
	return job_begin_piece(join, number, CLEW_JOB_QUEUED, happened->time, CLEW_NO_TASK);
}

static int ready(struct join *join, const struct taking *taking, uint32_t number)
{
	return job_is_in(join, number, CLEW_JOB_RUNS)
		       ? job_begin_piece(join, number, CLEW_JOB_QUEUED, taking->happened->time,
					 CLEW_NO_TASK)
		       : 0;
}

static int end(struct join *join, const struct taking *taking, uint64_t key, uint32_t number)
{
	const struct happened *happened = taking->happened;
	bool repeats = taking->runtime->spans[taking->event->span].repeat;

	if (repeats && job_is_in(join, number, CLEW_JOB_RUNS))
		return job_begin_piece(join, number, CLEW_JOB_QUEUED, happened->time, CLEW_NO_TASK);
	return job_finish(join, key, number, happened->time,
			  happened->kind == CLEW_PLACE_EXIT ? CLEW_JOB_EXIT : CLEW_JOB_DONE);
}

unsigned job_state(const struct taking *taking)
{
	const struct clew_runtime_event *event = taking->event;
	const char *text;
	uint64_t to;

	if (!job_named_value(taking, "to", &to, &text) || text)
		return CLEW_VERBS;
	for (unsigned i = 0; i < event->state_count; i++)
		if (event->states[i].number == to)
			return event->states[i].verb;
	return CLEW_VERBS;
}

int job_take(struct join *join, const struct taking *taking, unsigned verb, uint64_t key,
	     uint32_t number)
{
	int r = job_describe(join, taking, number);

	if (r < 0)
		return r;
	switch (verb) {
	case CLEW_VERB_START:
		return start(join, taking, number);
	case CLEW_VERB_SUSPEND:
		return suspend(join, taking, number);
	case CLEW_VERB_RESUME:
		return resume(join, taking, number);
	case CLEW_VERB_READY:
		return job_is_in(join, number, CLEW_JOB_SUSPENDED) ? resume(join, taking, number)
								   : ready(join, taking, number);
	case CLEW_VERB_END:
		return end(join, taking, key, number);
	case CLEW_VERB_CANCEL:
		return job_finish(join, key, number, taking->happened->time, CLEW_JOB_CANCELED);
	default:
		return 0;
	}
}

uint32_t job_running_of(const struct join *join, uint32_t task,
			const struct clew_runtime_span *kind)
{
	uint32_t at = job_look_up(&join->top, task, 0);

	while (at != CLEW_NO_NUMBER && clew_job_at(join->jobs, at)->kind != kind)
		at = clew_job_at(join->jobs, at)->below;
	return at;
}

uint32_t job_running(const struct join *join, const struct taking *taking, uint64_t *ret_key)
{
	uint32_t at = job_running_of(join, taking->happened->task,
				     &taking->runtime->spans[taking->event->span]);

	if (at != CLEW_NO_NUMBER)
		*ret_key = clew_job_at(join->jobs, at)->joined;
	return at;
}

int job_wait(struct join *join, const struct taking *taking, uint64_t key, uint64_t object)
{
	struct vector *waits = &join->jobs->waits;

	if (job_group_is_over(join, taking, key))
		return 0;
	if (vector_reserve(waits, waits->count + 1) < 0)
		return -ENOMEM;
	((struct clew_job_wait *)waits->data)[waits->count] = (struct clew_job_wait){
		.from = taking->happened->time,
		.to = CLEW_TIME_OPEN,
		.over = CLEW_TIME_OPEN,
		.runtime = taking->runtime,
		.kind = &taking->runtime->spans[taking->event->span],
		.object = object,
		.task = taking->happened->task,
		.waker = CLEW_NO_TASK,
		.job = CLEW_NO_NUMBER,
		.waiter = CLEW_NO_NUMBER,
		.piece = CLEW_NO_NUMBER,
		.joined = key,
		.before = job_look_up(&join->waiting, key, 0),
	};
	return map_set(&join->waiting, key, 0, (uint64_t)++waits->count);
}

/* The thread's wait is over, whether it was woken or not. */
int job_waited(struct join *join, const struct taking *taking, uint64_t key)
{
	struct clew_job_wait *waits = join->jobs->waits.data, *wait;
	uint32_t at = job_look_up(&join->waiting, key, 0), above = CLEW_NO_NUMBER;

	while (at != CLEW_NO_NUMBER && waits[at].task != taking->happened->task) {
		above = at;
		at = waits[at].before;
	}
	if (at == CLEW_NO_NUMBER)
		return 0;
	wait = &waits[at];
	wait->over = taking->happened->time;
	if (above != CLEW_NO_NUMBER) {
		waits[above].before = wait->before;
		return 0;
	}
	return map_set(&join->waiting, key, 0,
		       wait->before == CLEW_NO_NUMBER ? 0 : (uint64_t)wait->before + 1);
}

int job_wake(struct join *join, const struct taking *taking, uint64_t key)
{
	struct clew_job_wait by = {.to = taking->happened->time, .waker = taking->happened->task};
	uint64_t ignored;

	by.job = job_running(join, taking, &ignored);
	if (by.job == CLEW_NO_NUMBER)
		by.job = job_look_up(&join->top, taking->happened->task, 0);
	job_wake_all(join, &taking->runtime->spans[taking->event->span], key, &by);
	return 0;
}

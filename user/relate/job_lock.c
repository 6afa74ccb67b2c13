/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks of runtimes: objects that one thread, or one span, has at a time. The holder is known by
 * who gives it back, and by those that want it and see who has it.
 *
 * Invariant: between two that gave a lock back nobody else had it, as a lock that is waited for is
 * given back at a point. It may have been free for a while.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "relate/job_join.h"

static struct clew_job_held *held_at(const struct clew_jobs *jobs, size_t number)
{
	return (struct clew_job_held *)jobs->held.data + number;
}

/* A thread as its runtime knows it, in its process. */
static uint64_t thread_key(const struct join *join, const struct taking *taking, uint64_t word)
{
	return job_object_key(join, taking, taking->event->span, word);
}

static int add_held(struct join *join, const struct clew_job_held *held)
{
	struct vector *list = &join->jobs->held;

	if (vector_reserve(list, list->count + 1) < 0)
		return -ENOMEM;
	((struct clew_job_held *)list->data)[list->count++] = *held;
	return 0;
}

/* The event says by which number its runtime knows the thread. */
static int note_thread(struct join *join, const struct taking *taking)
{
	uint64_t word, key, task = (uint64_t)taking->happened->task + 1;
	const char *text;
	int r = 0;

	if (!job_named_value(taking, "me", &word, &text) || text)
		return 0;
	key = thread_key(join, taking, word);
	if (job_look_up(&join->first, key, 0) == CLEW_NO_NUMBER)
		r = map_set(&join->first, key, 0, task);
	return r < 0 ? r : map_set(&join->threads, key, 0, task);
}

/* The one that wants the lock sees who has it. */
static int note_holder(struct join *join, const struct taking *taking, uint64_t key)
{
	struct clew_job_held held = {.joined = key, .at = taking->happened->time};
	const char *text;
	uint64_t is_held;

	if (!job_named_value(taking, "holder", &held.word, &text) || text || !held.word ||
	    (job_named_value(taking, "held", &is_held, &text) && !is_held))
		return 0;
	held.word = thread_key(join, taking, held.word);
	held.task = job_look_up(&join->threads, held.word, 0);
	held.job = CLEW_NO_NUMBER;
	if (held.task != CLEW_NO_NUMBER) {
		held.word = 0;
		held.job = job_look_up(&join->top, held.task, 0);
	}
	return add_held(join, &held);
}

static int name_wait(struct join *join, const struct taking *taking, struct clew_job_wait *wait)
{
	const char *text, *ignored;
	uint64_t number, length;

	if (job_named_value(taking, "name", &number, &text) && text) {
		size_t most = strlen(text);

		if (job_named_value(taking, "length", &length, &ignored) && !ignored &&
		    length < most)
			most = length;
		wait->label = arena_copy(&join->jobs->arena, text, most);
		if (!wait->label)
			return -ENOMEM;
	}
	if (job_named_value(taking, "memory", &number, &text) && !text &&
	    job_named_value(taking, "bytes", &length, &text) && !text) {
		wait->memory = number;
		wait->bytes = length;
	}
	return 0;
}

/* A function of Go whose stack grows is met twice. */
static bool is_noted(const struct join *join, uint32_t span, uint64_t key)
{
	uint32_t number = clew_job_at(join->jobs, span)->waiting;

	return number &&
	       ((const struct clew_job_wait *)join->jobs->waits.data)[number - 1].joined == key;
}

static int wait_for(struct join *join, const struct taking *taking, uint64_t key, uint64_t object)
{
	const struct clew_runtime_span *kind = &taking->runtime->spans[taking->event->span];
	struct vector *waits = &join->jobs->waits;
	uint32_t waiter = CLEW_NO_NUMBER;
	struct clew_job_wait *wait;
	int r;

	if (kind->of != CLEW_RUNTIME_NONE) {
		waiter = job_running_of(join, taking->happened->task,
					&taking->runtime->spans[kind->of]);
		if (waiter == CLEW_NO_NUMBER ||
		    (kind->wants && clew_job_at(join->jobs, waiter)->wanted != key) ||
		    is_noted(join, waiter, key))
			return 0;
	}
	r = job_wait(join, taking, key, object);
	if (r < 0)
		return r;
	wait = (struct clew_job_wait *)waits->data + waits->count - 1;
	if (waiter != CLEW_NO_NUMBER) {
		/* It goes on when it is resumed, in whatever thread. */
		r = map_set(&join->waiting, key, 0,
			    wait->before == CLEW_NO_NUMBER ? 0 : (uint64_t)wait->before + 1);
		wait->waiter = waiter;
		clew_job_at(join->jobs, waiter)->waiting = (uint32_t)waits->count;
	}
	r = r < 0 ? r : name_wait(join, taking, wait);
	return r < 0 ? r : note_holder(join, taking, key);
}

static int want(struct join *join, const struct taking *taking, uint64_t key)
{
	const struct clew_runtime_span *kind = &taking->runtime->spans[taking->event->span];
	uint32_t job = kind->of == CLEW_RUNTIME_NONE
			       ? CLEW_NO_NUMBER
			       : job_running_of(join, taking->happened->task,
						&taking->runtime->spans[kind->of]);

	if (job != CLEW_NO_NUMBER)
		clew_job_at(join->jobs, job)->wanted = key;
	return note_thread(join, taking);
}

static int give_back(struct join *join, const struct taking *taking, uint64_t key)
{
	const struct clew_job_held held = {
		.joined = key,
		.at = taking->happened->time,
		.task = taking->happened->task,
		.job = job_look_up(&join->top, taking->happened->task, 0),
		.back = true,
	};
	int r = add_held(join, &held);

	return r < 0 ? r : job_wake(join, taking, key);
}

int job_take_lock(struct join *join, const struct taking *taking, uint64_t key, uint64_t object)
{
	switch (taking->event->verb) {
	case CLEW_VERB_WANT:
		return want(join, taking, key);
	case CLEW_VERB_WAIT:
		return wait_for(join, taking, key, object);
	case CLEW_VERB_WAITED:
		return job_waited(join, taking, key);
	default:
		return give_back(join, taking, key);
	}
}

/* ---- when all is known ---- */

static bool is_for(const struct clew_job_wait *wait, const struct clew_sleep *sleep)
{
	return !wait->memory || (sleep->object.kind == CLEW_OBJECT_FUTEX &&
				 sleep->object.number - wait->memory < wait->bytes);
}

/* The thread waited until the last of its sleeps for the lock's own memory; not at all if there is
 * none before it asks for the lock anew. */
static void end_by_sleeps(const struct clew_jobs *jobs, struct clew_job_wait *wait, uint64_t until)
{
	struct clew_piece piece;

	wait->over = wait->from;
	for (uint64_t at = wait->from; at < until; at = piece.end) {
		if (!clew_trace_piece(jobs->trace, wait->task, at, false, &piece))
			return;
		if (piece.kind != CLEW_PIECE_SLEEP || !is_for(wait, piece.sleep))
			continue;
		wait->to = wait->over = piece.end;
		wait->waker = piece.sleep->context == CLEW_WAKE_TASK ? piece.sleep->ended_by
								     : CLEW_NO_TASK;
	}
}

static int by_lock(const void *a, const void *b)
{
	const struct clew_job_held *left = a, *right = b;

	if (left->joined != right->joined)
		return left->joined < right->joined ? -1 : 1;
	return left->at < right->at ? -1 : left->at > right->at;
}

static void end_waits(struct clew_jobs *jobs)
{
	struct clew_job_wait *waits = jobs->waits.data;
	size_t count = jobs->waits.count, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct clew_job_wait wait = waits[i];

		if (wait.memory)
			end_by_sleeps(jobs, &wait,
				      i + 1 < count && waits[i + 1].task == wait.task
					      ? waits[i + 1].from
					      : CLEW_TIME_OPEN);
		if (wait.memory && wait.over == wait.from)
			continue;
		if (wait.piece != CLEW_NO_NUMBER)
			clew_job_piece_at(jobs, wait.piece)->wait = (uint32_t)kept + 1;
		waits[kept++] = wait;
	}
	jobs->waits.count = kept;
}

void job_lock_finish(struct join *join)
{
	struct clew_jobs *jobs = join->jobs;
	size_t kept = 0;

	end_waits(jobs);
	/* A thread whose number was not known yet has it from its first event on. */
	for (size_t i = 0; i < jobs->held.count; i++) {
		struct clew_job_held held = *held_at(jobs, i);

		if (held.word)
			held.task = job_look_up(&join->first, held.word, 0);
		if (!held.word || held.task != CLEW_NO_NUMBER)
			*held_at(jobs, kept++) = held;
	}
	jobs->held.count = kept;
	if (kept > 1)
		qsort(jobs->held.data, kept, sizeof(struct clew_job_held), by_lock);
}

/* ---- questions ---- */

const struct clew_job_wait *clew_job_lock_of(const struct clew_jobs *jobs, uint32_t task,
					     const struct clew_sleep *sleep)
{
	const struct clew_job_wait *waits = jobs->waits.data;
	size_t low = 0, high = jobs->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (waits[middle].task < task ||
		    (waits[middle].task == task && waits[middle].from <= sleep->start))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || waits[low - 1].task != task)
		return NULL;
	waits += low - 1;
	return waits->kind->lock && waits->waiter == CLEW_NO_NUMBER && sleep->start < waits->over &&
			       is_for(waits, sleep)
		       ? waits
		       : NULL;
}

/* The first that is seen to have a lock behind a moment; the list's end: nobody is. */
static size_t first_behind(const struct clew_jobs *jobs, uint64_t joined, uint64_t at)
{
	size_t low = 0, high = jobs->held.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct clew_job_held *held = held_at(jobs, middle);

		if (held->joined < joined || (held->joined == joined && held->at <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_waiter(const struct clew_job_wait *wait, const struct clew_job_held *held)
{
	return wait->waiter == CLEW_NO_NUMBER ? held->task == wait->task
					      : held->job == wait->waiter;
}

/* True if one gave the lock back in that time, but for the waiter itself. */
static bool was_given_back(const struct clew_jobs *jobs, const struct clew_job_wait *wait,
			   uint64_t from, uint64_t to)
{
	for (size_t i = first_behind(jobs, wait->joined, from); i < jobs->held.count; i++) {
		const struct clew_job_held *held = held_at(jobs, i);

		if (held->joined != wait->joined || held->at > to)
			break;
		if (held->back && !is_waiter(wait, held))
			return true;
	}
	return false;
}

/* The last one that was seen to have it. It may have given it back since. */
static bool last_seen(const struct clew_jobs *jobs, const struct clew_job_wait *wait, uint64_t at,
		      struct clew_job_holder *ret)
{
	size_t next = first_behind(jobs, wait->joined, at);
	const struct clew_job_held *held = next ? held_at(jobs, next - 1) : NULL;
	bool known = held && held->joined == wait->joined && held->at >= wait->from &&
		     !held->back && !is_waiter(wait, held);

	while (next < jobs->held.count && held_at(jobs, next)->joined == wait->joined && known &&
	       held_at(jobs, next)->task == held->task)
		next++;
	if (next < jobs->held.count && held_at(jobs, next)->joined == wait->joined &&
	    held_at(jobs, next)->at < ret->until)
		ret->until = held_at(jobs, next)->at;
	else if (known)
		ret->exact = held->task == wait->waker;
	if (!known)
		return false;
	ret->task = held->task;
	ret->job = held->job;
	return true;
}

bool clew_job_holder_of(const struct clew_jobs *jobs, const struct clew_job_wait *wait, uint64_t at,
			struct clew_job_holder *ret)
{
	uint64_t end = wait->to != CLEW_TIME_OPEN ? wait->to : wait->over;

	*ret = (struct clew_job_holder){.until = end};
	for (size_t i = first_behind(jobs, wait->joined, at); i < jobs->held.count; i++) {
		const struct clew_job_held *held = held_at(jobs, i);

		if (held->joined != wait->joined || held->at > end)
			break;
		if (!held->back || is_waiter(wait, held))
			continue;
		*ret = (struct clew_job_holder){
			.task = held->task,
			.job = held->job,
			.until = held->at,
			.exact = !was_given_back(jobs, wait, wait->from, at),
		};
		return true;
	}
	return last_seen(jobs, wait, at, ret);
}

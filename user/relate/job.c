/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins the moments of runtimes to spans, in one pass in order of time.
 *
 * While it goes, `live` has the span of each key that is not over, `known` the last one of each
 * key, and `top` the span that runs on each thread: those that it interrupts are below it.
 */
#include "relate/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/sort.h"

/* An entry of a function whose values its exit, or an event within it, asks for. */
struct entry {
	const struct clew_moment *moment;
	uint32_t below; /* the one around it, CLEW_NO_NUMBER none */
};

/* Something that happened: a moment, or the begin or end of a thread. */
struct happened {
	const struct clew_moment *moment; /* NULL: neither entry nor exit */
	uint64_t time;
	uint32_t task;
	uint32_t child; /* that began, CLEW_NO_TASK none */
	uint8_t kind;	/* CLEW_PLACE_FORK, CLEW_PLACE_EXIT, or any other */
};

struct join {
	struct clew_jobs *jobs;
	struct map live;     /* key -> span + 1 */
	struct map known;    /* key -> span + 1 */
	struct map top;	     /* task -> span + 1 */
	struct map entries;  /* task, point -> entry + 1 */
	struct map waiting;  /* key of an object -> wait + 1, the last */
	struct vector stack; /* struct entry */
	const struct clew_gap *gap;
	size_t gaps;
};

/* ---- values ---- */

/* An event that is being taken. */
struct taking {
	const struct clew_runtime *runtime;
	const struct clew_runtime_event *event;
	const struct happened *happened;
	const struct clew_moment *outer; /* NULL: not known */
};

static bool value_of(const struct taking *taking, const struct clew_runtime_value *value,
		     uint64_t *ret_number, const char **ret_text)
{
	const struct clew_expression *expression = &value->expression;
	const struct clew_moment *moment =
		expression->at == CLEW_AT_POINT ? taking->happened->moment : taking->outer;
	uint16_t point =
		expression->at == CLEW_AT_POINT ? taking->event->point : taking->event->outer;

	*ret_text = NULL;
	if (expression->base == CLEW_BASE_TASK || expression->base == CLEW_BASE_CHILD) {
		*ret_number = expression->base == CLEW_BASE_TASK ? taking->happened->task
								 : taking->happened->child;
		return true;
	}
	if (!moment || !clew_moment_value(moment, &taking->runtime->points[point], value->slot,
					  ret_number, ret_text))
		return false;
	switch (expression->test) {
	case '&':
		*ret_number &= expression->operand;
		break;
	case '=':
		*ret_number = *ret_number == expression->operand;
		break;
	case '!':
		*ret_number = *ret_number != expression->operand;
		break;
	case '<':
		*ret_number = *ret_number < expression->operand;
		break;
	default:
		break;
	}
	return true;
}

/* A value of the event by its name. False: it has none, or it is not known. */
static bool named_value(const struct taking *taking, const char *name, uint64_t *ret_number,
			const char **ret_text)
{
	const struct clew_runtime_value *value = clew_event_value(taking->event, name);

	return value && value_of(taking, value, ret_number, ret_text);
}

static uint32_t process_of(const struct join *join, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(join->jobs->trace, serial);

	return task ? task->process : serial;
}

static uint32_t tid_of(const struct join *join, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(join->jobs->trace, serial);

	return task ? task->tid : 0;
}

/* The event's key, as numbers and mixed with its kind. False: a part of it is not known. */
static bool key_of(const struct join *join, const struct taking *taking, uint64_t *ret_numbers,
		   uint64_t *ret_key)
{
	const char *text;

	*ret_key = hash_mix((uintptr_t)&taking->runtime->spans[taking->event->span],
			    process_of(join, taking->happened->task));
	for (unsigned i = 0; i < taking->event->key_count; i++) {
		const struct clew_runtime_value *key = &taking->event->keys[i];

		if (!value_of(taking, key, &ret_numbers[i], &text))
			return false;
		*ret_key = hash_mix(*ret_key, text ? hash_text(HASH_SEED, text) : ret_numbers[i]);
		/* Threads are joined by serials, which are used once, and known by their tids. */
		if (key->expression.base == CLEW_BASE_TASK ||
		    key->expression.base == CLEW_BASE_CHILD)
			ret_numbers[i] = tid_of(join, (uint32_t)ret_numbers[i]);
	}
	return true;
}

/* ---- spans and their pieces ---- */

static uint32_t look_up(const struct map *map, uint64_t key, uint32_t part)
{
	const uint64_t *found = map_get(map, key, part);

	return found && *found ? (uint32_t)(*found - 1) : CLEW_NO_NUMBER;
}

static struct clew_job_piece *last_piece(const struct join *join, const struct clew_job *span)
{
	return span->last == CLEW_NO_NUMBER ? NULL : clew_job_piece_at(join->jobs, span->last);
}

static bool is_in(const struct join *join, uint32_t number, enum clew_job_piece_kind kind)
{
	const struct clew_job_piece *piece = last_piece(join, clew_job_at(join->jobs, number));

	return piece && piece->end == CLEW_TIME_OPEN && piece->kind == kind;
}

/* Takes a span off the thread that it runs on. */
static int leave_thread(struct join *join, uint32_t number, uint32_t task)
{
	uint32_t at = look_up(&join->top, task, 0), above = CLEW_NO_NUMBER;
	struct clew_job *span = clew_job_at(join->jobs, number);

	while (at != CLEW_NO_NUMBER && at != number) {
		above = at;
		at = clew_job_at(join->jobs, at)->below;
	}
	if (at == CLEW_NO_NUMBER)
		return 0;
	if (above != CLEW_NO_NUMBER) {
		clew_job_at(join->jobs, above)->below = span->below;
		return 0;
	}
	return map_set(&join->top, task, 0,
		       span->below == CLEW_NO_NUMBER ? 0 : (uint64_t)span->below + 1);
}

static int end_piece(struct join *join, uint32_t number, uint64_t at)
{
	struct clew_job_piece *piece = last_piece(join, clew_job_at(join->jobs, number));

	if (!piece || piece->end != CLEW_TIME_OPEN)
		return 0;
	piece->end = at > piece->start ? at : piece->start;
	return piece->kind == CLEW_JOB_RUNS ? leave_thread(join, number, piece->task) : 0;
}

/* Ends the last piece of a span and begins another. */
static int begin_piece(struct join *join, uint32_t number, enum clew_job_piece_kind kind,
		       uint64_t at, uint32_t task)
{
	struct clew_jobs *jobs = join->jobs;
	uint32_t place = (uint32_t)jobs->pieces.count;
	struct clew_job *span = clew_job_at(jobs, number);
	int r = end_piece(join, number, at);

	r = r < 0 ? r : vector_reserve(&jobs->pieces, jobs->pieces.count + 1);
	if (r < 0)
		return r;
	*clew_job_piece_at(jobs, place) = (struct clew_job_piece){
		.start = at,
		.end = CLEW_TIME_OPEN,
		.job = number,
		.next = CLEW_NO_NUMBER,
		.task = task,
		.waker = CLEW_NO_NUMBER,
		.kind = (uint8_t)kind,
	};
	jobs->pieces.count++;
	if (span->last == CLEW_NO_NUMBER)
		span->first = place;
	else
		last_piece(join, span)->next = place;
	span->last = place;
	return 0;
}

static int close_span(struct join *join, uint32_t number, uint64_t at, enum clew_job_closed closed)
{
	struct clew_job *span = clew_job_at(join->jobs, number);
	int r = end_piece(join, number, at);

	span->end = at;
	span->closed = (uint8_t)closed;
	return r;
}

/* The span has ended: its key may be used anew. */
static int finish_span(struct join *join, uint64_t key, uint32_t number, uint64_t at,
		       enum clew_job_closed closed)
{
	map_remove(&join->live, key, 0);
	return close_span(join, number, at, closed);
}

static int new_span(struct join *join, const struct taking *taking, uint64_t key,
		    const uint64_t *numbers, uint32_t *ret_number)
{
	struct clew_jobs *jobs = join->jobs;
	const struct happened *happened = taking->happened;
	int r = vector_reserve(&jobs->list, jobs->list.count + 1);
	struct clew_job *span;

	if (r < 0 || jobs->list.count >= CLEW_NO_NUMBER - 1)
		return r < 0 ? r : -EFBIG;
	*ret_number = (uint32_t)jobs->list.count++;
	span = clew_job_at(jobs, *ret_number);
	*span = (struct clew_job){
		.runtime = taking->runtime,
		.kind = &taking->runtime->spans[taking->event->span],
		.begin = happened->time,
		.end = CLEW_TIME_OPEN,
		.process = process_of(join, happened->task),
		.submitter = CLEW_NO_TASK,
		.parent = CLEW_NO_NUMBER,
		.first = CLEW_NO_NUMBER,
		.last = CLEW_NO_NUMBER,
		.below = CLEW_NO_NUMBER,
		.closed = CLEW_JOB_OPEN,
		.key_count = taking->event->key_count,
		.joined = key,
	};
	memcpy(span->key, numbers, taking->event->key_count * sizeof(*numbers));
	r = map_set(&join->live, key, 0, (uint64_t)*ret_number + 1);
	return r < 0 ? r : map_set(&join->known, key, 0, (uint64_t)*ret_number + 1);
}

/* Takes what the event says of a span besides its state. */
static int describe(struct join *join, const struct taking *taking, uint32_t number)
{
	struct clew_job *span = clew_job_at(join->jobs, number);
	const char *text;
	uint64_t value;

	if (named_value(taking, "name", &value, &text)) {
		if (text && !span->label) {
			span->label = arena_copy(&join->jobs->arena, text, strlen(text));
			if (!span->label)
				return -ENOMEM;
		} else if (!text && !span->code) {
			span->code = value;
		}
	}
	if (named_value(taking, "queue", &value, &text) && !text) {
		span->queue = value;
		span->has_queue = true;
	}
	if (named_value(taking, "status", &value, &text) && !text) {
		span->status = value;
		span->has_status = true;
	}
	return 0;
}

/* ---- what the verbs do ---- */

static int submit(struct join *join, const struct taking *taking, uint64_t key,
		  const uint64_t *numbers, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job *span = number == CLEW_NO_NUMBER ? NULL : clew_job_at(join->jobs, number);
	int r = 0;

	if (span && span->kind->coalesce && !span->started) {
		span->origins++;
		return 0;
	}
	if (span)
		r = finish_span(join, key, number, happened->time, CLEW_JOB_SUPERSEDED);
	r = r < 0 ? r : new_span(join, taking, key, numbers, &number);
	if (r < 0)
		return r;
	span = clew_job_at(join->jobs, number);
	span->submitted = happened->time;
	span->submitter = happened->task;
	span->parent = look_up(&join->top, happened->task, 0);
	span->origins = 1;
	r = begin_piece(join, number, CLEW_JOB_QUEUED, happened->time, CLEW_NO_TASK);
	return r < 0 ? r : describe(join, taking, number);
}

static int start(struct join *join, const struct taking *taking, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job *span = clew_job_at(join->jobs, number);
	struct clew_job_piece *last = last_piece(join, span);
	int r;

	if (last && last->end == CLEW_TIME_OPEN && last->kind == CLEW_JOB_RUNS &&
	    last->task == happened->task)
		return 0;
	r = begin_piece(join, number, CLEW_JOB_RUNS, happened->time, happened->task);
	span->started = span->started ?: happened->time;
	span->below = look_up(&join->top, happened->task, 0);
	return r < 0 ? r : map_set(&join->top, happened->task, 0, (uint64_t)number + 1);
}

static int suspend(struct join *join, const struct taking *taking, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job_piece *piece;
	const char *text;
	int r;

	/* A function of Go whose stack grows is met twice. */
	if (is_in(join, number, CLEW_JOB_SUSPENDED))
		return 0;
	r = begin_piece(join, number, CLEW_JOB_SUSPENDED, happened->time, CLEW_NO_TASK);
	if (r < 0)
		return r;
	piece = last_piece(join, clew_job_at(join->jobs, number));
	piece->has_why = named_value(taking, "why", &piece->why, &text) && !text;
	return 0;
}

/* Somebody lets a suspended span go on. */
static int resume(struct join *join, const struct taking *taking, uint32_t number)
{
	const struct happened *happened = taking->happened;
	struct clew_job_piece *piece;
	uint32_t waker;

	if (!is_in(join, number, CLEW_JOB_SUSPENDED))
		return 0;
	piece = last_piece(join, clew_job_at(join->jobs, number));
	waker = look_up(&join->top, happened->task, 0);
	piece->task = happened->task;
	piece->waker = waker == number ? CLEW_NO_NUMBER : waker;
	return begin_piece(join, number, CLEW_JOB_QUEUED, happened->time, CLEW_NO_TASK);
}

static int ready(struct join *join, const struct taking *taking, uint32_t number)
{
	return is_in(join, number, CLEW_JOB_RUNS)
		       ? begin_piece(join, number, CLEW_JOB_QUEUED, taking->happened->time,
				     CLEW_NO_TASK)
		       : 0;
}

static int end(struct join *join, const struct taking *taking, uint64_t key, uint32_t number)
{
	const struct happened *happened = taking->happened;
	bool repeats = taking->runtime->spans[taking->event->span].repeat;

	if (repeats && is_in(join, number, CLEW_JOB_RUNS))
		return begin_piece(join, number, CLEW_JOB_QUEUED, happened->time, CLEW_NO_TASK);
	return finish_span(join, key, number, happened->time,
			   happened->kind == CLEW_PLACE_EXIT ? CLEW_JOB_EXIT : CLEW_JOB_DONE);
}

/* The state that a number stands for; CLEW_VERBS: none. */
static unsigned state_of(const struct taking *taking)
{
	const struct clew_runtime_event *event = taking->event;
	const char *text;
	uint64_t to;

	if (!named_value(taking, "to", &to, &text) || text)
		return CLEW_VERBS;
	for (unsigned i = 0; i < event->state_count; i++)
		if (event->states[i].number == to)
			return event->states[i].verb;
	return CLEW_VERBS;
}

/* An event of a span that is known, or of what runs on the thread. */
static int take_known(struct join *join, const struct taking *taking, unsigned verb, uint64_t key,
		      uint32_t number)
{
	int r = describe(join, taking, number);

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
		return is_in(join, number, CLEW_JOB_SUSPENDED) ? resume(join, taking, number)
							       : ready(join, taking, number);
	case CLEW_VERB_END:
		return end(join, taking, key, number);
	case CLEW_VERB_CANCEL:
		return finish_span(join, key, number, taking->happened->time, CLEW_JOB_CANCELED);
	default:
		return 0;
	}
}

/* The span of the event's kind that runs on the thread, with its key. */
static uint32_t running(const struct join *join, const struct taking *taking, uint64_t *ret_key)
{
	const struct clew_runtime_span *kind = &taking->runtime->spans[taking->event->span];
	uint32_t at = look_up(&join->top, taking->happened->task, 0);

	while (at != CLEW_NO_NUMBER && clew_job_at(join->jobs, at)->kind != kind)
		at = clew_job_at(join->jobs, at)->below;
	if (at != CLEW_NO_NUMBER)
		*ret_key = clew_job_at(join->jobs, at)->joined;
	return at;
}

/* ---- waits for an object ---- */

static int take_wait(struct join *join, const struct taking *taking, uint64_t key)
{
	struct vector *waits = &join->jobs->waits;

	if (vector_reserve(waits, waits->count + 1) < 0)
		return -ENOMEM;
	((struct clew_job_wait *)waits->data)[waits->count] = (struct clew_job_wait){
		.from = taking->happened->time,
		.to = CLEW_TIME_OPEN,
		.task = taking->happened->task,
		.waker = look_up(&join->waiting, key, 0),
		.job = CLEW_NO_NUMBER,
	};
	return map_set(&join->waiting, key, 0, (uint64_t)++waits->count);
}

/* All that wait for the object do so no more. While they wait, `waker` is the wait before. */
static int take_wake(struct join *join, const struct taking *taking, uint64_t key)
{
	uint32_t at = look_up(&join->waiting, key, 0), next;
	uint64_t ignored;
	uint32_t job = running(join, taking, &ignored);

	if (job == CLEW_NO_NUMBER)
		job = look_up(&join->top, taking->happened->task, 0);
	for (; at != CLEW_NO_NUMBER; at = next) {
		struct clew_job_wait *wait = (struct clew_job_wait *)join->jobs->waits.data + at;

		next = wait->waker;
		wait->to = taking->happened->time;
		wait->waker = taking->happened->task;
		wait->job = job;
	}
	return map_set(&join->waiting, key, 0, 0);
}

/* ---- entries of functions ---- */

static const struct entry *top_entry(const struct join *join, uint32_t task, uint16_t number)
{
	uint32_t at = look_up(&join->entries, task, number);

	return at == CLEW_NO_NUMBER ? NULL : (struct entry *)join->stack.data + at;
}

static int pop_entry(struct join *join, uint32_t task, uint16_t number)
{
	const struct entry *top = top_entry(join, task, number);

	return map_set(&join->entries, task, number,
		       !top || top->below == CLEW_NO_NUMBER ? 0 : (uint64_t)top->below + 1);
}

/* Forgets calls that did not return: the stack is above them. */
static int unwind(struct join *join, uint32_t task, uint16_t number, uint64_t stack)
{
	const struct entry *top;
	int r = 0;

	while (r >= 0 && (top = top_entry(join, task, number)) && top->moment->stack < stack)
		r = pop_entry(join, task, number);
	return r;
}

static int push_entry(struct join *join, const struct clew_moment *moment)
{
	int r = unwind(join, moment->task, moment->point, moment->stack + 1);

	r = r < 0 ? r : vector_reserve(&join->stack, join->stack.count + 1);
	if (r < 0)
		return r;
	((struct entry *)join->stack.data)[join->stack.count] = (struct entry){
		.moment = moment, .below = look_up(&join->entries, moment->task, moment->point)};
	return map_set(&join->entries, moment->task, moment->point, ++join->stack.count);
}

/* Finds the call that an event is within, or whose exit it is. False: there is none. */
static bool find_outer(struct join *join, struct taking *taking)
{
	const struct clew_runtime_event *event = taking->event;
	const struct clew_runtime_point *point;
	const struct entry *entry;

	taking->outer = NULL;
	if (event->outer_kind == CLEW_OUTER_NONE)
		return true;
	point = &taking->runtime->points[event->outer];
	entry = top_entry(join, taking->happened->task, point->number);
	if (!entry || (event->outer_kind == CLEW_OUTER_ENTRY && taking->happened->moment &&
		       entry->moment->stack != taking->happened->moment->stack))
		return false;
	taking->outer = entry->moment;
	return true;
}

/* ---- events ---- */

static int take_event(struct join *join, struct taking *taking)
{
	const struct clew_runtime_event *event = taking->event;
	unsigned verb = event->verb;
	uint64_t key = 0, numbers[CLEW_RUNTIME_KEYS] = {}, value;
	uint32_t number;
	const char *text;
	int r = 0;

	if (!find_outer(join, taking))
		return 0;
	if (event->outer_kind == CLEW_OUTER_BEHIND)
		r = pop_entry(join, taking->happened->task,
			      taking->runtime->points[event->outer].number);
	if (r < 0 || (event->has_condition &&
		      (!value_of(taking, &event->condition, &value, &text) || !value)))
		return r;
	if (event->key_count ? !key_of(join, taking, numbers, &key)
			     : running(join, taking, &key) == CLEW_NO_NUMBER) {
		join->jobs->strays += verb == CLEW_VERB_END;
		return 0;
	}
	if (verb == CLEW_VERB_WAIT)
		return take_wait(join, taking, key);
	if (verb == CLEW_VERB_WAKE)
		return take_wake(join, taking, key);
	if (verb == CLEW_VERB_STATE)
		verb = state_of(taking);
	number = event->key_count ? look_up(&join->live, key, 0) : running(join, taking, &key);
	if (verb == CLEW_VERB_SUBMIT)
		return submit(join, taking, key, numbers, number);
	if (verb == CLEW_VERB_AFTER || verb == CLEW_VERB_NAME) {
		number = look_up(&join->known, key, 0);
		return number == CLEW_NO_NUMBER ? 0 : describe(join, taking, number);
	}
	if (number == CLEW_NO_NUMBER) {
		/* Only what begins, or goes on, makes a span that nobody was seen to submit. */
		if (verb == CLEW_VERB_END || verb == CLEW_VERB_CANCEL || verb == CLEW_VERBS) {
			join->jobs->strays += verb == CLEW_VERB_END &&
					      look_up(&join->known, key, 0) == CLEW_NO_NUMBER;
			return 0;
		}
		r = new_span(join, taking, key, numbers, &number);
	}
	return r < 0 ? r : take_known(join, taking, verb, key, number);
}

/* Events at which the points of a runtime are, and of which the outer one is left. */
static int take_happened(struct join *join, const struct clew_runtime *runtime,
			 const struct happened *happened, uint16_t point)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < runtime->event_count; i++) {
		struct taking taking = {
			.runtime = runtime, .event = &runtime->events[i], .happened = happened};

		if (runtime->events[i].point == point)
			r = take_event(join, &taking);
	}
	return r;
}

static bool is_outer(const struct clew_runtime *runtime, uint16_t point)
{
	for (size_t i = 0; i < runtime->event_count; i++)
		if (runtime->events[i].outer == point)
			return true;
	return false;
}

/* The entry of the function that a point leaves; CLEW_RUNTIME_NONE: nobody asks for it. */
static uint16_t entry_of(const struct clew_runtime *runtime, const struct clew_runtime_point *point)
{
	for (uint16_t i = 0; i < runtime->point_count; i++)
		if (runtime->points[i].kind == CLEW_PLACE_ENTER &&
		    runtime->points[i].hidden == point->hidden &&
		    !strcmp(runtime->points[i].object, point->object) &&
		    !strcmp(runtime->points[i].symbol, point->symbol))
			return i;
	return CLEW_RUNTIME_NONE;
}

static int take_moment(struct join *join, const struct happened *happened)
{
	const struct clew_moment *moment = happened->moment;
	const struct clew_runtime *runtime = NULL;
	const struct clew_runtime_point *point =
		clew_runtime_point(join->jobs->layers, moment->point, &runtime);
	uint16_t number, entry;
	int r;

	if (!point)
		return 0;
	join->jobs->seen[moment->point]++;
	number = (uint16_t)(point - runtime->points);
	if (point->kind == CLEW_PLACE_ENTER && is_outer(runtime, number)) {
		r = push_entry(join, moment);
		if (r < 0)
			return r;
	}
	r = take_happened(join, runtime, happened, number);
	if (r < 0 || point->kind != CLEW_PLACE_LEAVE)
		return r;
	entry = entry_of(runtime, point);
	if (entry == CLEW_RUNTIME_NONE)
		return r;
	return unwind(join, moment->task, runtime->points[entry].number, moment->stack + 1);
}

/* The begin or end of a thread, for runtimes that have it as a point. */
static int take_thread(struct join *join, const struct happened *happened)
{
	const struct clew_layers *layers = join->jobs->layers;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < layers->runtime_count; i++)
		for (uint16_t k = 0; r >= 0 && k < layers->runtimes[i].point_count; k++)
			if (layers->runtimes[i].points[k].kind == happened->kind)
				r = take_happened(join, &layers->runtimes[i], happened, k);
	return r;
}

/* Where records were lost, nobody knows which submit an event belongs to. */
static int take_losses(struct join *join, uint64_t until)
{
	int r = 0;

	for (; join->gaps && join->gap->from < until; join->gap++, join->gaps--) {
		for (size_t i = 0; r >= 0 && i < join->jobs->list.count; i++)
			if (clew_job_at(join->jobs, i)->end == CLEW_TIME_OPEN)
				r = close_span(join, (uint32_t)i, join->gap->from, CLEW_JOB_LOST);
		map_done(&join->live);
		map_done(&join->top);
		map_done(&join->entries);
		join->live = join->top = join->entries = (struct map){};
	}
	return r;
}

/* ---- all that happened, in order ---- */

static bool is_thread(const struct clew_trace_task *task)
{
	return task && task->serial && !(task->flags & CLEW_TASK_KTHREAD);
}

static int list_happened(const struct clew_trace *trace, struct happened **ret, size_t *ret_count)
{
	size_t moments, tasks = clew_trace_task_count(trace), count = 0;
	const struct clew_moment *const *all = clew_trace_moments(trace, &moments);
	struct happened *list = calloc(moments + 2 * tasks + 1, sizeof(*list));

	*ret = list;
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < moments; i++)
		if (all[i]->task)
			list[count++] = (struct happened){.moment = all[i],
							  .time = all[i]->header.time,
							  .task = all[i]->task,
							  .kind = CLEW_PLACE_ENTER};
	for (size_t i = 0; moments && i < tasks; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);
		const struct clew_edge *fork =
			is_thread(task) ? clew_trace_fork_of(trace, task->serial) : NULL;

		/* Their times are rounded down. */
		if (fork && task->process != task->serial)
			list[count++] =
				(struct happened){.time = fork->from_at | (CLEW_CLOCK_STEP - 1),
						  .task = fork->from,
						  .child = task->serial,
						  .kind = CLEW_PLACE_FORK};
		if (is_thread(task) && task->death != CLEW_TIME_OPEN)
			list[count++] =
				(struct happened){.time = task->death | (CLEW_CLOCK_STEP - 1),
						  .task = task->serial,
						  .kind = CLEW_PLACE_EXIT};
	}
	*ret_count = count;
	return 0;
}

static int join_all(struct join *join)
{
	struct happened *list;
	struct sort_key *keys = NULL;
	size_t count;
	int r = list_happened(join->jobs->trace, &list, &count);

	if (r >= 0) {
		keys = malloc((2 * count + 1) * sizeof(*keys));
		r = keys ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r >= 0 && i < count; i++)
		keys[i] = (struct sort_key){.key = list[i].time, .index = (uint32_t)i};
	if (r >= 0)
		sort_keys(keys, keys + count, count);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		const struct happened *happened = &list[keys[i].index];

		r = take_losses(join, happened->time);
		if (r >= 0)
			r = happened->moment ? take_moment(join, happened)
					     : take_thread(join, happened);
	}
	free(keys);
	free(list);
	return r;
}

static int by_task(const void *a, const void *b)
{
	const struct clew_job_wait *left = a, *right = b;

	if (left->task != right->task)
		return left->task < right->task ? -1 : 1;
	return left->from < right->from ? -1 : left->from > right->from;
}

/* Closes what ended with its process. */
static void close_dead(struct clew_jobs *jobs)
{
	for (size_t i = 0; i < jobs->list.count; i++) {
		struct clew_job *span = clew_job_at(jobs, i);
		const struct clew_trace_task *process = clew_trace_task(jobs->trace, span->process);
		struct clew_job_piece *piece =
			span->last == CLEW_NO_NUMBER ? NULL : clew_job_piece_at(jobs, span->last);

		if (span->end != CLEW_TIME_OPEN || !process || process->death == CLEW_TIME_OPEN)
			continue;
		span->end = process->death > span->begin ? process->death : span->begin;
		span->closed = CLEW_JOB_EXIT;
		if (piece && piece->end == CLEW_TIME_OPEN)
			piece->end = span->end > piece->start ? span->end : piece->start;
	}
}

int clew_jobs_new(const struct clew_trace *trace, const struct clew_layers *layers,
		  struct clew_jobs **ret_jobs)
{
	struct clew_jobs *jobs = calloc(1, sizeof(*jobs));
	struct join join = {.jobs = jobs, .stack.item = sizeof(struct entry)};
	int r;

	if (!jobs)
		return -ENOMEM;
	jobs->trace = trace;
	jobs->layers = layers;
	jobs->list.item = sizeof(struct clew_job);
	jobs->pieces.item = sizeof(struct clew_job_piece);
	jobs->waits.item = sizeof(struct clew_job_wait);
	jobs->seen = calloc(UINT16_MAX + 1, sizeof(*jobs->seen));
	join.gaps = clew_trace_gaps(trace, clew_trace_start(trace), UINT64_MAX, &join.gap);
	r = jobs->seen ? join_all(&join) : -ENOMEM;
	map_done(&join.live);
	map_done(&join.known);
	map_done(&join.top);
	map_done(&join.entries);
	map_done(&join.waiting);
	vector_done(&join.stack);
	if (r < 0) {
		clew_jobs_free(jobs);
		return r;
	}
	close_dead(jobs);
	if (jobs->waits.count > 1)
		qsort(jobs->waits.data, jobs->waits.count, jobs->waits.item, by_task);
	*ret_jobs = jobs;
	return 0;
}

void clew_jobs_free(struct clew_jobs *jobs)
{
	if (!jobs)
		return;
	vector_done(&jobs->list);
	vector_done(&jobs->pieces);
	vector_done(&jobs->waits);
	arena_done(&jobs->arena);
	free(jobs->seen);
	free(jobs);
}

/* ---- questions ---- */

const struct clew_job_piece *clew_job_piece_of(const struct clew_jobs *jobs, uint32_t job,
					       uint64_t at)
{
	for (uint32_t i = clew_job_at(jobs, job)->first; i != CLEW_NO_NUMBER;
	     i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->start <= at && at < piece->end)
			return piece;
	}
	return NULL;
}

const struct clew_job_wait *clew_job_wait_of(const struct clew_jobs *jobs, uint32_t task,
					     uint64_t at)
{
	const struct clew_job_wait *waits = jobs->waits.data;
	size_t low = 0, high = jobs->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (waits[middle].task < task ||
		    (waits[middle].task == task && waits[middle].from <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low && waits[low - 1].task == task && at < waits[low - 1].to &&
			       waits[low - 1].to != CLEW_TIME_OPEN
		       ? &waits[low - 1]
		       : NULL;
}

const char *clew_job_name(const struct clew_jobs *jobs, const struct clew_job *span)
{
	const char *name = span->label;

	if (!name && span->code)
		name = clew_trace_code(jobs->trace, span->process, span->code);
	return name ?: span->kind->name;
}

const char *clew_job_closed_word(unsigned closed)
{
	static const char *const words[CLEW_JOB_CLOSED_COUNT] = {
		[CLEW_JOB_DONE] = "done", [CLEW_JOB_CANCELED] = "canceled",
		[CLEW_JOB_EXIT] = "exit", [CLEW_JOB_SUPERSEDED] = "superseded",
		[CLEW_JOB_LOST] = "lost", [CLEW_JOB_OPEN] = "open",
	};

	return closed < CLEW_JOB_CLOSED_COUNT ? words[closed] : "?";
}

const char *clew_job_piece_word(unsigned kind)
{
	static const char *const words[] = {[CLEW_JOB_QUEUED] = "queued",
					    [CLEW_JOB_RUNS] = "running",
					    [CLEW_JOB_SUSPENDED] = "suspended"};

	return kind <= CLEW_JOB_SUSPENDED ? words[kind] : "?";
}

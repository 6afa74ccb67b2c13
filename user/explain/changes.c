/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds what might shorten operations, from where their time went. */
#include "explain/changes.h"

#include <clew/kernel/calls.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/spent.h"
#include "trace/wait_key.h"

/* So many different changes are looked at: what comes later is small. */
#define MOST_CHANGES 256

struct gathering {
	const struct clew_trace *trace;
	struct vector *changes;
};

static const char *comm_of(const struct clew_trace *trace, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	return task ? task->comm : "";
}

static bool same_program(const struct clew_trace *trace, uint32_t a, uint32_t b)
{
	return a == b || !strcmp(comm_of(trace, a), comm_of(trace, b));
}

static bool same_lock(const struct clew_trace *trace, const struct clew_sleep *a,
		      const struct clew_sleep *b)
{
	struct clew_wait_key x = clew_wait_key(trace, a), y = clew_wait_key(trace, b);

	return !memcmp(&x, &y, sizeof(x));
}

static bool same_change(const struct clew_trace *trace, const struct clew_change *a,
			const struct clew_change *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == CLEW_CHANGE_DEVICE)
		return a->device == b->device;
	if (!same_program(trace, a->task, b->task))
		return false;
	return a->kind != CLEW_CHANGE_LOCK ||
	       (same_program(trace, a->waiter, b->waiter) && same_lock(trace, a->wait, b->wait));
}

static void add_call(struct clew_change *change, uint32_t call, uint64_t ns)
{
	for (size_t i = 0; i < CLEW_CHANGE_CALLS; i++) {
		if (change->over[i].ns && change->over[i].call != call)
			continue;
		change->over[i].call = call;
		change->over[i].ns += ns;
		return;
	}
}

/* `call`: what the holder of a lock was in; CLEW_NO_CALL: none, or it is not a lock. */
static int add(const struct gathering *gathering, const struct clew_change *change, uint32_t call)
{
	struct vector *changes = gathering->changes;
	struct clew_change *all = changes->data;
	size_t place = 0;

	while (place < changes->count && !same_change(gathering->trace, &all[place], change))
		place++;
	if (place == changes->count) {
		if (changes->count == MOST_CHANGES)
			return 0;
		if (vector_reserve(changes, changes->count + 1) < 0)
			return -ENOMEM;
		all = changes->data;
		all[changes->count++] = *change;
		all[place].ns = 0;
	}
	all[place].ns += change->ns;
	if (call != CLEW_NO_CALL)
		add_call(&all[place], call, change->ns);
	return 0;
}

/* The change that a part of an operation's time speaks for, but for locks. False: none. */
static bool change_of(const struct clew_segment *segment, struct clew_change *ret_change)
{
	const struct clew_sleep *sleep = segment->sleep;
	struct clew_change *it = ret_change;

	*it = (struct clew_change){
		.ns = clew_segment_length(segment), .task = segment->task, .wait = sleep};
	switch (segment->kind) {
	case CLEW_SEGMENT_RUNQUEUE:
		it->kind = CLEW_CHANGE_CPU;
		return true;
	case CLEW_SEGMENT_RUNNING:
		it->kind = CLEW_CHANGE_RUN;
		return true;
	case CLEW_SEGMENT_DEVICE:
	case CLEW_SEGMENT_QUEUED:
		it->kind = CLEW_CHANGE_DEVICE;
		it->device = segment->link ? segment->link->device : 0;
		return segment->link;
	case CLEW_WAIT_SLEEP:
		it->kind = CLEW_CHANGE_SLEEP;
		return sleep;
	case CLEW_WAIT_SOCKET:
		it->kind = CLEW_CHANGE_ANSWER;
		return sleep && sleep->from == CLEW_NO_TASK && sleep->end != CLEW_TIME_OPEN;
	case CLEW_WAIT_THROTTLE:
		it->kind = CLEW_CHANGE_QUOTA;
		return sleep && clew_is_quota(sleep);
	default:
		return false;
	}
}

/* The lock that a task on the way waited for in a part of the time; NULL: it waited for none. */
static const struct clew_sleep *lock_wait(const struct clew_trace *trace, uint32_t task,
					  uint64_t at)
{
	struct clew_piece piece;

	if (!clew_trace_piece(trace, task, at, false, &piece) || piece.kind != CLEW_PIECE_SLEEP)
		return NULL;
	return piece.sleep->holder_count ? piece.sleep : NULL;
}

/* Returns the task that had a lock at a moment; CLEW_NO_TASK: it is not known. */
static uint32_t holder_at(const struct clew_sleep *sleep, uint64_t at)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++)
		if (sleep->holders[i].from <= at && at < sleep->holders[i].to)
			return sleep->holders[i].task;
	return CLEW_NO_TASK;
}

/* Adds the locks that are on the way to a part of the time, each once. */
static int add_locks(const struct gathering *gathering, const struct clew_segment *segment)
{
	const struct clew_sleep *last = NULL;
	int r = 0;

	for (uint32_t i = 0; i < segment->chain_length && r == 0; i++) {
		const struct clew_sleep *sleep =
			lock_wait(gathering->trace, segment->chain[i], segment->start);
		uint32_t holder = sleep ? holder_at(sleep, segment->start) : CLEW_NO_TASK;

		if (holder == CLEW_NO_TASK || (last && same_lock(gathering->trace, last, sleep)))
			continue;
		last = sleep;
		r = add(gathering,
			&(struct clew_change){.ns = clew_segment_length(segment),
					      .kind = CLEW_CHANGE_LOCK,
					      .task = holder,
					      .waiter = segment->chain[i],
					      .wait = sleep},
			segment->sleep && segment->task == holder ? segment->sleep->call
								  : CLEW_NO_CALL);
	}
	return r;
}

static int add_operation(const struct gathering *gathering, const struct clew_relations *relations,
			 const struct clew_operation *operation)
{
	struct clew_why why = {};
	int r = clew_why_operation(gathering->trace, relations, operation, &why);

	for (size_t i = 0; i < why.segment_count && r >= 0; i++) {
		struct clew_change change;

		if (change_of(&why.segments[i], &change))
			r = add(gathering, &change, CLEW_NO_CALL);
		if (r >= 0)
			r = add_locks(gathering, &why.segments[i]);
	}
	clew_why_done(&why);
	return r < 0 ? r : 0;
}

static int most_first(const void *left, const void *right)
{
	const struct clew_change *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static void sort_calls(struct clew_change *change)
{
	for (size_t i = 1; i < CLEW_CHANGE_CALLS; i++)
		for (size_t k = i; k && change->over[k - 1].ns < change->over[k].ns; k--) {
			__typeof__(change->over[0]) it = change->over[k];

			change->over[k] = change->over[k - 1];
			change->over[k - 1] = it;
		}
}

int clew_changes_find(const struct clew_trace *trace, const struct clew_relations *relations,
		      const struct clew_kind_operation *operations, size_t count,
		      struct vector *ret_changes)
{
	const struct gathering gathering = {.trace = trace, .changes = ret_changes};
	struct clew_change *all;
	int r = 0;

	*ret_changes = (struct vector){.item = sizeof(struct clew_change)};
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_operation(&gathering, relations, &operations[i].operation);
	all = ret_changes->data;
	for (size_t i = 0; i < ret_changes->count; i++)
		sort_calls(&all[i]);
	if (ret_changes->count)
		qsort(all, ret_changes->count, sizeof(*all), most_first);
	return r;
}

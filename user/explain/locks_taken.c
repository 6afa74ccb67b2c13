/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of the recorded holds of each lock. */
#include "explain/locks_taken.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "explain/locks_internal.h"
#include "trace/frames.h"
#include "trace/name.h"
#include "trace/taken.h"

struct finder {
	const struct clew_trace *trace;
	const struct clew_chosen *chosen;
	uint64_t from, to;
	struct map takers; /* (task, lock) -> index in the lock's */
	struct clew_taken_locks *taken;
};

static struct clew_taker_sum *taker_of(struct finder *finder, struct clew_taken_lock *lock,
				       uint32_t task)
{
	uint32_t number = (uint32_t)(lock - finder->taken->locks);
	const uint64_t *known = map_get(&finder->takers, task, number);

	if (known)
		return &lock->takers[*known];
	if (locks_reserve((void **)&lock->takers, lock->taker_count, sizeof(*lock->takers)) < 0 ||
	    map_set(&finder->takers, task, number, lock->taker_count) < 0)
		return NULL;
	lock->takers[lock->taker_count] = (struct clew_taker_sum){.task = task};
	return &lock->takers[lock->taker_count++];
}

static int add_hold(struct finder *finder, struct clew_taken_lock *lock,
		    const struct clew_taken *hold)
{
	uint64_t from = hold->from > finder->from ? hold->from : finder->from,
		 to = hold->to < finder->to ? hold->to : finder->to, ns = to > from ? to - from : 0;
	struct clew_taker_sum *taker = taker_of(finder, lock, hold->task);

	if (!taker)
		return -ENOMEM;
	taker->takes++;
	taker->held_ns += ns;
	taker->max_ns = ns > taker->max_ns ? ns : taker->max_ns;
	lock->takes++;
	lock->held |= hold->to >= finder->to;
	lock->held_ns += ns;
	if (lock->takes == 1 || ns > lock->longest.to - lock->longest.from)
		lock->longest = (struct clew_lock_hold){.from = from,
							.to = to,
							.task = hold->task,
							.evidence = CLEW_EVIDENCE_EXACT};
	return 0;
}

/* Takes a hold that lies in the interval, at least in part. */
static int take_hold(struct finder *finder, struct clew_taken_lock *lock,
		     const struct clew_taken *hold)
{
	/* A hold of no length at an edge of the interval lies outside of it. */
	if (!clew_is_chosen(finder->chosen, finder->trace, hold->task) ||
	    hold->from >= finder->to || hold->to < finder->from)
		return 0;
	if (hold->refused) {
		lock->refused++;
		return 0;
	}
	lock->shared += hold->shared && hold->from >= finder->from;
	return add_hold(finder, lock, hold);
}

static int by_held(const void *a, const void *b)
{
	const struct clew_taker_sum *left = a, *right = b;

	if (left->held_ns != right->held_ns)
		return left->held_ns > right->held_ns ? -1 : 1;
	return left->task < right->task ? -1 : left->task > right->task;
}

static size_t waited_as(const struct finder *finder, const struct clew_locks *locks,
			const struct clew_taken_lock *lock)
{
	uint64_t size = lock->rwlock ? CLEW_RWLOCK_SIZE : 1;

	for (size_t i = 0; i < locks->count; i++) {
		const struct clew_lock_wait *wait = &locks->locks[i].waits[0];

		if (wait->sleep && wait->sleep->object.kind == CLEW_OBJECT_FUTEX &&
		    wait->sleep->object.number - lock->object.number < size &&
		    clew_trace_process(finder->trace, wait->task) == lock->process)
			return i;
	}
	return SIZE_MAX;
}

/* first..last are all holds of one lock. */
static int make_lock(struct finder *finder, const struct clew_taken *first,
		     const struct clew_taken *last, const struct clew_locks *locks)
{
	struct clew_taken_locks *taken = finder->taken;
	struct clew_taken_lock *lock;
	int r = locks_reserve((void **)&taken->locks, taken->count, sizeof(*taken->locks));

	if (r < 0)
		return r;
	lock = &taken->locks[taken->count++];
	*lock = (struct clew_taken_lock){
		.object = {.kind = CLEW_OBJECT_FUTEX, .number = first->address},
		.process = first->process,
		.rwlock = first->rwlock,
	};
	for (const struct clew_taken *hold = first; hold < last && r == 0; hold++) {
		if (!lock->object.memory)
			lock->object.memory =
				clew_trace_memory_at(finder->trace, hold->address, hold->task);
		r = take_hold(finder, lock, hold);
	}
	if (r < 0)
		return r;
	if (!lock->takes && !lock->refused) {
		taken->count--;
		return 0;
	}
	lock->waited = waited_as(finder, locks, lock);
	if (lock->taker_count)
		qsort(lock->takers, lock->taker_count, sizeof(*lock->takers), by_held);
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const struct clew_taken_lock *left = a, *right = b;

	if (left->held_ns != right->held_ns)
		return left->held_ns > right->held_ns ? -1 : 1;
	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return left->object.number < right->object.number ? -1 : 1;
}

static int make_locks(struct finder *finder, const struct clew_locks *locks)
{
	size_t count;
	const struct clew_taken *all = clew_trace_taken(finder->trace, &count);
	int r = 0;

	for (size_t first = 0, last; first < count && r == 0; first = last) {
		for (last = first + 1; last < count && clew_taken_same(&all[last], &all[first]);)
			last++;
		r = make_lock(finder, all + first, all + last, locks);
	}
	if (finder->taken->count)
		qsort(finder->taken->locks, finder->taken->count, sizeof(*finder->taken->locks),
		      by_length);
	return r;
}

/* Finds the taken lock of each that was waited for. */
static int index_waited(struct clew_taken_locks *taken, const struct clew_locks *locks)
{
	taken->by_waited = malloc((locks->count + 1) * sizeof(*taken->by_waited));
	if (!taken->by_waited)
		return -ENOMEM;
	taken->waited_count = locks->count;
	for (size_t i = 0; i < locks->count; i++)
		taken->by_waited[i] = SIZE_MAX;
	for (size_t i = taken->count; i-- > 0;)
		if (taken->locks[i].waited != SIZE_MAX)
			taken->by_waited[taken->locks[i].waited] = i;
	return 0;
}

int clew_taken_make(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, const struct clew_locks *locks, struct clew_taken_locks *ret_taken)
{
	uint64_t until = clew_trace_taken_until(trace);
	uint32_t count = clew_trace_function_count(trace);
	struct finder finder = {.trace = trace,
				.chosen = chosen,
				.from = from,
				.to = until < to ? until : to,
				.taken = ret_taken};
	int r;

	*ret_taken = (struct clew_taken_locks){.until = until};
	for (uint32_t i = 0; i < count && !ret_taken->recorded; i++)
		ret_taken->recorded = clew_trace_lock_function(trace, i) != NULL;
	r = make_locks(&finder, locks);
	if (r == 0)
		r = index_waited(ret_taken, locks);
	map_done(&finder.takers);
	if (r < 0)
		clew_taken_done(ret_taken);
	return r;
}

void clew_taken_done(struct clew_taken_locks *taken)
{
	for (size_t i = 0; i < taken->count; i++) {
		free(taken->locks[i].takers);
		free(taken->locks[i].during.doing);
	}
	free(taken->locks);
	free(taken->by_waited);
	*taken = (struct clew_taken_locks){};
}

int clew_taken_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		       struct clew_taken_lock *lock)
{
	struct clew_contended whole = {.holds = &lock->longest,
				       .hold_count = 1,
				       .holders = &lock->during,
				       .holder_count = 1};

	lock->during.task = lock->longest.task;
	return lock->longest.to > lock->longest.from ? clew_lock_explain(trace, relations, &whole)
						     : 0;
}

const struct clew_taken_lock *clew_taken_of(const struct clew_taken_locks *taken, size_t number)
{
	size_t index = number < taken->waited_count ? taken->by_waited[number] : SIZE_MAX;

	return index == SIZE_MAX ? NULL : &taken->locks[index];
}

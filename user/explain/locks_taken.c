/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs what took and released locks.
 *
 * The steps of all tasks are sorted by lock and time, and each lock is gone through once. Whoever
 * had a lock before its first recorded step is not known, so a release without a take counts for
 * nothing.
 */
#include "explain/locks_taken.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"
#include "explain/locks_internal.h"
#include "symbol/code/lock_function.h"
#include "trace/frames.h"
#include "trace/name.h"

#define RWLOCK_SIZE 16 /* bytes of an rwlock in which its futexes are */

enum step { STEP_RELEASE, STEP_TAKE, STEP_REFUSED };

struct event {
	uint64_t address;
	uint64_t time;
	uint32_t process;
	uint32_t task;
	uint8_t step;
	bool rwlock;
	bool shared;
	bool chosen;
};

/* One that has the lock. */
struct having {
	uint32_t task;
	uint32_t depth;
	uint64_t since;
	bool chosen;
};

struct finder {
	const struct clew_trace *trace;
	uint64_t from, to;
	const struct clew_lock_function **functions; /* by number, NULL: no function of locks */
	struct vector events;			     /* struct event */
	struct vector having;			     /* struct having, of one lock */
	struct map takers;			     /* (task, lock) -> index in the lock's */
	struct clew_taken_locks *taken;
};

/* ---- steps ---- */

static int add(struct finder *finder, const struct event *event)
{
	if (vector_reserve(&finder->events, finder->events.count + 1) < 0)
		return -ENOMEM;
	((struct event *)finder->events.data)[finder->events.count++] = *event;
	return 0;
}

static uint64_t number_at(const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

/* True if a function that takes a lock has it when it returns. */
static bool has_taken(const struct clew_frame_detail *detail)
{
	int result;

	if (detail->returned_size < sizeof(uint64_t))
		return false;
	result = (int)number_at(detail->values + detail->values_size);
	return !result || result == EOWNERDEAD;
}

static int add_frame(struct finder *finder, struct event event,
		     const struct clew_trace_frame *frame)
{
	const struct clew_lock_function *function =
		frame->function < clew_trace_function_count(finder->trace)
			? finder->functions[frame->function]
			: NULL;
	const struct clew_frame_detail *detail =
		function ? clew_trace_frame_detail(finder->trace, frame) : NULL;
	bool returned = frame->closed == CLEW_FRAME_RETURNED;
	int r = 0;

	if (!detail || detail->values_size < sizeof(event.address) || detail->unread & 1)
		return 0;
	event.address = number_at(detail->values);
	event.rwlock = function->rwlock;
	event.shared = function->shared;
	if (function->effect != CLEW_LOCK_TAKE) {
		event.time = frame->start;
		event.step = STEP_RELEASE;
		r = add(finder, &event);
	}
	if (function->effect == CLEW_LOCK_RELEASE || !returned || r < 0)
		return r;
	event.time = frame->end;
	event.step =
		function->effect == CLEW_LOCK_WAIT || has_taken(detail) ? STEP_TAKE : STEP_REFUSED;
	return add(finder, &event);
}

static int add_tasks(struct finder *finder, const struct clew_chosen *chosen)
{
	int r = 0;

	for (size_t i = 0; i < clew_trace_task_count(finder->trace) && r == 0; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(finder->trace, i);
		size_t count;
		const struct clew_trace_frame *frames =
			clew_trace_frames(finder->trace, task->serial, &count);
		const struct event event = {
			.task = task->serial,
			.process = task->process,
			.chosen = clew_is_chosen(chosen, finder->trace, task->serial),
		};

		for (size_t k = 0; k < count && r == 0 && frames[k].start < finder->to; k++)
			r = add_frame(finder, event, &frames[k]);
	}
	return r;
}

static bool is_same(const struct event *a, const struct event *b)
{
	return a->process == b->process && a->address == b->address;
}

static int by_lock_and_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

/* ---- holds ---- */

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
		    const struct having *having, uint64_t until)
{
	uint64_t from = having->since > finder->from ? having->since : finder->from,
		 to = until < finder->to ? until : finder->to, ns = to > from ? to - from : 0;
	struct clew_taker_sum *taker;

	/* A hold of no length at an edge of the interval lies outside of it. */
	if (!having->chosen || having->since >= finder->to || until < finder->from)
		return 0;
	taker = taker_of(finder, lock, having->task);
	if (!taker)
		return -ENOMEM;
	taker->takes++;
	taker->held_ns += ns;
	taker->max_ns = ns > taker->max_ns ? ns : taker->max_ns;
	lock->takes++;
	lock->held_ns += ns;
	if (lock->takes == 1 || ns > lock->longest.to - lock->longest.from)
		lock->longest = (struct clew_lock_hold){.from = from,
							.to = to,
							.task = having->task,
							.evidence = CLEW_EVIDENCE_EXACT};
	return 0;
}

/* The entry of a task, or of whoever has it where the lock is one's alone; SIZE_MAX: none. */
static size_t find_having(const struct finder *finder, const struct event *event)
{
	const struct having *all = finder->having.data;

	for (size_t i = 0; i < finder->having.count; i++)
		if (all[i].task == event->task)
			return i;
	return finder->having.count == 1 && !event->rwlock ? 0 : SIZE_MAX;
}

static int end_hold(struct finder *finder, struct clew_taken_lock *lock, size_t index,
		    uint64_t time)
{
	struct having *all = finder->having.data;
	int r = add_hold(finder, lock, &all[index], time);

	all[index] = all[--finder->having.count];
	return r;
}

static int begin_hold(struct finder *finder, const struct event *event)
{
	if (vector_reserve(&finder->having, finder->having.count + 1) < 0)
		return -ENOMEM;
	((struct having *)finder->having.data)[finder->having.count++] = (struct having){
		.task = event->task, .depth = 1, .since = event->time, .chosen = event->chosen};
	return 0;
}

static int take_step(struct finder *finder, struct clew_taken_lock *lock, const struct event *event)
{
	size_t index = find_having(finder, event);
	struct having *having =
		index == SIZE_MAX ? NULL : (struct having *)finder->having.data + index;
	int r = 0;

	if (event->step == STEP_REFUSED) {
		lock->refused += event->chosen && event->time >= finder->from;
	} else if (event->step == STEP_RELEASE) {
		if (having && --having->depth == 0)
			r = end_hold(finder, lock, index, event->time);
	} else if (having && having->task == event->task) {
		having->depth++;
	} else {
		/* The release by the one before was not recorded, and came before this. */
		if (having)
			r = end_hold(finder, lock, index, having->since);
		lock->shared += event->shared && event->chosen && event->time >= finder->from;
		if (r == 0)
			r = begin_hold(finder, event);
	}
	return r;
}

/* ---- locks ---- */

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
	uint64_t size = lock->rwlock ? RWLOCK_SIZE : 1;

	for (size_t i = 0; i < locks->count; i++) {
		const struct clew_lock_wait *wait = &locks->locks[i].waits[0];

		if (wait->sleep && wait->sleep->object.kind == CLEW_OBJECT_FUTEX &&
		    wait->sleep->object.number - lock->object.number < size &&
		    clew_trace_process(finder->trace, wait->task) == lock->process)
			return i;
	}
	return SIZE_MAX;
}

/* Events first..last are all steps with one lock. */
static int make_lock(struct finder *finder, const struct event *first, const struct event *last,
		     const struct clew_locks *locks)
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
	for (const struct event *event = first; event < last && r == 0; event++) {
		if (!lock->object.memory)
			lock->object.memory =
				clew_trace_memory_at(finder->trace, event->address, event->task);
		r = take_step(finder, lock, event);
	}
	for (; finder->having.count && r == 0;) {
		lock->held |= ((struct having *)finder->having.data)->chosen;
		r = end_hold(finder, lock, 0, finder->to);
	}
	finder->having.count = 0;
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
	struct event *all = finder->events.data;
	size_t count = finder->events.count;
	int r = 0;

	if (count)
		qsort(all, count, sizeof(*all), by_lock_and_time);
	for (size_t first = 0, last; first < count && r == 0; first = last) {
		for (last = first + 1; last < count && is_same(&all[last], &all[first]);)
			last++;
		r = make_lock(finder, all + first, all + last, locks);
	}
	if (finder->taken->count)
		qsort(finder->taken->locks, finder->taken->count, sizeof(*finder->taken->locks),
		      by_length);
	return r;
}

/* Where a take or a release may have gone unseen, no hold is known. */
static void find_end(struct finder *finder, uint32_t functions)
{
	size_t count;
	const struct clew_trace_dropped *dropped = clew_trace_dropped(finder->trace, &count);

	for (size_t i = 0; i < count; i++)
		if (dropped[i].function < functions && finder->functions[dropped[i].function] &&
		    dropped[i].time < finder->taken->until)
			finder->taken->until = dropped[i].time;
	if (finder->taken->until < finder->to)
		finder->to = finder->taken->until;
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
	uint32_t count = clew_trace_function_count(trace);
	struct finder finder = {.trace = trace,
				.from = from,
				.to = to,
				.functions = calloc(count + 1u, sizeof(*finder.functions)),
				.events.item = sizeof(struct event),
				.having.item = sizeof(struct having),
				.taken = ret_taken};
	int r = finder.functions ? 0 : -ENOMEM;

	*ret_taken = (struct clew_taken_locks){.until = CLEW_TIME_OPEN};
	for (uint32_t i = 0; i < count && r == 0; i++) {
		const struct clew_trace_function *function = clew_trace_function(trace, i);

		if (function && strstr(function->arguments, CLEW_LOCK_VALUE))
			finder.functions[i] = clew_lock_function_named(function->name);
		ret_taken->recorded |= finder.functions[i] != NULL;
	}
	if (r == 0)
		find_end(&finder, count);
	if (r == 0 && ret_taken->recorded)
		r = add_tasks(&finder, chosen);
	if (r == 0)
		r = make_locks(&finder, locks);
	if (r == 0)
		r = index_waited(ret_taken, locks);
	free(finder.functions);
	vector_done(&finder.events);
	vector_done(&finder.having);
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rests: the waits between a thread's operations that no other thread is asked for. A thread
 * rests where it sleeps by its own choice again and again in one call, with other waits between.
 * Sleeps that follow each other rest only if nothing comes behind them or before them: a series
 * that leads on to something else was a wait for that, as in a retry loop. Where a thread has no
 * other waits between operations, series that come again and again rest: it works at intervals,
 * and what it leads on to is what now and then its work waits for. Long series need not come so
 * often. A wait with a timeout that only ever expires is such a sleep, too.
 *
 * A thread from before the recording that waits for nobody's question may wait at a condition
 * variable. Nothing tells its work from what others do for it; it rests where it was signalled at
 * at one word at least three times, or where the capture shows no end or no begin of the wait.
 *
 * Some runtimes' threads wait for work in functions of known names, each at a word of its own.
 * Waits for less than a stack is worth are known by the word.
 */
#include "trace/idle.h"
#include "trace/internal.h"
#include "trace/stacks.h"
#include "trace/tried.h"
#include <errno.h>
#include <string.h>

#define LEAST_RESTS 3
#define LONG_SERIES 64 /* sleeps */
#define LONG_RESTS  2  /* of such a length are as good as LEAST_RESTS others */

/* The common place of waits of one kind: the call, and the word that is waited at. Stacks are no
 * help, as short waits have none, and an interpreter's differ from one time to the next. */
struct place {
	uint64_t word;
	uint32_t call;
};

static struct place place_of(const struct clew_sleep *sleep)
{
	return (struct place){.word = sleep->kind == CLEW_WAIT_FUTEX ? sleep->object.number >> 3
								     : 0,
			      .call = sleep->call};
}

struct resting {
	struct clew_trace *trace;
	const struct trace_task *task;
	struct vector sleeps;	/* uint32_t: indexes of the task's sleeps, in order of time */
	struct map places;	/* place -> how many own sleeps are there */
	struct map series;	/* place -> how many series of them */
	struct map long_series; /* the same of long ones */
	struct map parked;	/* place -> 1: the task waits for work there */
	struct map stacks;	/* stack -> 1 if work is waited for in it, 0 if not */
};

static const struct clew_sleep *sleep_at(const struct resting *resting, size_t i)
{
	return trace_sleep_at(resting->trace, ((const uint32_t *)resting->sleeps.data)[i]);
}

/* True if a thread waits for nothing but its own timer: others might have ended a wait with a
 * timeout, but none did. */
static bool is_own(const struct resting *resting, const struct clew_sleep *sleep)
{
	const struct clew_trace *trace = resting->trace;

	if (clew_trace_in_exchange(trace, sleep) || clew_trace_tried(trace, sleep))
		return false;
	return sleep->kind == CLEW_WAIT_SLEEP ||
	       (sleep->kind == CLEW_WAIT_FUTEX && !sleep->holder_count && !sleep->blind &&
		clew_is_own_timeout(trace, sleep) && !clew_trace_retried(trace, sleep));
}

/* A wait at a word that nobody is known to hold. */
static bool is_signalled(const struct resting *resting, const struct clew_sleep *sleep)
{
	return sleep->kind == CLEW_WAIT_FUTEX && !sleep->holder_count &&
	       sleep->edge_type != CLEW_EDGE_UNLOCK &&
	       !clew_trace_in_exchange(resting->trace, sleep) &&
	       !clew_trace_retried(resting->trace, sleep);
}

static int mark(const struct resting *resting, size_t i, uint64_t as)
{
	return dense_set(&resting->trace->resting, ((const uint32_t *)resting->sleeps.data)[i], as);
}

static uint64_t times_at(const struct map *map, struct place place)
{
	const uint64_t *times = map_get(map, place.word, place.call);

	return times ? *times : 0;
}

static int count(struct map *map, struct place place)
{
	uint64_t *times = map_get(map, place.word, place.call);

	if (times)
		++*times;
	return times ? 0 : map_set(map, place.word, place.call, 1);
}

/* Marks the sleeps of a series that are rests. */
static int take_series(struct resting *resting, size_t first, size_t length)
{
	const struct clew_sleep *from = sleep_at(resting, first),
				*to = sleep_at(resting, first + length - 1);
	struct place place = place_of(from);
	bool begins = first > 0 || resting->task->task.birth || resting->task->executed;
	bool leads_on = length >= LEAST_RESTS && begins && first + length < resting->sleeps.count &&
			!(from->open & CLEW_OPEN_START) && to->end != CLEW_TIME_OPEN;
	int r = 0;

	if ((leads_on && times_at(&resting->series, place) < LEAST_RESTS &&
	     times_at(&resting->long_series, place) < LONG_RESTS) ||
	    times_at(&resting->places, place) < LEAST_RESTS)
		return 0;
	for (size_t i = first; i < first + length && r == 0; i++)
		r = mark(resting, i, TRACE_RESTS);
	return r;
}

static int count_series(struct resting *resting, size_t first, size_t length)
{
	const struct place place = place_of(sleep_at(resting, first));
	int r = count(&resting->series, place);

	return r == 0 && length >= LONG_SERIES ? count(&resting->long_series, place) : r;
}

static int gather(struct resting *resting)
{
	int r = 0;

	resting->sleeps.count = 0;
	for (uint32_t i = 0; i < resting->task->pieces.count && r == 0; i++) {
		uint32_t piece = resting->task->pieces.data[i];

		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		r = vector_reserve(&resting->sleeps, resting->sleeps.count + 1);
		if (r == 0)
			((uint32_t *)resting->sleeps.data)[resting->sleeps.count++] =
				piece & PIECE_INDEX;
	}
	return r;
}

/* Counts the waits at each place of which `is` is true. */
static int count_places(struct resting *resting,
			bool (*is)(const struct resting *, const struct clew_sleep *))
{
	int r = 0;

	map_done(&resting->places);
	for (size_t i = 0; i < resting->sleeps.count && r == 0; i++)
		if (is(resting, sleep_at(resting, i)))
			r = count(&resting->places, place_of(sleep_at(resting, i)));
	return r;
}

static bool same_place(const struct resting *resting, size_t i, size_t k)
{
	struct place a = place_of(sleep_at(resting, i)), b = place_of(sleep_at(resting, k));

	return a.word == b.word && a.call == b.call;
}

/* True if a task waits for questions, or rests otherwise. */
static bool has_rest(const struct resting *resting)
{
	for (size_t i = 0; i < resting->sleeps.count; i++) {
		const struct clew_sleep *sleep = sleep_at(resting, i);

		if (clew_trace_rests(resting->trace, sleep) ||
		    operation_is_idle(sleep->kind, sleep->call,
				      clew_trace_in_exchange(resting->trace, sleep), 0))
			return true;
	}
	return false;
}

/* Calls `take` with each series of own sleeps at one place. */
static int each_series(struct resting *resting,
		       int (*take)(struct resting *, size_t first, size_t length))
{
	int r = 0;

	for (size_t i = 0, n; i < resting->sleeps.count && r == 0; i += n) {
		n = 1;
		if (!is_own(resting, sleep_at(resting, i)))
			continue;
		while (i + n < resting->sleeps.count && is_own(resting, sleep_at(resting, i + n)) &&
		       same_place(resting, i, i + n))
			n++;
		r = take(resting, i, n);
	}
	return r;
}

static int find_sleeps(struct resting *resting)
{
	int r = count_places(resting, is_own);

	map_done(&resting->series);
	map_done(&resting->long_series);
	if (r == 0 && !has_rest(resting))
		r = each_series(resting, count_series);
	if (r == 0)
		r = each_series(resting, take_series);
	return r;
}

static int find_signalled(struct resting *resting)
{
	const struct trace_task *task = resting->task;
	int r;

	if (task->task.birth || task->executed || has_rest(resting))
		return 0;
	r = count_places(resting, is_signalled);
	for (size_t i = 0; i < resting->sleeps.count && r == 0; i++) {
		const struct clew_sleep *sleep = sleep_at(resting, i);

		if (is_signalled(resting, sleep) &&
		    (sleep->open || times_at(&resting->places, place_of(sleep)) >= LEAST_RESTS))
			r = mark(resting, i, TRACE_RESTS);
	}
	return r;
}

/* ---- waits for work in functions of runtimes ---- */

/* Go: a thread without a goroutine to run, and the one that looks after the others. */
static const char *const idle_functions[] = {"runtime.stopm", "runtime.findRunnable",
					     "runtime.sysmon", "runtime.templateThread"};

static bool is_idle_function(const char *name)
{
	for (size_t i = 0; i < sizeof(idle_functions) / sizeof(idle_functions[0]); i++)
		if (!strcmp(name, idle_functions[i]))
			return true;
	return false;
}

/* True if one of a stack's functions waits for work. *ret_r: 0 or -ENOMEM. */
static bool leads_through_idle(struct resting *resting, const struct clew_trace_stack *stack,
			       int *ret_r)
{
	const uint64_t *known = map_get(&resting->stacks, (uintptr_t)stack, 0);
	bool idle = false;

	if (known)
		return *known;
	for (uint32_t i = 0; i < stack->count && !idle; i++) {
		struct clew_stack_place place;

		clew_trace_stack_place(resting->trace, stack->frames[i], false, &place);
		idle = place.name && is_idle_function(place.name);
	}
	*ret_r = map_set(&resting->stacks, (uintptr_t)stack, 0, idle);
	return idle;
}

/* True if the task waits at a word, where a mutex's has a holder, or sleeps. */
static bool may_be_parked(const struct clew_sleep *sleep)
{
	return (sleep->kind == CLEW_WAIT_FUTEX && !sleep->holder_count) ||
	       sleep->kind == CLEW_WAIT_SLEEP;
}

static int find_parked(struct resting *resting)
{
	int r = 0;

	map_done(&resting->parked);
	for (size_t i = 0; i < resting->sleeps.count && r == 0; i++) {
		const struct clew_sleep *sleep = sleep_at(resting, i);
		struct clew_sleep_stacks stacks;

		if (may_be_parked(sleep) && !times_at(&resting->parked, place_of(sleep)) &&
		    clew_trace_sleep_stacks(resting->trace, sleep, &stacks) && stacks.user &&
		    leads_through_idle(resting, stacks.user, &r) && r == 0)
			r = count(&resting->parked, place_of(sleep));
	}
	for (size_t i = 0; i < resting->sleeps.count && r == 0 && resting->parked.count; i++)
		if (may_be_parked(sleep_at(resting, i)) &&
		    times_at(&resting->parked, place_of(sleep_at(resting, i))))
			r = mark(resting, i, TRACE_PARKED);
	return r;
}

int trace_find_rests(struct clew_trace *trace)
{
	struct resting resting = {.trace = trace, .sleeps = {.item = sizeof(uint32_t)}};
	int r = 0;

	for (size_t i = 0; i < trace->tasks.count && r == 0; i++) {
		resting.task = trace_task_at(trace, i);
		r = gather(&resting);
		if (r == 0 && trace->waited.count)
			r = find_parked(&resting);
		if (r == 0)
			r = find_sleeps(&resting);
		if (r == 0)
			r = find_signalled(&resting);
	}
	vector_done(&resting.sleeps);
	map_done(&resting.places);
	map_done(&resting.series);
	map_done(&resting.long_series);
	map_done(&resting.parked);
	map_done(&resting.stacks);
	return r;
}

/* TRACE_RESTS, TRACE_PARKED, TRACE_ASKED or 0. */
static uint64_t rest_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return trace->resting.of.count
		       ? dense_get(&trace->resting, (size_t)(sleep - trace_sleep_at(trace, 0)))
		       : 0;
}

bool clew_trace_rests(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t rest = rest_of(trace, sleep);

	return rest == TRACE_RESTS || rest == TRACE_PARKED;
}

bool clew_trace_parks(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return rest_of(trace, sleep) == TRACE_PARKED;
}

bool clew_trace_was_asked(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return rest_of(trace, sleep) == TRACE_ASKED;
}

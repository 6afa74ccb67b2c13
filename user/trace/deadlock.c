/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deadlocks at a moment: first all tasks that might be stuck are taken to be so. Then each is freed
 * that a task which is not stuck may wake, until none is left to free. From those that remain a way
 * goes on to the one that has to act, until it meets itself.
 *
 * Moments are the passes that the recorder made. Whoever is in a deadlock at one of them stays
 * there until a signal comes. So of those before the last one, only what a signal ended first is
 * kept: all others were none.
 */
#include "trace/deadlock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/deadlock_needs.h"
#include "trace/internal.h"

struct search {
	struct clew_trace *trace;
	const struct stuck_moment *moment;
	size_t tasks;
	struct stuck_needs needs;
	bool *stuck;
	uint32_t *free;	  /* by the place of a process: how many of its threads are not stuck */
	uint32_t *number; /* as trace->stuck, of this moment */
	bool *seen;
};

const char *clew_stuck_role_name(enum clew_stuck_role role)
{
	static const char *const names[] = {
		[CLEW_STUCK_HOLDER] = "holder",
		[CLEW_STUCK_THREAD] = "thread",
		[CLEW_STUCK_JOINED] = "joined thread",
		[CLEW_STUCK_CHILD] = "child",
		[CLEW_STUCK_READER] = "reader",
		[CLEW_STUCK_WRITER] = "writer",
		[CLEW_STUCK_PEER] = "peer",
	};

	return names[role];
}

/* ---- who is stuck ---- */

static bool is_held(const struct search *search, const struct stuck_need *need)
{
	size_t place = stuck_place(search->trace, need->serial);

	if (place == SIZE_MAX)
		return false;
	return need->process ? !search->free[place] : search->stuck[place];
}

static bool all_held(const struct search *search, size_t place)
{
	const struct stuck_wait *wait = &search->needs.waits[place];

	for (size_t i = 0; i < wait->count; i++)
		if (!is_held(search, &search->needs.needs[wait->first + i]))
			return false;
	return true;
}

static size_t process_place(const struct search *search, size_t place)
{
	const struct clew_trace_task *task = clew_trace_task_at(search->trace, place);
	size_t process = stuck_place(search->trace, task->process);

	return process == SIZE_MAX ? place : process;
}

static void free_others(struct search *search)
{
	bool changed = true;

	for (size_t i = 0; i < search->tasks; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(search->trace, i);

		search->stuck[i] = search->needs.waits[i].count;
		if (!search->stuck[i] && stuck_lives(search->moment, task))
			search->free[process_place(search, i)]++;
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < search->tasks; i++) {
			if (!search->stuck[i] || all_held(search, i))
				continue;
			search->stuck[i] = false;
			search->free[process_place(search, i)]++;
			changed = true;
		}
	}
}

/* ---- circles ---- */

static bool same_word(const struct clew_sleep *a, const struct clew_sleep *b)
{
	return a->object.kind == CLEW_OBJECT_FUTEX && b->object.kind == CLEW_OBJECT_FUTEX &&
	       a->object.number == b->object.number;
}

static bool is_beyond(unsigned role)
{
	return role != CLEW_STUCK_THREAD && role != CLEW_STUCK_JOINED;
}

/* True if a task waits for something else than one of its process's own threads. */
static bool waits_beyond(const struct search *search, size_t place)
{
	const struct stuck_wait *wait = &search->needs.waits[place];

	return is_beyond(search->needs.needs[wait->first].role);
}

/* The thread of a process that has to act for `sleep`, with how many others might. */
static void choose_thread(const struct search *search, const struct clew_sleep *sleep,
			  const struct stuck_need *need, struct clew_stuck_step *step)
{
	bool beyond = false;

	for (size_t i = 0; i < search->tasks; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(search->trace, i);

		if (task->process != need->serial || !search->stuck[i] ||
		    task->serial == sleep->task ||
		    (need->role == CLEW_STUCK_THREAD &&
		     same_word(sleep, search->needs.waits[i].sleep)))
			continue;
		if (step->next != CLEW_NO_TASK && need->role == CLEW_STUCK_THREAD)
			step->others++;
		if (step->next != CLEW_NO_TASK && (beyond || !waits_beyond(search, i)))
			continue;
		/* The end of a child is that of its first thread, while that lives. */
		if (step->next == need->serial && need->role == CLEW_STUCK_CHILD)
			continue;
		step->next = task->serial;
		beyond = waits_beyond(search, i);
	}
}

/* The step from a stuck task to the one that has to act. */
static struct clew_stuck_step step_from(const struct search *search, size_t place)
{
	const struct stuck_wait *wait = &search->needs.waits[place];
	const struct stuck_need *need = &search->needs.needs[wait->first];
	const uint32_t own = clew_trace_process(search->trace, wait->sleep->task);
	struct clew_stuck_step step = {.task = wait->sleep->task,
				       .next = CLEW_NO_TASK,
				       .sleep = wait->sleep,
				       .role = need->role,
				       .evidence = need->evidence};

	/* Its own process has the other end of a pipe, too, where it was forked with both. */
	for (size_t i = 1; i < wait->count && need->process && need->serial == own; i++)
		need = &search->needs.needs[wait->first + i];
	if (!need->process) {
		step.next = need->serial;
		return step;
	}
	choose_thread(search, wait->sleep, need, &step);
	for (size_t i = 0; i < wait->count; i++) {
		const struct stuck_need *other = &search->needs.needs[wait->first + i];

		step.others += other->serial != need->serial && other->serial != own;
	}
	if (step.others)
		step.evidence = CLEW_EVIDENCE_CANDIDATE;
	return step;
}

/* Adds the circle of steps. *ret_number: 1 + its place, or 0 if it is none. */
static int add(struct search *search, const struct clew_stuck_step *steps, size_t count,
	       uint32_t *ret_number)
{
	struct vector *all = &search->trace->deadlocks;
	struct clew_deadlock added = {.count = count, .until = CLEW_TIME_OPEN};
	bool beyond = false, certain = true;

	*ret_number = 0;
	for (size_t i = 0; i < count; i++) {
		beyond |= is_beyond(steps[i].role);
		certain &= steps[i].role != CLEW_STUCK_THREAD;
		if (steps[i].sleep->start > added.since)
			added.since = steps[i].sleep->start;
	}
	if (!beyond && !certain)
		return 0;
	added.steps = arena_copy(&search->trace->arena, steps, count * sizeof(*steps));
	if (!added.steps || vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct clew_deadlock *)all->data)[all->count++] = added;
	*ret_number = (uint32_t)all->count;
	return 0;
}

#define UNDER_WAY UINT32_MAX

/* Follows the way from a stuck task, and marks all on it. */
static int follow(struct search *search, size_t place, struct vector *way)
{
	uint32_t *stuck = search->number, number = 0;
	struct clew_stuck_step *steps;
	size_t first = 0, count = 0;
	int r = 0;

	for (; place != SIZE_MAX && !stuck[place] && search->stuck[place]; count++) {
		if (vector_reserve(way, count + 1) < 0)
			return -ENOMEM;
		steps = way->data;
		steps[count] = step_from(search, place);
		stuck[place] = UNDER_WAY;
		place = stuck_place(search->trace, steps[count].next);
	}
	steps = way->data;
	if (place != SIZE_MAX && stuck[place] == UNDER_WAY) {
		const uint32_t met = trace_task_at(search->trace, place)->task.serial;

		while (first < count && steps[first].task != met)
			first++;
		r = add(search, steps + first, count - first, &number);
	} else if (place != SIZE_MAX) {
		number = stuck[place];
	}
	for (size_t i = 0; i < count; i++)
		stuck[stuck_place(search->trace, steps[i].task)] = number;
	return r;
}

/* ---- what a signal ended ---- */

static bool is_by_signal(const struct clew_sleep *sleep)
{
	return sleep->end != CLEW_TIME_OPEN && sleep->edge_type == CLEW_EDGE_SIGNAL;
}

/* The wait that ended first of a stuck task and of all on whom its end depends. */
static const struct clew_sleep *first_to_end(struct search *search, size_t place)
{
	const struct stuck_wait *wait = &search->needs.waits[place];
	const struct clew_sleep *first = wait->sleep, *other;

	search->seen[place] = true;
	for (size_t i = 0; i < search->tasks; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(search->trace, i);
		bool needed = false;

		for (size_t k = 0; k < wait->count && !needed; k++) {
			const struct stuck_need *need = &search->needs.needs[wait->first + k];

			needed = need->serial == (need->process ? task->process : task->serial);
		}
		if (!needed || search->seen[i] || !search->stuck[i])
			continue;
		other = first_to_end(search, i);
		if (other->end < first->end)
			first = other;
	}
	return first;
}

static bool is_known(const struct clew_trace *trace, size_t before,
		     const struct clew_deadlock *deadlock)
{
	const struct clew_deadlock *all = trace->deadlocks.data;

	for (size_t i = 0; i < before; i++)
		for (size_t k = 0; k < all[i].count; k++)
			if (all[i].steps[k].sleep == deadlock->steps[0].sleep)
				return true;
	return false;
}

/* Keeps those found from `first` on that a signal ended. */
static void keep_ended(struct search *search, size_t first)
{
	struct vector *found = &search->trace->deadlocks;
	struct clew_deadlock *all = found->data;
	size_t kept = first;

	for (size_t i = first; i < found->count; i++) {
		size_t place = stuck_place(search->trace, all[i].steps[0].task);
		const struct clew_sleep *ended;
		bool keep;

		memset(search->seen, 0, search->tasks * sizeof(*search->seen));
		ended = first_to_end(search, place);
		keep = is_by_signal(ended) && !is_known(search->trace, first, &all[i]);
		all[kept] = all[i];
		all[kept].until = ended->end;
		kept += keep;
		for (size_t k = 0; k < search->tasks; k++)
			if (search->number[k] == i + 1)
				search->number[k] = keep ? (uint32_t)kept : 0;
	}
	found->count = kept;
}

static int find(struct search *search)
{
	const size_t first = search->trace->deadlocks.count;
	struct vector way = {.item = sizeof(struct clew_stuck_step)};
	int r = 0;

	search->stuck = calloc(search->tasks, sizeof(*search->stuck));
	search->free = calloc(search->tasks, sizeof(*search->free));
	search->number = calloc(search->tasks, sizeof(*search->number));
	search->seen = calloc(search->tasks, sizeof(*search->seen));
	if (!search->stuck || !search->free || !search->number || !search->seen)
		r = -ENOMEM;
	if (r == 0)
		free_others(search);
	for (size_t i = 0; i < search->tasks && r == 0; i++)
		r = follow(search, i, &way);
	if (r == 0 && !search->moment->pass->stop)
		keep_ended(search, first);
	for (size_t i = 0; i < search->tasks && r == 0; i++)
		if (search->number[i])
			search->trace->stuck[i] = search->number[i];
	vector_done(&way);
	free(search->stuck);
	free(search->free);
	free(search->number);
	free(search->seen);
	return r;
}

static int find_at(struct clew_trace *trace, const struct stuck_moment *moment)
{
	struct search search = {.trace = trace, .moment = moment, .tasks = trace->tasks.count};
	int r = stuck_needs_find(trace, moment, &search.needs);

	if (r == 0 && search.needs.count && !trace->stuck) {
		trace->stuck = calloc(trace->tasks.count, sizeof(*trace->stuck));
		r = trace->stuck ? 0 : -ENOMEM;
	}
	if (r == 0 && search.needs.count)
		r = find(&search);
	stuck_needs_done(&search.needs);
	return r;
}

/* Marks the last pass before a signal ended a wait that the pass saw. */
static void mark_signals(const struct clew_trace *trace, bool *marked)
{
	const struct trace_pass *passes = trace->passes.data;
	const struct clew_end *ends = trace->end_sleepers.data;

	for (size_t i = 0; i < trace->end_sleepers.count; i++) {
		const struct trace_pass *pass = &passes[ends[i].header.cpu];
		struct clew_piece piece;

		marked[ends[i].header.cpu] |=
			!pass->stop && !marked[ends[i].header.cpu] &&
			clew_trace_piece(trace, ends[i].task, pass->to, false, &piece) &&
			piece.kind == CLEW_PIECE_SLEEP && is_by_signal(piece.sleep) &&
			(pass + 1 == passes + trace->passes.count || pass[1].stop ||
			 pass[1].to >= piece.sleep->end);
	}
}

struct placed {
	struct clew_deadlock deadlock;
	uint32_t place; /* in which it was found */
};

static int by_until(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->deadlock.until != b->deadlock.until)
		return a->deadlock.until < b->deadlock.until ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Puts the deadlocks in order of their ends, as windows have them. */
static int put_in_order(struct clew_trace *trace)
{
	struct clew_deadlock *all = trace->deadlocks.data;
	const size_t count = trace->deadlocks.count;
	struct placed *placed = calloc(count + 1, sizeof(*placed));
	uint32_t *now = calloc(count + 1, sizeof(*now));
	const int r = placed && now ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++)
		placed[i] = (struct placed){all[i], (uint32_t)i};
	if (r == 0)
		qsort(placed, count, sizeof(*placed), by_until);
	for (size_t i = 0; r == 0 && i < count; i++) {
		all[i] = placed[i].deadlock;
		now[placed[i].place] = (uint32_t)i;
	}
	for (size_t i = 0; r == 0 && trace->stuck && i < trace->tasks.count; i++)
		if (trace->stuck[i])
			trace->stuck[i] = now[trace->stuck[i] - 1] + 1;
	free(placed);
	free(now);
	return r;
}

int trace_find_deadlocks(struct clew_trace *trace)
{
	const struct trace_pass *passes = trace->passes.data;
	const bool cut = trace->part && trace->part->cut;
	struct map users = {};
	bool *marked;
	int r = 0;

	/* A trace of all names keeps nothing of a time. */
	if (trace->part && !trace->part->to)
		return trace_settle_deadlocks(trace);
	if (!trace->passes.count)
		return 0;
	marked = calloc(trace->passes.count, sizeof(*marked));
	r = marked ? stuck_find_users(trace, &users) : -ENOMEM;
	if (r == 0)
		mark_signals(trace, marked);
	for (size_t i = 0; i < trace->passes.count && r == 0; i++) {
		const struct stuck_moment moment = {
			.pass = &passes[i], .number = (uint16_t)i, .users = &users};

		if ((passes[i].stop && !cut) || marked[i])
			r = find_at(trace, &moment);
	}
	map_done(&users);
	free(marked);
	return r < 0 ? r : put_in_order(trace);
}

const struct clew_deadlock *clew_trace_deadlocks(const struct clew_trace *trace, size_t *ret_count)
{
	*ret_count = trace->deadlocks.count;
	return trace->deadlocks.data;
}

const struct clew_deadlock *clew_trace_deadlock_of(const struct clew_trace *trace, uint32_t task)
{
	size_t place = trace->stuck ? stuck_place(trace, task) : SIZE_MAX;

	return place != SIZE_MAX && trace->stuck[place]
		       ? (const struct clew_deadlock *)trace->deadlocks.data + trace->stuck[place] -
				 1
		       : NULL;
}

const struct clew_stuck_step *clew_trace_stuck_step(const struct clew_trace *trace, uint32_t task)
{
	const struct clew_deadlock *deadlock = clew_trace_deadlock_of(trace, task);

	for (size_t i = 0; deadlock && i < deadlock->count; i++)
		if (deadlock->steps[i].task == task)
			return &deadlock->steps[i];
	return NULL;
}

bool clew_trace_is_stuck(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_deadlock *deadlock = clew_trace_deadlock_of(trace, sleep->task);

	if (!deadlock || deadlock->until == CLEW_TIME_OPEN)
		return deadlock && sleep->end == CLEW_TIME_OPEN;
	return sleep->start < deadlock->until && sleep->end >= deadlock->until;
}

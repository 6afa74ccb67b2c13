/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The needs of a wait are all tasks that may end it, or it has none.
 *
 * Invariant: a wait that may end by itself, or by a task that is not known, has no needs.
 */
#include "trace/deadlock_needs.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/internal.h"

size_t stuck_place(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_task *task =
		serial == CLEW_NO_TASK ? NULL : trace_task_find(trace, serial);

	return task ? task->index : SIZE_MAX;
}

static int need(struct stuck_needs *needs, struct stuck_wait *wait, struct stuck_need added)
{
	struct stuck_need *larger;

	for (size_t i = 0; i < wait->count; i++)
		if (needs->needs[wait->first + i].serial == added.serial)
			return 0;
	if (needs->count == needs->room) {
		needs->room = needs->room ? needs->room * 2 : 64;
		larger = reallocarray(needs->needs, needs->room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		needs->needs = larger;
	}
	needs->needs[needs->count++] = added;
	wait->count++;
	return 0;
}

bool stuck_lives(const struct stuck_moment *moment, const struct clew_trace_task *task)
{
	if (moment->pass->stop)
		return task->death == CLEW_TIME_OPEN;
	return task->birth <= moment->pass->from && task->death > moment->pass->to;
}

static bool lasts(const struct stuck_moment *moment, const struct clew_sleep *sleep)
{
	if (moment->pass->stop)
		return sleep->end == CLEW_TIME_OPEN;
	return sleep->start <= moment->pass->from && sleep->end > moment->pass->to;
}

/* The holder of the wait's lock at the moment. */
static const struct clew_holder *holder_at(const struct clew_trace *trace,
					   const struct stuck_moment *moment,
					   const struct clew_sleep *sleep)
{
	const uint64_t at = moment->pass->stop ? trace->end : moment->pass->to;

	for (uint32_t i = sleep->holder_count; i-- > 0;) {
		const struct clew_holder *holder = &sleep->holders[i];

		if (holder->to >= at && (moment->pass->stop || holder->from <= moment->pass->from))
			return !holder->coming && holder->task != CLEW_NO_TASK ? holder : NULL;
	}
	return NULL;
}

/* A thread may release a lock on a file that another one of its process took. */
static int need_holder(const struct clew_trace *trace, const struct clew_sleep *sleep,
		       const struct clew_holder *holder, struct stuck_needs *needs,
		       struct stuck_wait *wait)
{
	bool on_file = sleep->object.kind == CLEW_OBJECT_FILE;

	return need(needs, wait,
		    (struct stuck_need){.serial = on_file ? clew_trace_process(trace, holder->task)
							  : holder->task,
					.process = on_file,
					.role = CLEW_STUCK_HOLDER,
					.evidence = holder->evidence});
}

/* True if no other process is known to have the memory that a word is in. */
static bool has_own_memory(const struct stuck_moment *moment, const struct clew_sleep *sleep)
{
	const uint64_t *user =
		sleep->object.memory ? map_get(moment->users, sleep->object.memory, 0) : NULL;

	return !sleep->object.shared && user && *user != UINT32_MAX;
}

static int add_user(const struct clew_trace *trace, const struct clew_sleep *sleep,
		    struct map *users)
{
	const uint32_t process = clew_trace_process(trace, sleep->task);
	uint64_t *user;

	if (sleep->object.kind != CLEW_OBJECT_FUTEX || sleep->object.shared)
		return 0;
	user = map_get(users, sleep->object.memory, 0);
	if (!user)
		return map_set(users, sleep->object.memory, 0, process);
	if (*user != process)
		*user = UINT32_MAX;
	return 0;
}

int stuck_find_users(const struct clew_trace *trace, struct map *ret_users)
{
	const struct clew_sleep *sleeps = trace->sleeps.data;
	int r = 0;

	*ret_users = (struct map){};
	for (size_t i = trace->first_sleep; i < trace->sleeps.count && r == 0; i++)
		r = add_user(trace, &sleeps[i], ret_users);
	return r;
}

/* The thread of the process for whose end a wait is: the kernel clears its number there and wakes,
 * as for a word that processes share. CLEW_NO_TASK: the wait is for something else. */
static uint32_t joined_thread(const struct clew_trace *trace, const struct stuck_moment *moment,
			      const struct clew_sleep *sleep, const struct clew_end *end)
{
	const uint32_t process = clew_trace_process(trace, sleep->task);

	for (size_t i = 0; sleep->object.shared && i < trace->tasks.count; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (task->process == process && task->serial != sleep->task &&
		    stuck_lives(moment, task) && end->object == (task->inner_tid ?: task->tid))
			return task->serial;
	}
	return CLEW_NO_TASK;
}

static int need_word(const struct clew_trace *trace, const struct stuck_moment *moment,
		     const struct clew_sleep *sleep, const struct clew_end *end,
		     struct stuck_needs *needs, struct stuck_wait *wait)
{
	const struct clew_holder *holder = holder_at(trace, moment, sleep);
	uint32_t joined;

	if (!(end->header.flags & CLEW_END_ENDLESS))
		return 0;
	if (holder)
		return need_holder(trace, sleep, holder, needs, wait);
	joined = joined_thread(trace, moment, sleep, end);
	if (joined != CLEW_NO_TASK)
		return need(needs, wait,
			    (struct stuck_need){.serial = joined,
						.role = CLEW_STUCK_JOINED,
						.evidence = CLEW_EVIDENCE_OBSERVED});
	if (!has_own_memory(moment, sleep))
		return 0;
	return need(needs, wait,
		    (struct stuck_need){.serial = clew_trace_process(trace, sleep->task),
					.process = true,
					.role = CLEW_STUCK_THREAD,
					.evidence = CLEW_EVIDENCE_OBSERVED});
}

static int need_pipe(const struct clew_trace *trace, const struct clew_sleep *sleep,
		     const struct clew_end *end, struct stuck_needs *needs, struct stuck_wait *wait)
{
	const struct clew_end *holders;
	size_t count = 0;
	int r = 0;

	if (!end->end || end->object != sleep->object.number)
		return 0;
	holders = clew_trace_end_holders(trace, end, false, &count);
	for (size_t i = 0; i < count && r == 0; i++)
		r = need(needs, wait,
			 (struct stuck_need){.serial = clew_trace_process(trace, holders[i].task),
					     .process = true,
					     .role = end->header.flags & CLEW_END_READS
							     ? CLEW_STUCK_READER
							     : CLEW_STUCK_WRITER,
					     .evidence = CLEW_EVIDENCE_OBSERVED});
	return r;
}

/* The holders of the other end, if nobody else can end a wait there; NULL: that is not known. Data
 * that TCP has on its way is not seen, nor what comes to a socket that takes it from anyone. An end
 * that the own process alone has is what a signal's handler writes to. */
static const struct clew_end *only_holders(const struct clew_trace *trace,
					   const struct clew_end *end, uint32_t own,
					   size_t *ret_count)
{
	const struct clew_end *holders;
	bool others = false;

	if (!end->end ||
	    (end->object_kind != CLEW_OBJECT_PIPE &&
	     !(end->object_kind == CLEW_OBJECT_SOCKET && end->header.flags & CLEW_END_PAIRED)))
		return NULL;
	holders = clew_trace_end_holders(trace, end, false, ret_count);
	for (size_t i = 0; i < *ret_count; i++)
		others |= clew_trace_process(trace, holders[i].task) != own;
	return others ? holders : NULL;
}

/* All who have the other ends, and the threads of the own process, which may shut a socket down or
 * change what is polled. */
static int need_peers(const struct clew_trace *trace, const struct clew_sleep *sleep,
		      const struct clew_end *ends, size_t end_count, struct stuck_needs *needs,
		      struct stuck_wait *wait)
{
	const uint32_t own = clew_trace_process(trace, sleep->task);
	struct stuck_need added = {
		.process = true, .role = CLEW_STUCK_PEER, .evidence = CLEW_EVIDENCE_OBSERVED};
	size_t count = 0;
	int r = 0;

	if (!(ends->header.flags & CLEW_END_ENDLESS))
		return 0;
	for (size_t i = 0; i < end_count; i++)
		if (!only_holders(trace, &ends[i], own, &count))
			return 0;
	for (size_t i = 0; i < end_count && r == 0; i++) {
		const struct clew_end *holders = only_holders(trace, &ends[i], own, &count);

		for (size_t k = 0; k < count && r == 0; k++) {
			added.serial = clew_trace_process(trace, holders[k].task);
			r = need(needs, wait, added);
		}
	}
	added.serial = own;
	return r < 0 ? r : need(needs, wait, added);
}

/* Another thread of the process may start a child that ends a wait for any. */
static int need_children(const struct clew_trace *trace, const struct stuck_moment *moment,
			 const struct clew_sleep *sleep, struct stuck_needs *needs,
			 struct stuck_wait *wait)
{
	const uint32_t process = clew_trace_process(trace, sleep->task);
	const int32_t wanted = sleep->kind == CLEW_WAIT_CHILD ? (int32_t)sleep->object.number : -1;
	int r = 0;

	for (size_t i = 0; i < clew_trace_task_count(trace) && r == 0; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i), *child;

		child = clew_trace_task(trace, task->process);
		if (!stuck_lives(moment, task) || !child || child->parent == CLEW_NO_TASK ||
		    clew_trace_process(trace, child->parent) != process ||
		    child->serial == process ||
		    (wanted > 0 && child->tid != (uint32_t)wanted &&
		     child->inner_tid != (uint32_t)wanted))
			continue;
		r = need(needs, wait,
			 (struct stuck_need){.serial = child->serial,
					     .process = true,
					     .role = CLEW_STUCK_CHILD,
					     .evidence = CLEW_EVIDENCE_OBSERVED});
	}
	if (r == 0 && wait->count && wanted <= 0)
		r = need(needs, wait,
			 (struct stuck_need){.serial = process,
					     .process = true,
					     .role = CLEW_STUCK_THREAD,
					     .evidence = CLEW_EVIDENCE_CANDIDATE});
	return r;
}

/* The needs of a wait of which a pass has `count` records. */
static int find_needs(const struct clew_trace *trace, const struct stuck_moment *moment,
		      const struct clew_sleep *sleep, const struct clew_end *end, size_t count,
		      struct stuck_needs *needs, struct stuck_wait *wait)
{
	const struct clew_holder *holder;

	*wait = (struct stuck_wait){.sleep = sleep, .first = needs->count};
	if (sleep->blind || end->call != sleep->call)
		return 0;
	if (sleep->kind == CLEW_WAIT_POLL)
		return need_peers(trace, sleep, end, count, needs, wait);
	if (count != 1)
		return 0;
	switch (sleep->kind) {
	case CLEW_WAIT_FUTEX:
		return need_word(trace, moment, sleep, end, needs, wait);
	case CLEW_WAIT_PIPE:
		return need_pipe(trace, sleep, end, needs, wait);
	case CLEW_WAIT_SOCKET:
		return need_peers(trace, sleep, end, 1, needs, wait);
	case CLEW_WAIT_CHILD:
	case CLEW_WAIT_VFORK:
		return need_children(trace, moment, sleep, needs, wait);
	case CLEW_WAIT_LOCK:
		holder = holder_at(trace, moment, sleep);
		return holder ? need_holder(trace, sleep, holder, needs, wait) : 0;
	default:
		return 0;
	}
}

/* The sleep of a task that lasts at the moment; NULL: none does. */
static const struct clew_sleep *sleep_at(const struct clew_trace *trace,
					 const struct stuck_moment *moment, uint32_t serial)
{
	const bool stop = moment->pass->stop;
	struct clew_piece piece;

	if (!clew_trace_piece(trace, serial, stop ? trace->end : moment->pass->to, stop, &piece))
		return NULL;
	return piece.kind == CLEW_PIECE_SLEEP && lasts(moment, piece.sleep) ? piece.sleep : NULL;
}

int stuck_needs_find(const struct clew_trace *trace, const struct stuck_moment *moment,
		     struct stuck_needs *ret_needs)
{
	struct stuck_needs needs = {};
	const struct clew_end *ends = trace->end_sleepers.data;
	size_t count = trace->end_sleepers.count, same;
	int r = 0;

	needs.waits = calloc(clew_trace_task_count(trace) + 1, sizeof(*needs.waits));
	if (!needs.waits)
		r = -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i += same) {
		size_t place = stuck_place(trace, ends[i].task);
		const struct clew_sleep *sleep = NULL;

		for (same = 1; i + same < count && ends[i + same].task == ends[i].task &&
			       ends[i + same].header.cpu == ends[i].header.cpu;)
			same++;
		if (ends[i].header.cpu == moment->number && place != SIZE_MAX &&
		    stuck_lives(moment, clew_trace_task_at(trace, place)))
			sleep = sleep_at(trace, moment, ends[i].task);
		if (sleep)
			r = find_needs(trace, moment, sleep, &ends[i], same, &needs,
				       &needs.waits[place]);
	}
	*ret_needs = needs;
	return r;
}

void stuck_needs_done(struct stuck_needs *needs)
{
	free(needs->waits);
	free(needs->needs);
	*needs = (struct stuck_needs){};
}

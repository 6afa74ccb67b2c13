/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chains of threads that wait for each other. */
#include "explain/hang.h"

#include <errno.h>

#include "explain/may_end.h"
#include "explain/other_end.h"
#include "trace/deadlock.h"

const char *clew_hang_role_name(enum clew_hang_role role)
{
	static const char *const names[] = {
		[CLEW_HANG_FIRST] = "asked",	[CLEW_HANG_HOLDER] = "holder",
		[CLEW_HANG_PEER] = "other end", [CLEW_HANG_CHILD] = "child",
		[CLEW_HANG_THREAD] = "thread",
	};

	return names[role];
}

int clew_hangs_index(const struct clew_trace *trace, struct map *ret_waits)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = 0;

	*ret_waits = (struct map){};
	for (size_t i = 0; i < count && r == 0; i++)
		if (sleeps[i].end == CLEW_TIME_OPEN)
			r = map_set(ret_waits, sleeps[i].task, 0, i);
	return r;
}

/* The holder of the wait's lock as the capture ends. */
static bool find_holder(const struct clew_sleep *sleep, struct clew_hang_step *ret_next)
{
	for (uint32_t i = sleep->holder_count; i-- > 0;) {
		const struct clew_holder *holder = &sleep->holders[i];

		if (holder->coming || holder->task == CLEW_NO_TASK)
			continue;
		*ret_next = (struct clew_hang_step){.task = holder->task,
						    .role = CLEW_HANG_HOLDER,
						    .evidence = holder->evidence};
		return true;
	}
	return false;
}

/* The last child that lives of a thread that waits for one. */
static bool find_child(const struct clew_trace *trace, const struct clew_sleep *sleep,
		       struct clew_hang_step *ret_next)
{
	uint32_t process = clew_trace_process(trace, sleep->task);
	size_t found = 0;

	if (sleep->kind != CLEW_WAIT_CHILD && sleep->kind != CLEW_WAIT_VFORK)
		return false;
	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (task->process != task->serial || task->death != CLEW_TIME_OPEN ||
		    task->parent == CLEW_NO_TASK ||
		    clew_trace_process(trace, task->parent) != process || task->serial == process)
			continue;
		*ret_next = (struct clew_hang_step){
			.task = task->serial, .role = CLEW_HANG_CHILD, .others = found++};
	}
	if (found)
		ret_next->evidence = found > 1 ? CLEW_EVIDENCE_CANDIDATE : CLEW_EVIDENCE_OBSERVED;
	return found;
}

/* A process that has the other end: the thread of it that may act, if that is known. */
static int find_peer(const struct clew_trace *trace, const struct clew_sleep *sleep,
		     struct clew_hang_step *ret_next, bool *ret_found)
{
	struct clew_other_ends ends;
	int r = clew_other_ends_find(trace, sleep, &ends);

	*ret_found = false;
	for (size_t i = 0; r == 0 && i < ends.count; i++) {
		if (ends.ends[i].task == CLEW_NO_TASK || ends.ends[i].task == sleep->task)
			continue;
		if (*ret_found) {
			ret_next->others++;
			continue;
		}
		*ret_found = true;
		*ret_next = (struct clew_hang_step){.task = ends.ends[i].task,
						    .role = CLEW_HANG_PEER,
						    .evidence = ends.ends[i].evidence};
	}
	if (r == 0 && ends.follow != CLEW_NO_TASK && ends.follow != sleep->task) {
		*ret_found = true;
		ret_next->task = ends.follow;
		ret_next->role = CLEW_HANG_PEER;
		ret_next->evidence = ends.follow_evidence;
	}
	clew_other_ends_done(&ends);
	return r;
}

/* The next task of the circle that a thread is in. */
static bool find_stuck(const struct clew_trace *trace, const struct clew_sleep *sleep,
		       struct clew_hang_step *ret_next)
{
	static const uint8_t roles[] = {
		[CLEW_STUCK_HOLDER] = CLEW_HANG_HOLDER, [CLEW_STUCK_THREAD] = CLEW_HANG_THREAD,
		[CLEW_STUCK_JOINED] = CLEW_HANG_THREAD, [CLEW_STUCK_CHILD] = CLEW_HANG_CHILD,
		[CLEW_STUCK_READER] = CLEW_HANG_PEER,	[CLEW_STUCK_WRITER] = CLEW_HANG_PEER,
		[CLEW_STUCK_PEER] = CLEW_HANG_PEER,
	};
	const struct clew_stuck_step *step = clew_trace_stuck_step(trace, sleep->task);

	if (!step || step->sleep != sleep)
		return false;
	*ret_next = (struct clew_hang_step){.task = step->next,
					    .role = roles[step->role],
					    .evidence = step->evidence,
					    .others = step->others};
	return true;
}

/* A thread of the process that may end a wait for a word without a holder. */
static bool find_thread(const struct clew_trace *trace, const struct clew_sleep *sleep,
			struct clew_hang_step *ret_next)
{
	const struct clew_may_end found = clew_may_end_find(trace, sleep);

	if (found.count != 1)
		return false;
	*ret_next = (struct clew_hang_step){.task = found.tasks[0],
					    .role = CLEW_HANG_THREAD,
					    .evidence = CLEW_EVIDENCE_CANDIDATE};
	return true;
}

int clew_hang_find(const struct clew_trace *trace, const struct map *waits, uint32_t task,
		   struct clew_hang *ret_hang)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	struct clew_hang_step step = {.task = task}, next;
	int r = 0;

	*ret_hang = (struct clew_hang){.cycle = CLEW_HANG_MOST};
	for (;;) {
		const uint64_t *place = map_get(waits, step.task, 0);
		bool found;

		for (size_t i = 0; i < ret_hang->count; i++)
			if (ret_hang->steps[i].task == step.task) {
				ret_hang->cycle = i;
				return 0;
			}
		if (ret_hang->count == CLEW_HANG_MOST) {
			ret_hang->cut = true;
			return 0;
		}
		step.sleep = place ? &sleeps[*place] : NULL;
		ret_hang->steps[ret_hang->count++] = step;
		if (!step.sleep)
			return 0;
		next = (struct clew_hang_step){};
		found = find_stuck(trace, step.sleep, &next) || find_holder(step.sleep, &next) ||
			find_child(trace, step.sleep, &next) ||
			find_thread(trace, step.sleep, &next);
		if (!found)
			r = find_peer(trace, step.sleep, &next, &found);
		if (r < 0 || !found)
			return r;
		step = next;
	}
}

bool clew_hang_is_deadlock(const struct clew_trace *trace, const struct clew_hang *hang)
{
	return hang->cycle != CLEW_HANG_MOST &&
	       clew_trace_stuck_step(trace, hang->steps[hang->cycle].task);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deadlocks that go from a window to the trace of all names. */
#include "trace/deadlock_left.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/internal.h"

static int leave_steps(struct clew_deadlock *deadlock, struct shared *out)
{
	deadlock->steps =
		shared_copy(out, deadlock->steps, deadlock->count * sizeof(*deadlock->steps));
	for (size_t i = 0; deadlock->steps && i < deadlock->count; i++) {
		struct clew_sleep own = *deadlock->steps[i].sleep;

		own.links = NULL;
		own.holders = NULL;
		own.link_count = own.and_count = 0;
		own.holder_count = 0;
		deadlock->steps[i].sleep = shared_copy(out, &own, sizeof(own));
		if (!deadlock->steps[i].sleep)
			return -ENOMEM;
	}
	return deadlock->steps ? 0 : -ENOMEM;
}

/* Leaves the tasks that are stuck in the deadlock with a number, which becomes the next one. */
static void leave_stuck(const struct clew_trace *trace, uint32_t number,
			struct left_deadlocks *left)
{
	for (size_t i = 0; i < trace->tasks.count; i++)
		if (trace->stuck[i] == number + 1)
			left->stuck[left->stuck_count++] =
				(struct left_stuck){.task = trace_task_at(trace, i)->task.serial,
						    .number = (uint32_t)left->count};
}

int trace_leave_deadlocks(const struct clew_trace *trace, const struct clew_trace_window *window,
			  struct shared *out, struct left_deadlocks *ret_left)
{
	const struct clew_deadlock *all = trace->deadlocks.data;
	size_t count = trace->deadlocks.count;
	int r = 0;

	*ret_left = (struct left_deadlocks){};
	if (!count)
		return 0;
	ret_left->deadlocks = shared_take(out, count * sizeof(*all));
	ret_left->stuck = shared_take(out, trace->tasks.count * sizeof(*ret_left->stuck));
	if (!ret_left->deadlocks || !ret_left->stuck)
		return -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++) {
		if (!clew_window_counts(window, all[i].until))
			continue;
		leave_stuck(trace, (uint32_t)i, ret_left);
		ret_left->deadlocks[ret_left->count] = all[i];
		r = leave_steps(&ret_left->deadlocks[ret_left->count++], out);
	}
	return r;
}

/* ---- in the trace of all names ---- */

static int take_steps(struct clew_trace *names, struct clew_deadlock *deadlock)
{
	deadlock->steps = arena_copy(&names->arena, deadlock->steps,
				     deadlock->count * sizeof(*deadlock->steps));
	for (size_t i = 0; deadlock->steps && i < deadlock->count; i++) {
		const struct clew_sleep *sleep = deadlock->steps[i].sleep;

		deadlock->steps[i].sleep = arena_copy(&names->arena, sleep, sizeof(*sleep));
		if (!deadlock->steps[i].sleep)
			return -ENOMEM;
	}
	return deadlock->steps ? 0 : -ENOMEM;
}

int trace_take_deadlocks(struct clew_trace *names, const struct left_deadlocks *left)
{
	struct vector *all = &names->deadlocks, *stuck = &names->left_stuck;
	const uint32_t first = (uint32_t)all->count;
	int r = 0;

	if (vector_reserve(all, all->count + left->count) < 0 ||
	    vector_reserve(stuck, stuck->count + left->stuck_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < left->count && r == 0; i++) {
		struct clew_deadlock *deadlock = (struct clew_deadlock *)all->data + all->count;

		*deadlock = left->deadlocks[i];
		r = take_steps(names, deadlock);
		all->count += r == 0;
	}
	for (size_t i = 0; i < left->stuck_count && r == 0; i++)
		((struct left_stuck *)stuck->data)[stuck->count++] =
			(struct left_stuck){left->stuck[i].task, first + left->stuck[i].number};
	return r;
}

int trace_settle_deadlocks(struct clew_trace *names)
{
	const struct left_stuck *left = names->left_stuck.data;

	if (!names->left_stuck.count)
		return 0;
	names->stuck = calloc(names->tasks.count, sizeof(*names->stuck));
	if (!names->stuck)
		return -ENOMEM;
	for (size_t i = 0; i < names->left_stuck.count; i++) {
		const struct trace_task *task = trace_task_find(names, left[i].task);

		if (task)
			names->stuck[task->index] = left[i].number + 1;
	}
	return 0;
}

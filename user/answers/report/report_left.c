/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of a report that one window makes. */
#include "answers/report/report_left.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/part.h"

static int copy_times(const struct clew_task_times *times, struct shared *out,
		      struct report_left_times *left)
{
	left->count = times->times.count;
	left->times = shared_copy(out, times->times.data, left->count * sizeof(*left->times));
	left->had_cpu = shared_take(out, times->had_cpu.count * sizeof(*left->had_cpu));
	if (!left->times || !left->had_cpu)
		return -ENOMEM;
	for (size_t i = 0; i < times->had_cpu.capacity; i++)
		if (times->had_cpu.slots[i].used)
			left->had_cpu[left->had_cpu_count++] = times->had_cpu.slots[i];
	return 0;
}

static int leave_times(const struct clew_chosen *chosen, const struct clew_trace *trace,
		       const struct clew_trace_window *window, struct shared *out,
		       const struct report_left *left, struct report_left_times *ret_times)
{
	struct clew_task_times times = {};
	int r = clew_task_times_gather(&times, trace, chosen, left->from, left->to, window);

	if (r == 0)
		r = copy_times(&times, out, ret_times);
	clew_task_times_done(&times);
	return r;
}

/* The key of a wait's group: what is waited for, how it counts, and whose it is. */
static struct clew_sum_key key_of(const struct clew_trace *trace,
				  const struct clew_trace_task *task,
				  const struct clew_sleep *sleep, enum clew_spent spent)
{
	const uint32_t told = CLEW_TASK_KTHREAD | CLEW_TASK_KWORKER | CLEW_TASK_SELF;
	const struct clew_trace_task *process = clew_trace_task(trace, task->process);
	struct clew_sum_key key = clew_wait_object_key(trace, sleep);
	/* A process is of the same program as its tasks, unless they differ in what they are. */
	bool same = process && !((process->flags ^ task->flags) & told);

	key.parts[3] = (uint64_t)spent << 32 | (same ? process : task)->serial;
	return key;
}

static int add_wait(const struct report_asked *asked, const struct clew_trace *trace,
		    const struct report_left *left, const struct clew_sleep *sleep,
		    struct clew_sums *sums)
{
	const struct clew_trace_task *task = clew_trace_task(trace, sleep->task);
	uint64_t ns = interval_overlap(sleep->start, sleep->end, left->from, left->to);
	enum clew_spent spent;

	if (!ns || !task || task->flags & CLEW_TASK_SELF ||
	    !clew_is_chosen(&asked->chosen, trace, sleep->task))
		return 0;
	spent = clew_spent_chosen(&asked->chosen, trace, sleep);
	if (spent <= CLEW_SPENT_READY || spent >= CLEW_SPENT_COUNT)
		return 0;
	return clew_sums_add_wait(sums, key_of(trace, task, sleep, spent), ns, trace, sleep);
}

static int leave_waits(const struct report_asked *asked, const struct clew_trace *trace,
		       const struct clew_trace_window *window, struct shared *out,
		       struct report_left *left)
{
	struct clew_sums sums = {};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		if (clew_window_counts(window, sleeps[i].end))
			r = add_wait(asked, trace, left, &sleeps[i], &sums);
	if (r == 0)
		r = clew_wait_groups_leave(&sums, CLEW_SUM_BY_OBJECT, trace, out, &left->groups);
	clew_sums_done(&sums);
	return r;
}

static int leave_disks(const struct report_asked *asked, const struct clew_trace *trace,
		       const struct clew_trace_window *window, struct shared *out,
		       struct report_left *left)
{
	struct vector shares;
	int r = report_find_disks(trace, &asked->chosen, left->from, left->to, window, &shares);

	left->disk_count = shares.count;
	left->disks = shared_copy(out, shares.data, shares.count * sizeof(*left->disks));
	vector_done(&shares);
	return r < 0 ? r : left->disks ? 0 : -ENOMEM;
}

int report_leave(const struct clew_trace *trace, const struct report_asked *asked,
		 const struct clew_trace_window *window, struct shared *out)
{
	struct report_left *left = out->root = shared_take(out, sizeof(*left));
	int r;

	if (!left)
		return -ENOMEM;
	left->from = asked->from;
	left->to = asked->to < UINT64_MAX ? asked->to : clew_trace_end(trace);
	left->alone = window->alone;
	r = leave_times(&asked->chosen, trace, window, out, left, &left->chosen);
	if (r == 0 && asked->command)
		r = leave_times(&(struct clew_chosen){}, trace, window, out, left, &left->machine);
	if (r == 0)
		r = leave_waits(asked, trace, window, out, left);
	if (r == 0)
		r = leave_disks(asked, trace, window, out, left);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of a report that one window makes. See report_left.h. Memory is not freed here, as the
 * process ends with the window.
 */
#include "cli/report/report_left.h"

#include <errno.h>

#include "explain/wait_groups.h"
#include "trace/part.h"

static int leave_times(const struct clew_chosen *chosen, const struct clew_trace *trace,
		       const struct clew_trace_window *window, struct shared *out,
		       struct report_left *left)
{
	struct clew_task_times times = {};
	int r = clew_task_times_gather(&times, trace, chosen, left->from, left->to, window);

	if (r < 0)
		return r;
	left->time_count = times.times.count;
	left->times = shared_copy(out, times.times.data, left->time_count * sizeof(*left->times));
	left->had_cpu = shared_take(out, times.had_cpu.count * sizeof(*left->had_cpu));
	if (!left->times || !left->had_cpu)
		return -ENOMEM;
	for (size_t i = 0; i < times.had_cpu.capacity; i++)
		if (times.had_cpu.slots[i].used)
			left->had_cpu[left->had_cpu_count++] = times.had_cpu.slots[i];
	return 0;
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

static int leave_waits(const struct clew_chosen *chosen, const struct clew_trace *trace,
		       const struct clew_trace_window *window, struct shared *out,
		       struct report_left *left)
{
	struct clew_sums sums = {};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct clew_sleep *sleep = &sleeps[i];
		const struct clew_trace_task *task = clew_trace_task(trace, sleep->task);
		uint64_t ns = report_length_within(sleep, left->from, left->to);
		enum clew_spent spent;

		if (!ns || !clew_window_counts(window, sleep->end) || !task ||
		    task->flags & CLEW_TASK_SELF || !clew_is_chosen(chosen, trace, sleep->task))
			continue;
		spent = clew_spent_of(trace, sleep);
		if (spent > CLEW_SPENT_READY && spent < CLEW_SPENT_OTHER)
			r = clew_sums_add_wait(&sums, key_of(trace, task, sleep, spent), ns, trace,
					       sleep);
	}
	return r < 0 ? r
		     : clew_wait_groups_leave(&sums, CLEW_SUM_BY_OBJECT, trace, out, &left->groups);
}

static int leave_disks(const struct clew_chosen *chosen, const struct clew_trace *trace,
		       const struct clew_trace_window *window, struct shared *out,
		       struct report_left *left)
{
	struct vector shares;
	int r = report_find_disks(trace, chosen, left->from, left->to, window, &shares);

	left->disk_count = shares.count;
	left->disks = shared_copy(out, shares.data, shares.count * sizeof(*left->disks));
	return r < 0 ? r : left->disks ? 0 : -ENOMEM;
}

static int leave_causes(const struct clew_trace *trace, struct shared *out,
			struct report_left_operation *operation)
{
	int r = report_explain(trace, NULL, &operation->it);

	operation->told = true;
	for (size_t i = 0; i < operation->it.cause_count && r == 0; i++) {
		struct clew_told *cause = &operation->it.causes[i];

		cause->text = shared_string(out, cause->text);
		r = cause->text ? 0 : -ENOMEM;
	}
	return r;
}

/* True if a window has all that an operation is explained from: retried waits may begin before. */
static bool is_known(const struct clew_trace_window *window, const struct clew_operation *operation)
{
	return !window->kept || operation->from >= window->kept + TRACE_PART_MARGIN;
}

static int leave_operations(const struct clew_chosen *chosen, const struct clew_trace *trace,
			    const struct clew_trace_window *window, struct shared *out,
			    struct report_left *left)
{
	struct clew_window_operations found;
	int r = clew_operations_in_window(trace, chosen, left->from, left->to, window,
					  REPORT_MOST_OPERATIONS, &found);

	if (r < 0)
		return r;
	left->operation_total = found.total;
	left->end_count = found.ends.count;
	left->ends = shared_copy(out, found.ends.data, found.ends.count * sizeof(*left->ends));
	if (!left->ends)
		return -ENOMEM;
	for (size_t i = 0; i < found.count && r == 0; i++) {
		struct report_left_operation *operation =
			&left->operations[left->operation_count++];

		operation->it.operation = found.operations[i];
		if (is_known(window, &found.operations[i]))
			r = leave_causes(trace, out, operation);
	}
	return r;
}

int report_leave(const struct clew_trace *trace, const struct clew_chosen *chosen,
		 const struct clew_trace_window *window, struct shared *out)
{
	struct report_left *left = out->root = shared_take(out, sizeof(*left));
	int r;

	if (!left)
		return -ENOMEM;
	left->from = clew_trace_start(trace);
	left->to = clew_trace_end(trace);
	r = leave_times(chosen, trace, window, out, left);
	if (r == 0)
		r = leave_waits(chosen, trace, window, out, left);
	if (r == 0)
		r = leave_disks(chosen, trace, window, out, left);
	return r < 0 ? r : leave_operations(chosen, trace, window, out, left);
}

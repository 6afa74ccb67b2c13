/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How programs spent their time. See summary.h. */
#include "explain/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/operations.h"
#include "trace/internal.h"

static const uint8_t spent_of_kind[CLEW_WAIT_KIND_COUNT] = {
	[CLEW_WAIT_FUTEX] = CLEW_SPENT_LOCK,	 [CLEW_WAIT_LOCK] = CLEW_SPENT_LOCK,
	[CLEW_WAIT_READ] = CLEW_SPENT_DISK,	 [CLEW_WAIT_WRITE] = CLEW_SPENT_DISK,
	[CLEW_WAIT_FSYNC] = CLEW_SPENT_DISK,	 [CLEW_WAIT_FILE] = CLEW_SPENT_DISK,
	[CLEW_WAIT_IO] = CLEW_SPENT_DISK,	 [CLEW_WAIT_FAULT] = CLEW_SPENT_DISK,
	[CLEW_WAIT_JOURNAL] = CLEW_SPENT_DISK,	 [CLEW_WAIT_IO_URING] = CLEW_SPENT_DISK,
	[CLEW_WAIT_THROTTLE] = CLEW_SPENT_OTHER, [CLEW_WAIT_MEMORY] = CLEW_SPENT_MEMORY,
	[CLEW_WAIT_PIPE] = CLEW_SPENT_OTHER,	 [CLEW_WAIT_SOCKET] = CLEW_SPENT_NETWORK,
	[CLEW_WAIT_EVENTFD] = CLEW_SPENT_OTHER,	 [CLEW_WAIT_IPC] = CLEW_SPENT_OTHER,
	[CLEW_WAIT_TTY] = CLEW_SPENT_OTHER,	 [CLEW_WAIT_POLL] = CLEW_SPENT_COUNT,
	[CLEW_WAIT_SLEEP] = CLEW_SPENT_COUNT,	 [CLEW_WAIT_SIGNAL] = CLEW_SPENT_COUNT,
	[CLEW_WAIT_STOPPED] = CLEW_SPENT_OTHER,	 [CLEW_WAIT_CHILD] = CLEW_SPENT_OTHER,
	[CLEW_WAIT_VFORK] = CLEW_SPENT_OTHER,	 [CLEW_WAIT_WORK] = CLEW_SPENT_OTHER,
	[CLEW_WAIT_RCU] = CLEW_SPENT_OTHER,	 [CLEW_WAIT_IDLE] = CLEW_SPENT_COUNT,
	[CLEW_WAIT_OTHER] = CLEW_SPENT_OTHER,	 [CLEW_WAIT_UNKNOWN] = CLEW_SPENT_OTHER,
};

enum clew_spent clew_spent_of_kind(unsigned kind)
{
	return spent_of_kind[kind];
}

enum clew_spent clew_spent_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (sleep_is_idle(trace, sleep))
		return CLEW_SPENT_COUNT;
	/* Only in an exchange is a poll not idle. */
	if (sleep->kind == CLEW_WAIT_POLL)
		return sleep->object.kind == CLEW_OBJECT_SOCKET ? CLEW_SPENT_NETWORK
		       : sleep->edge_type == CLEW_EDGE_TIMER	? CLEW_SPENT_OTHER
								: CLEW_SPENT_PEER;
	if (sleep->kind != CLEW_WAIT_FUTEX || sleep->holder_count)
		return spent_of_kind[sleep->kind];
	if (sleep->from != CLEW_NO_TASK && clew_trace_in_exchange(trace, sleep))
		return CLEW_SPENT_PEER;
	/* At a condition variable threads wait for each other or, until a timeout, for work. */
	return sleep->from != CLEW_NO_TASK && sleep->edge_type != CLEW_EDGE_TIMER
		       ? CLEW_SPENT_OTHER
		       : CLEW_SPENT_COUNT;
}

/* ---- programs ---- */

struct named_task {
	const struct trace_task *task;
	struct clew_program program;
};

static void name_program(const struct clew_trace *trace, const struct trace_task *task,
			 struct clew_program *ret_program)
{
	const struct clew_trace_task *leader = clew_trace_task(trace, task->task.process);

	ret_program->kernel = task->task.flags & (CLEW_TASK_KTHREAD | CLEW_TASK_KWORKER);
	strncpy(ret_program->name, (leader ?: &task->task)->comm, CLEW_COMM_SIZE);
	if (ret_program->kernel) {
		size_t length = strcspn(ret_program->name, "0123456789:");

		/* "kworker/u8" and "ksoftirqd/1" lose their slash, too. */
		while (length > 1 && strchr("/-_.", ret_program->name[length - 1]))
			length--;
		memset(ret_program->name + length, 0, sizeof(ret_program->name) - length);
	}
}

static bool same_program(const struct named_task *a, const struct named_task *b)
{
	return a->program.kernel == b->program.kernel && !strcmp(a->program.name, b->program.name);
}

static int by_name(const void *left, const void *right)
{
	const struct named_task *a = left, *b = right;
	int order = strcmp(a->program.name, b->program.name);

	if (order || a->program.kernel == b->program.kernel)
		return order;
	return a->program.kernel ? 1 : -1;
}

/* Makes the list of programs, by name. clew's own threads have none. */
static int make_programs(const struct clew_trace *trace, struct clew_summary *summary)
{
	size_t task_count = trace->tasks.count, named_count = 0;
	struct named_task *named = calloc(task_count + 1, sizeof(*named));

	summary->programs = calloc(task_count + 1, sizeof(*summary->programs));
	summary->program_of = malloc((task_count + 1) * sizeof(*summary->program_of));
	if (!named || !summary->programs || !summary->program_of) {
		free(named);
		return -ENOMEM;
	}
	for (size_t i = 0; i < task_count; i++) {
		const struct trace_task *task = trace_task_at(trace, i);

		summary->program_of[i] = UINT32_MAX;
		if (task->task.serial == CLEW_NO_TASK || task->task.flags & CLEW_TASK_SELF)
			continue;
		named[named_count].task = task;
		name_program(trace, task, &named[named_count++].program);
	}
	qsort(named, named_count, sizeof(*named), by_name);
	for (size_t i = 0; i < named_count; i++) {
		if (!i || !same_program(&named[i], &named[i - 1]))
			summary->programs[summary->count++] = named[i].program;
		summary->program_of[named[i].task->index] = (uint32_t)summary->count - 1;
	}
	free(named);
	return 0;
}

uint32_t clew_summary_program(const struct clew_summary *summary, const struct clew_trace *trace,
			      uint32_t serial)
{
	const struct trace_task *task = trace_task_find(trace, serial);

	return task ? summary->program_of[task->index] : UINT32_MAX;
}

/* ---- time ---- */

static uint64_t overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
	uint64_t start = a_start > b_start ? a_start : b_start;
	uint64_t end = a_end < b_end ? a_end : b_end;

	return end > start ? end - start : 0;
}

/* Adds to `had`, by program, who ran on a CPU while `task` was ready for it. */
static void add_cpu(const struct clew_summary *summary, const struct clew_trace *trace,
		    const struct trace_task *task, uint16_t cpu, uint64_t from, uint64_t to,
		    void (*add)(void *context, uint32_t program, uint64_t ns), void *context)
{
	for (uint64_t at = from, until; at < to; at = until) {
		uint32_t by, program;

		if (!trace_ran_at(trace, cpu, at, to, &by, &until) || by == CLEW_NO_TASK ||
		    by == task->task.serial)
			continue;
		program = clew_summary_program(summary, trace, by);
		if (program != UINT32_MAX)
			add(context, program, until - at);
	}
}

static void add_had_cpu(void *context, uint32_t program, uint64_t ns)
{
	((struct clew_program *)context)[program].had_cpu += ns;
}

static void add_ns(void *context, uint32_t program, uint64_t ns)
{
	((uint64_t *)context)[program] += ns;
}

static void add_holders(const struct clew_summary *summary, const struct clew_trace *trace,
			const struct clew_sleep *sleep, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint32_t program = clew_summary_program(summary, trace, holder->task);

		if (program != UINT32_MAX)
			summary->programs[program].had_lock +=
				overlap(holder->from, holder->to, from, to);
	}
}

static void add_task(const struct clew_summary *summary, const struct clew_trace *trace,
		     const struct trace_task *task, uint64_t from, uint64_t to)
{
	struct clew_program *program = &summary->programs[summary->program_of[task->index]];
	uint64_t start = task->begin > from ? task->begin : from,
		 end = task->end < to ? task->end : to, before = program->total;
	struct clew_piece piece;
	uint32_t hint = 0;

	for (uint64_t at = start, until; at < end; at = until) {
		enum clew_spent spent = CLEW_SPENT_COUNT;

		if (!trace_piece_at(trace, task, at, &hint, &piece))
			return;
		until = piece.end < end ? piece.end : end;
		if (until <= at)
			return;
		if (piece.kind == CLEW_PIECE_RUNNING) {
			spent = CLEW_SPENT_RUNNING;
		} else if (piece.kind == CLEW_PIECE_RUNQUEUE) {
			spent = CLEW_SPENT_READY;
			add_cpu(summary, trace, task, piece.cpu, at, until, add_had_cpu,
				summary->programs);
		} else if (piece.kind == CLEW_PIECE_SLEEP) {
			spent = clew_spent_of(trace, piece.sleep);
			add_holders(summary, trace, piece.sleep, at, until);
		}
		if (spent == CLEW_SPENT_COUNT)
			continue;
		program->spent[spent] += until - at;
		program->total += until - at;
	}
	program->tasks += program->total > before;
}

static int most_time_first(const void *left, const void *right, void *context)
{
	const struct clew_program *programs = context, *a = &programs[*(const uint32_t *)left],
				  *b = &programs[*(const uint32_t *)right];

	uint64_t time_a = a->total - a->spent[CLEW_SPENT_OTHER],
		 time_b = b->total - b->spent[CLEW_SPENT_OTHER];

	if (time_a != time_b)
		return time_a > time_b ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name) ?: a->kernel - b->kernel;
}

/* Puts the programs in order, and renumbers what refers to them. */
static int sort_programs(const struct clew_trace *trace, struct clew_summary *summary)
{
	uint32_t *order = malloc((summary->count + 1) * sizeof(*order));
	uint32_t *place = malloc((summary->count + 1) * sizeof(*place));
	struct clew_program *sorted = malloc((summary->count + 1) * sizeof(*sorted));

	if (!order || !place || !sorted) {
		free(order);
		free(place);
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < summary->count; i++)
		order[i] = i;
	qsort_r(order, summary->count, sizeof(*order), most_time_first, summary->programs);
	for (uint32_t i = 0; i < summary->count; i++) {
		place[order[i]] = i;
		sorted[i] = summary->programs[order[i]];
	}
	for (size_t i = 0; i < trace->tasks.count; i++)
		if (summary->program_of[i] != UINT32_MAX)
			summary->program_of[i] = place[summary->program_of[i]];
	free(summary->programs);
	summary->programs = sorted;
	free(order);
	free(place);
	return 0;
}

int clew_summary_make(const struct clew_trace *trace, const struct clew_chosen *chosen,
		      uint64_t from, uint64_t to, struct clew_summary *ret_summary)
{
	int r;

	*ret_summary = (struct clew_summary){.chosen = *chosen};
	r = make_programs(trace, ret_summary);
	for (size_t i = 0; i < trace->tasks.count && r == 0; i++)
		if (ret_summary->program_of[i] != UINT32_MAX &&
		    clew_is_chosen(chosen, trace, trace_task_at(trace, i)->task.serial))
			add_task(ret_summary, trace, trace_task_at(trace, i), from, to);
	if (r == 0)
		r = sort_programs(trace, ret_summary);
	if (r < 0)
		clew_summary_done(ret_summary);
	return r;
}

void clew_summary_done(struct clew_summary *summary)
{
	free(summary->programs);
	free(summary->program_of);
	*summary = (struct clew_summary){};
}

int clew_summary_cpu(const struct clew_summary *summary, const struct clew_trace *trace,
		     uint32_t victim, uint64_t from, uint64_t to, uint64_t **ret_ns)
{
	uint64_t *had = calloc(summary->count + 1, sizeof(*had));

	if (!had)
		return -ENOMEM;
	for (size_t i = 0; i < trace->tasks.count; i++) {
		const struct trace_task *task = trace_task_at(trace, i);
		struct clew_piece piece;
		uint32_t hint = 0;

		if (summary->program_of[i] != victim ||
		    !clew_is_chosen(&summary->chosen, trace, task->task.serial))
			continue;
		for (uint64_t at = task->begin > from ? task->begin : from;
		     at < to && at < task->end && trace_piece_at(trace, task, at, &hint, &piece) &&
		     piece.end > at;
		     at = piece.end)
			if (piece.kind == CLEW_PIECE_RUNQUEUE)
				add_cpu(summary, trace, task, piece.cpu, at,
					piece.end < to ? piece.end : to, add_ns, had);
	}
	*ret_ns = had;
	return 0;
}

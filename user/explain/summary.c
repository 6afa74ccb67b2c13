/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up how programs spent their time: the sums of their tasks. */
#include "explain/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

/* ---- programs ---- */

struct named_task {
	const struct trace_task *task;
	struct clew_program program;
};

bool clew_program_name(const struct clew_trace *trace, const struct clew_trace_task *task,
		       char name[static CLEW_COMM_SIZE + 1])
{
	const struct clew_trace_task *leader = clew_trace_task(trace, task->process);
	bool kernel = task->flags & (CLEW_TASK_KTHREAD | CLEW_TASK_KWORKER);

	memset(name, 0, CLEW_COMM_SIZE + 1);
	strncpy(name, (leader ?: task)->comm, CLEW_COMM_SIZE);
	if (kernel) {
		size_t length = strcspn(name, "0123456789:");

		/* "kworker/u8" and "ksoftirqd/1" lose their slash, too. */
		while (length > 1 && strchr("/-_.", name[length - 1]))
			length--;
		memset(name + length, 0, CLEW_COMM_SIZE + 1 - length);
	}
	return kernel;
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
		named[named_count].program.kernel =
			clew_program_name(trace, &task->task, named[named_count].program.name);
		named_count++;
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

static void add_time(const struct clew_summary *summary, uint32_t number,
		     const struct clew_task_time *time)
{
	struct clew_program *program = &summary->programs[number];
	uint64_t total = 0;

	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++) {
		program->spent[spent] += time->spent[spent];
		total += time->spent[spent];
	}
	program->total += total;
	program->tasks += total > 0;
	program->had_lock += time->had_lock;
}

static void add_times(const struct clew_summary *summary, const struct clew_trace *trace)
{
	const struct clew_task_times *times = &summary->times;
	const struct clew_task_time *all = times->times.data;

	for (size_t i = 0; i < times->times.count; i++) {
		uint32_t program = clew_summary_program(summary, trace, all[i].task);

		if (program != UINT32_MAX)
			add_time(summary, program, &all[i]);
	}
	for (size_t i = 0; i < times->had_cpu.capacity; i++) {
		const struct map_slot *slot = &times->had_cpu.slots[i];
		uint32_t program =
			slot->used ? clew_summary_program(summary, trace, slot->part) : UINT32_MAX;

		if (program != UINT32_MAX)
			summary->programs[program].had_cpu += slot->value;
	}
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

int clew_summary_of(const struct clew_trace *trace, struct clew_task_times *times,
		    struct clew_summary *ret_summary)
{
	int r;

	*ret_summary = (struct clew_summary){.times = *times};
	*times = (struct clew_task_times){};
	r = make_programs(trace, ret_summary);
	if (r == 0) {
		add_times(ret_summary, trace);
		r = sort_programs(trace, ret_summary);
	}
	if (r < 0)
		clew_summary_done(ret_summary);
	return r;
}

void clew_summary_done(struct clew_summary *summary)
{
	free(summary->programs);
	free(summary->program_of);
	clew_task_times_done(&summary->times);
	*summary = (struct clew_summary){};
}

int clew_summary_cpu(const struct clew_summary *summary, const struct clew_trace *trace,
		     uint32_t victim, uint64_t **ret_ns)
{
	const struct map *had_cpu = &summary->times.had_cpu;
	uint64_t *had = calloc(summary->count + 1, sizeof(*had));

	if (!had)
		return -ENOMEM;
	for (size_t i = 0; i < had_cpu->capacity; i++) {
		const struct map_slot *slot = &had_cpu->slots[i];
		uint32_t program;

		if (!slot->used ||
		    clew_summary_program(summary, trace, (uint32_t)slot->key) != victim)
			continue;
		program = clew_summary_program(summary, trace, slot->part);
		if (program != UINT32_MAX)
			had[program] += slot->value;
	}
	*ret_ns = had;
	return 0;
}

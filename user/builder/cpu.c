/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The task that each CPU runs. Runs and ready intervals of tasks are emitted here.
 */
#include "builder/cpu.h"
#include "builder/emit.h"
#include "builder/task.h"
#include <stdlib.h>
#include <string.h>

struct cpu *build_cpu(struct clew_builder *builder, uint16_t number)
{
	if (number >= builder->cpu_count) {
		size_t count = (size_t)number + 1;
		struct cpu *cpus = realloc(builder->cpus, count * sizeof(*cpus));

		if (!cpus)
			return NULL;
		memset(cpus + builder->cpu_count, 0, (count - builder->cpu_count) * sizeof(*cpus));
		builder->cpus = cpus;
		builder->cpu_count = count;
	}
	return &builder->cpus[number];
}

int build_send_run(struct clew_builder *builder, struct task *task, uint16_t cpu, uint64_t start,
		   uint64_t end, enum clew_run_end ended, bool open_start)
{
	struct clew_run run = {
		.start = task ? later(start, task->frontier) : start,
		.end = end,
		.task = task ? task->serial : CLEW_NO_TASK,
		.cpu = cpu,
		.ended = (uint8_t)ended,
		.open_start = open_start,
	};

	if (run.start > end || (run.start == end && ended == CLEW_RUN_LOST))
		return 0;
	if (task)
		task->frontier = end;
	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_RUN, .run = &run});
}

int build_send_ready(struct clew_builder *builder, struct task *task, uint64_t start, uint64_t end)
{
	struct clew_ready ready = {
		.start = later(start, task->frontier), .end = end, .task = task->serial};

	if (ready.start >= end)
		return 0;
	task->frontier = end;
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_READY, .ready = &ready});
}

int build_lose_cpu(struct clew_builder *builder, struct cpu *cpu, uint64_t sure)
{
	uint16_t number = (uint16_t)(cpu - builder->cpus);
	struct task *task;
	int r = 0;

	cpu->seen = true;
	if (!cpu->known)
		return 0;
	cpu->known = false;
	sure = earlier(later(sure, cpu->since), builder->now);
	if (cpu->current == CLEW_NO_TASK)
		return build_send_run(builder, NULL, number, cpu->since, sure, CLEW_RUN_LOST,
				      cpu->open_start);
	task = build_task_find(builder, cpu->current);
	if (!task || task->state != TASK_RUNNING || task->cpu != number)
		return 0;
	r = build_send_run(builder, task, number, task->since, sure, CLEW_RUN_LOST,
			   task->open_start);
	task->frontier = later(task->frontier, sure);
	build_where_lost(task);
	task->state = TASK_UNKNOWN;
	task->since = sure;
	return r;
}

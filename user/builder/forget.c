/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frees tasks, with what other files keep for each. A dead task is found by serial for
 * a while more, so that the tasks it woke can name it.
 */
#include "builder/builder.h"
#include "builder/frame.h"
#include "builder/task.h"
#include "builder/work.h"
#include "builder/writeback.h"
#include <stdlib.h>

/* Frees what hangs on a task. */
static void empty_task(struct clew_builder *builder, struct task *task)
{
	build_worker_done(builder, task);
	build_flush_done(builder, task);
	build_frames_done(builder, task);
	builder->blocks.memory -= task->ended_capacity * sizeof(*task->ended);
	free(task->ended);
	free(task->ring_wait);
	task->ended = NULL;
	task->ended_count = task->ended_capacity = 0;
	task->ring_wait = NULL;
}

void build_task_forget_dead(struct clew_builder *builder, uint64_t before)
{
	struct task_table *table = &builder->tasks;
	struct task *task;

	while ((task = table->dead_first) && task->since < before) {
		struct task_page **page = &table->pages[task->serial >> TASK_PAGE_BITS];

		table->dead_first = task->next;
		if (!table->dead_first)
			table->dead_last = NULL;
		(*page)->tasks[task->serial & TASK_PAGE_MASK] = NULL;
		if (--(*page)->used == 0) {
			free(*page);
			*page = NULL;
			table->pages_used--;
		}
		table->count--;
		empty_task(builder, task);
		if (table->free_count < 1024) {
			task->next = table->free;
			table->free = task;
			table->free_count++;
		} else {
			free(task);
		}
	}
}

void build_tasks_done(struct clew_builder *builder)
{
	struct task_table *table = &builder->tasks;
	struct task *next;

	for (size_t i = 0; i < table->page_count; i++) {
		for (size_t k = 0; table->pages[i] && k <= TASK_PAGE_MASK; k++) {
			if (table->pages[i]->tasks[k])
				empty_task(builder, table->pages[i]->tasks[k]);
			free(table->pages[i]->tasks[k]);
		}
		free(table->pages[i]);
	}
	free(table->pages);
	for (struct task *task = table->free; task; task = next) {
		next = task->next;
		free(task);
	}
	map_done(&table->tids);
	map_done(&table->memories);
	map_done(&table->global_tids);
	*table = (struct task_table){0};
}

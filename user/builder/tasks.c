/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder's tasks: found by serial, and by the tid that another task of the
 * same pid namespace would use. A dead task is not found by tid; forget.c frees it a
 * while later.
 */
#include "builder/builder.h"
#include "builder/task.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TASK_PAGE_MASK ((1u << TASK_PAGE_BITS) - 1)

struct task *build_task_find(const struct clew_builder *builder, uint32_t serial)
{
	const struct task_table *table = &builder->tasks;
	size_t page = serial >> TASK_PAGE_BITS;

	if (page >= table->page_count || !table->pages[page])
		return NULL;
	return table->pages[page]->tasks[serial & TASK_PAGE_MASK];
}

static struct task_page *page_of(struct task_table *table, uint32_t serial)
{
	size_t page = serial >> TASK_PAGE_BITS;

	if (page >= table->page_count) {
		size_t count = page + 1 + page / 2;
		struct task_page **pages = realloc(table->pages, count * sizeof(*pages));

		if (!pages)
			return NULL;
		memset(pages + table->page_count, 0, (count - table->page_count) * sizeof(*pages));
		table->pages = pages;
		table->page_count = count;
	}
	if (!table->pages[page]) {
		table->pages[page] = calloc(1, sizeof(*table->pages[page]));
		if (table->pages[page])
			table->pages_used++;
	}
	return table->pages[page];
}

struct task *build_task_get(struct clew_builder *builder, uint32_t serial)
{
	struct task_table *table = &builder->tasks;
	struct task *task = build_task_find(builder, serial);
	struct task_page *page;

	if (task || build_nobody(serial))
		return task;
	page = page_of(table, serial);
	if (!page)
		return NULL;
	task = table->free;
	if (task) {
		table->free = task->next;
		table->free_count--;
		memset(task, 0, sizeof(*task));
	} else {
		task = calloc(1, sizeof(*task));
		if (!task)
			return NULL;
	}
	task->serial = serial;
	task->process = serial;
	task->frontier = builder->options.start;
	page->tasks[serial & TASK_PAGE_MASK] = task;
	page->used++;
	table->count++;
	return task;
}

static void unlist_tid(struct task_table *table, const struct task *task)
{
	uint64_t *serial = task->tid ? map_get(&table->tids, task->tid, task->pid_namespace) : NULL;

	if (serial && *serial == task->serial)
		map_remove(&table->tids, task->tid, task->pid_namespace);
	serial = task->global_tid ? map_get(&table->global_tids, task->global_tid, 0) : NULL;
	if (serial && *serial == task->serial)
		map_remove(&table->global_tids, task->global_tid, 0);
}

int build_task_identity(struct clew_builder *builder, const struct clew_task_record *record)
{
	struct task *task = build_task_get(builder, record->task);
	unsigned levels =
		record->nspid_count < CLEW_NSPID_LEVELS ? record->nspid_count : CLEW_NSPID_LEVELS;
	int r = 0;

	if (!task)
		return build_nobody(record->task) ? 0 : -ENOMEM;
	memcpy(task->comm, record->comm, sizeof(task->comm));
	task->comm[sizeof(task->comm) - 1] = 0;
	task->start_time = record->start_time;
	task->kworker = record->task_flags & CLEW_TASK_KWORKER;
	if (record->process)
		task->process = record->process;
	if (task->state == TASK_DEAD)
		return 0;
	unlist_tid(&builder->tasks, task);
	task->pid_namespace = record->pid_namespace;
	task->tid = levels ? record->nspid[levels - 1] : record->tid;
	task->global_tid = record->tid;
	if (task->global_tid)
		r = map_set(&builder->tasks.global_tids, task->global_tid, 0, task->serial);
	if (r < 0)
		return r;
	return task->tid
		       ? map_set(&builder->tasks.tids, task->tid, task->pid_namespace, task->serial)
		       : 0;
}

uint32_t build_task_resolve(const struct clew_builder *builder, const struct task *waiter,
			    uint32_t tid, bool shared)
{
	const uint64_t *serial =
		tid ? map_get(&builder->tasks.tids, tid, waiter->pid_namespace) : NULL;
	const struct task *task = serial ? build_task_find(builder, (uint32_t)*serial) : NULL;

	if (!task || (!shared && task->process != waiter->process))
		return CLEW_NO_TASK;
	return task->serial;
}

uint32_t build_task_by_tid(const struct clew_builder *builder, uint32_t tid)
{
	const uint64_t *serial = tid ? map_get(&builder->tasks.global_tids, tid, 0) : NULL;

	return serial ? (uint32_t)*serial : CLEW_NO_TASK;
}

void build_task_dead(struct clew_builder *builder, struct task *task)
{
	struct task_table *table = &builder->tasks;

	if (task->state == TASK_DEAD)
		return;
	unlist_tid(table, task);
	task->state = TASK_DEAD;
	task->since = builder->now;
	task->next = NULL;
	if (table->dead_last)
		table->dead_last->next = task;
	else
		table->dead_first = task;
	table->dead_last = task;
}

size_t build_tasks_memory(const struct clew_builder *builder)
{
	const struct task_table *table = &builder->tasks;

	return (table->count + table->free_count) * sizeof(struct task) +
	       table->pages_used * sizeof(struct task_page) +
	       table->page_count * sizeof(*table->pages) + map_memory(&table->tids) +
	       map_memory(&table->global_tids);
}

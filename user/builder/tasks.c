/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder's tasks: found by serial and by tid. A dead task is not found by tid;
 * forget.c frees it a while later.
 *
 * A process may share its memory with another one. A number stands for one memory until
 * the last task that has it dies, or execs: after that the kernel may use the record's
 * number for another one.
 */
#include "builder/builder.h"
#include "builder/task.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TASK_PAGE_MASK ((1u << TASK_PAGE_BITS) - 1)

/* Set in the number of a memory: it is no serial of a process. */
#define MEMORY_NUMBERED 0x80000000u

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

static struct task *first_of_tid(const struct clew_builder *builder, uint32_t tid)
{
	const uint64_t *serial = tid ? map_get(&builder->tasks.tids, tid, 0) : NULL;

	return serial ? build_task_find(builder, (uint32_t)*serial) : NULL;
}

static void unlist_tid(struct clew_builder *builder, struct task *task)
{
	struct task_table *table = &builder->tasks;
	const uint64_t *serial =
		task->global_tid ? map_get(&table->global_tids, task->global_tid, 0) : NULL;

	if (serial && *serial == task->serial)
		map_remove(&table->global_tids, task->global_tid, 0);
	if (task->tid_next)
		task->tid_next->tid_previous = task->tid_previous;
	if (task->tid_previous)
		task->tid_previous->tid_next = task->tid_next;
	else if (first_of_tid(builder, task->tid) == task && task->tid_next)
		*map_get(&table->tids, task->tid, 0) = task->tid_next->serial;
	else if (first_of_tid(builder, task->tid) == task)
		map_remove(&table->tids, task->tid, 0);
	task->tid_next = task->tid_previous = NULL;
}

static int list_tid(struct clew_builder *builder, struct task *task)
{
	struct task *first = first_of_tid(builder, task->tid);

	/* One that has the same tid has ended unseen. */
	for (struct task *other = first, *next; other; other = next) {
		next = other->tid_next;
		if (other->pid_namespace == task->pid_namespace)
			unlist_tid(builder, other);
	}
	first = first_of_tid(builder, task->tid);
	if (map_set(&builder->tasks.tids, task->tid, 0, task->serial) < 0)
		return -ENOMEM;
	task->tid_next = first;
	if (first)
		first->tid_previous = task;
	return 0;
}

static void leave_memory(struct task_table *table, struct task *task)
{
	uint64_t *known =
		task->memory_record ? map_get(&table->memories, task->memory_record, 0) : NULL;

	if (known && (*known -= 1ull << 32) >> 32 == 0)
		map_remove(&table->memories, task->memory_record, 0);
	task->memory_record = 0;
}

static int join_memory(struct task_table *table, struct task *task, uint32_t memory_record)
{
	uint64_t *known;

	if (memory_record == task->memory_record || !memory_record)
		return 0;
	leave_memory(table, task);
	known = map_get(&table->memories, memory_record, 0);
	task->memory_record = memory_record;
	if (known) {
		*known += 1ull << 32;
		task->memory = (uint32_t)*known;
		return 0;
	}
	task->memory = ++table->last_memory | MEMORY_NUMBERED;
	return map_set(&table->memories, memory_record, 0, 1ull << 32 | task->memory);
}

uint32_t build_task_memory(const struct clew_builder *builder, const struct task *task)
{
	const struct task *leader;

	if (task->memory)
		return task->memory;
	leader = build_task_find(builder, task->process);
	return leader && leader->memory ? leader->memory : task->process;
}

unsigned build_task_threads(const struct clew_builder *builder, uint32_t serial)
{
	const struct task *task = build_task_find(builder, serial);
	const uint64_t *known = task && task->memory_record
					? map_get(&builder->tasks.memories, task->memory_record, 0)
					: NULL;

	return known ? (unsigned)(*known >> 32) : 1;
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
	r = join_memory(&builder->tasks, task, record->memory);
	if (r < 0)
		return r;
	unlist_tid(builder, task);
	task->pid_namespace = record->pid_namespace;
	task->tid = levels ? record->nspid[levels - 1] : record->tid;
	task->global_tid = record->tid;
	if (task->global_tid)
		r = map_set(&builder->tasks.global_tids, task->global_tid, 0, task->serial);
	if (r < 0)
		return r;
	return task->tid ? list_tid(builder, task) : 0;
}

uint32_t build_task_resolve(const struct clew_builder *builder, const struct task *waiter,
			    uint32_t tid, enum tid_scope scope)
{
	const struct task *found = NULL;

	for (const struct task *task = first_of_tid(builder, tid); task; task = task->tid_next) {
		if ((scope == TID_OF_MEMORY &&
		     build_task_memory(builder, task) != build_task_memory(builder, waiter)) ||
		    (scope == TID_OF_KERNEL && task->pid_namespace != waiter->pid_namespace))
			continue;
		if (found)
			return CLEW_NO_TASK;
		found = task;
	}
	return found ? found->serial : CLEW_NO_TASK;
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
	unlist_tid(builder, task);
	leave_memory(table, task);
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
	       map_memory(&table->global_tids) + map_memory(&table->memories);
}

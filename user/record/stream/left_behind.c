/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notes the tasks of a recording, to find later which living processes descend from
 * its command. /proc cannot say it: an orphan has another parent.
 *
 * Invariant: a task's serial is greater than that of the task that made it, so one pass
 * in order of serials finds all descendants.
 */
#include "record/stream/left_behind.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/capture.h"

#define TASKS_MOST 65536u

struct started {
	uint32_t task, parent; /* serials */
	pid_t tid, pid;
};

struct clew_left_behind {
	atomic_bool begun;
	atomic_uint count; /* of all tasks; those after TASKS_MOST are not kept */
	struct started tasks[TASKS_MOST];
};

struct clew_left_behind *clew_left_behind_new(void)
{
	struct clew_left_behind *left = malloc(sizeof(*left));

	/* All pages are there before a drain thread writes to them. */
	return left ? memset(left, 0, sizeof(*left)) : NULL;
}

void clew_left_behind_free(struct clew_left_behind *left)
{
	free(left);
}

static int take(void *context, unsigned stream, const struct clew_header *record, size_t size)
{
	const struct clew_task_record *task = (const struct clew_task_record *)record;
	struct clew_left_behind *left = context;
	unsigned at;

	/* Records of the user stream after the recording's begin were there before. */
	if (stream == CLEW_STREAM_USER && atomic_load_explicit(&left->begun, memory_order_relaxed))
		return 0;
	if (record->kind != CLEW_KIND_TASK || size < sizeof(*task) ||
	    task->task_flags & CLEW_TASK_KTHREAD)
		return 0;
	at = atomic_fetch_add_explicit(&left->count, 1, memory_order_relaxed);
	if (at < TASKS_MOST)
		left->tasks[at] = (struct started){.task = task->task,
						   .parent = task->parent,
						   .tid = (pid_t)task->tid,
						   .pid = (pid_t)task->pid};
	else
		atomic_store_explicit(&left->count, TASKS_MOST, memory_order_relaxed);
	return 0;
}

static void begin(void *context, uint64_t start)
{
	struct clew_left_behind *left = context;

	(void)start;
	atomic_store(&left->begun, true);
}

struct clew_record_taker clew_left_behind_taker(struct clew_left_behind *left)
{
	return (struct clew_record_taker){.context = left, .begin = begin, .take = take};
}

/* False: it has ended, even if its parent has not asked for its status. */
static bool is_alive(pid_t pid)
{
	char path[32], state = 'Z';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* A name may contain brackets and blanks. */
	for (int c; (c = getc(file)) != EOF;)
		if (c == ')' && fscanf(file, " %c", &state) != 1)
			state = 'Z';
	fclose(file);
	return state != 'Z' && state != 'X';
}

static int compare(const void *left, const void *right)
{
	const struct started *a = left, *b = right;

	return a->task < b->task ? -1 : a->task > b->task;
}

size_t clew_left_behind_find(struct clew_left_behind *left, pid_t command, pid_t *ret_pids,
			     size_t most)
{
	unsigned count = atomic_load(&left->count);
	size_t found = 0, members = 0;

	count = count < TASKS_MOST ? count : TASKS_MOST;
	qsort(left->tasks, count, sizeof(*left->tasks), compare);
	/* The descendants come to the front, in order. */
	for (unsigned i = 0; i < count; i++) {
		const struct started task = left->tasks[i];
		const struct started parent = {.task = task.parent};
		bool leads = task.tid == task.pid;

		/* One task may have several records. */
		if ((members && left->tasks[members - 1].task == task.task) ||
		    (task.pid != command &&
		     !bsearch(&parent, left->tasks, members, sizeof(parent), compare)))
			continue;
		left->tasks[members++] = task;
		if (leads && task.pid != command && is_alive(task.pid)) {
			if (found < most)
				ret_pids[found] = task.pid;
			found++;
		}
	}
	atomic_store(&left->count, 0);
	return found;
}

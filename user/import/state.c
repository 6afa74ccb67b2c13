/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks, and the records about them. */
#include "import/state.h"

#include <errno.h>
#include <string.h>

int import_put(struct import *import, unsigned stream, struct clew_header *record, unsigned kind,
	       size_t size)
{
	uint64_t *last = stream == CLEW_STREAM_USER ? &import->user : &import->cpus[stream].last;

	if (*last < import->now)
		*last = import->now;
	record->time = *last;
	record->cpu = (uint16_t)stream;
	record->kind = (uint8_t)kind;
	return clew_writer_put(import->writer, stream, record, size);
}

/* True if a name is one, and not what stands for an unknown one: "<...>", ":123". */
static bool is_name(const char *comm)
{
	return comm[0] && comm[0] != '<' && comm[0] != ':';
}

/* The process of a thread that is not its leader, 0 unknown or the leader itself. */
static uint32_t leader_of(const struct import *import, uint32_t tid)
{
	const uint64_t *pid = map_get(&import->processes, tid, 0), *own;

	if (!pid || *pid == tid)
		return 0;
	own = map_get(&import->processes, *pid, 0);
	return own && *own != *pid ? 0 : (uint32_t)*pid;
}

static int put_task(struct import *import, const struct import_task *task,
		    const struct import_task *parent, bool begins)
{
	struct clew_task_record record = {
		.task = task->serial,
		.process = task->serial,
		.parent = parent ? parent->serial : 0,
		.tid = task->tid,
		.pid = task->tid,
		.start_time = begins ? import->now : 0,
		.nspid_count = 1,
		.nspid[0] = task->tid,
		.task_flags = strncmp(task->comm, "kworker/", 8) ? 0 : CLEW_TASK_KWORKER,
	};
	uint32_t pid = leader_of(import, task->tid);
	int r = 0;

	/* Its process comes before a thread. */
	if (pid && (!begins || parent)) {
		const struct import_task *leader = import_task(import, pid, "", &r);

		if (!leader)
			return r;
		record.process = leader->serial;
		record.pid = leader->tid;
	}
	memcpy(record.comm, task->comm, sizeof(record.comm));
	return import_put(import, CLEW_STREAM_USER, &record.header, CLEW_KIND_TASK, sizeof(record));
}

static struct import_task *add_task(struct import *import, uint32_t tid, const char *comm,
				    const struct import_task *parent, bool begins, int *ret_error)
{
	struct vector *tasks = &import->tasks;
	struct import_task task = {.serial = (uint32_t)tasks->count + 1,
				   .tid = tid,
				   .call = CLEW_NO_CALL,
				   .slept = !begins,
				   .is_new = begins};
	struct import_task creator = parent ? *parent : (struct import_task){};
	size_t index = tasks->count;

	strncpy(task.comm, is_name(comm) ? comm : "?", sizeof(task.comm) - 1);
	task.kernel = !strncmp(task.comm, "kworker/", 8);
	if (vector_reserve(tasks, index + 1) < 0 || map_set(&import->tids, tid, 0, index) < 0) {
		*ret_error = -ENOMEM;
		return NULL;
	}
	((struct import_task *)tasks->data)[tasks->count++] = task;
	import->sums->tasks++;
	*ret_error = put_task(import, &task, parent ? &creator : NULL, begins);
	/* Its process may have been added meanwhile, and the array moved. */
	return *ret_error < 0 ? NULL : (struct import_task *)tasks->data + index;
}

static int put_name(struct import *import, struct import_task *task, const char *comm)
{
	struct clew_rename record = {.task = task->serial};

	if (!is_name(comm) || !strncmp(task->comm, comm, sizeof(task->comm)))
		return 0;
	memset(task->comm, 0, sizeof(task->comm));
	strncpy(task->comm, comm, sizeof(task->comm) - 1);
	memcpy(record.comm, task->comm, sizeof(record.comm));
	return import_put(import, CLEW_STREAM_USER, &record.header, CLEW_KIND_RENAME,
			  sizeof(record));
}

/* NULL without an error: the idle task. */
struct import_task *import_task(struct import *import, uint32_t tid, const char *comm,
				int *ret_error)
{
	const uint64_t *index = map_get(&import->tids, tid, 0);
	struct import_task *task;

	*ret_error = 0;
	if (!tid)
		return NULL;
	if (!index)
		return add_task(import, tid, comm, NULL, false, ret_error);
	task = (struct import_task *)import->tasks.data + *index;
	*ret_error = put_name(import, task, comm);
	return *ret_error < 0 ? NULL : task;
}

struct import_task *import_begin(struct import *import, uint32_t tid, const char *comm,
				 const struct import_task *parent, int *ret_error)
{
	*ret_error = 0;
	return tid ? add_task(import, tid, comm, parent, true, ret_error) : NULL;
}

void import_gone(struct import *import, const struct import_task *task)
{
	map_remove(&import->tids, task->tid, 0);
}

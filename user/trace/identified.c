/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions about identities in a trace: which task, name, file, socket or cgroup it was then.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t piece_end(const struct clew_trace *trace, uint32_t piece)
{
	uint32_t index = piece & PIECE_INDEX;
	const struct clew_sleep *sleep;

	switch (piece >> PIECE_SHIFT) {
	case PIECE_RUN:
		return ((const struct clew_run *)trace->runs.data)[index].end;
	case PIECE_READY:
		return ((const struct clew_ready *)trace->readies.data)[index].end;
	default:
		sleep = (const struct clew_sleep *)trace->sleeps.data + index;
		return sleep->end == CLEW_TIME_OPEN ? CLEW_TIME_OPEN : sleep->switch_in;
	}
}

/* Finds where a task's timeline begins and ends. */
static void bound_timeline(const struct clew_trace *trace, struct trace_task *task)
{
	const struct numbers *pieces = &task->pieces;
	uint64_t first = pieces->count ? trace_piece_start(trace, pieces->data[0]) : CLEW_TIME_OPEN;
	uint64_t last = pieces->count ? piece_end(trace, pieces->data[pieces->count - 1]) : 0;

	if (task->bounded)
		return;
	if (last < task->passed)
		last = task->passed;
	if (task->task.birth == 0 && task->start_time > trace->start) {
		task->task.birth = task->start_time < first ? task->start_time : first;
		if (task->made_ready > task->task.birth)
			task->task.birth = task->made_ready;
	}
	/* Until it was made ready its creator was still setting it up. */
	if (!task->cut && task->task.birth && pieces->count &&
	    pieces->data[0] >> PIECE_SHIFT == PIECE_READY && first > task->task.birth)
		task->task.birth = first;
	if (task->task.death == CLEW_TIME_OPEN && task->exit_time)
		task->task.death =
			last > task->exit_time && last != CLEW_TIME_OPEN ? last : task->exit_time;
	task->begin = task->task.birth ? task->task.birth : trace->start;
	if (first < task->begin)
		task->begin = first;
	task->end = task->task.death < trace->end ? task->task.death : trace->end;
	if (task->end < task->begin)
		task->end = task->begin;
}

/* True if a tid means the same with both. */
static bool is_of_host(const struct trace_task *a, const struct trace_task *b)
{
	return a->task.host == b->task.host || !strcmp(a->task.host ?: "", b->task.host ?: "");
}

static int compare_tids(const void *left, const void *right)
{
	const struct trace_task *a = *(struct trace_task *const *)left,
				*b = *(struct trace_task *const *)right;

	if (a->task.tid != b->task.tid)
		return a->task.tid < b->task.tid ? -1 : 1;
	if (!is_of_host(a, b))
		return strcmp(a->task.host ?: "", b->task.host ?: "");
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->task.serial < b->task.serial ? -1 : a->task.serial > b->task.serial;
}

static int compare_serials(const void *left, const void *right)
{
	const struct trace_task *a = *(struct trace_task *const *)left,
				*b = *(struct trace_task *const *)right;

	return a->task.serial < b->task.serial ? -1 : a->task.serial > b->task.serial;
}

int trace_finish_tasks(struct clew_trace *trace)
{
	size_t count = trace->tasks.count;
	struct trace_task **by_tid = calloc(count + 1, sizeof(*by_tid));

	if (!by_tid)
		return -ENOMEM;
	if (count > 1)
		qsort(trace->tasks.data, count, sizeof(*by_tid), compare_serials);
	for (size_t i = 0; i < count; i++) {
		struct trace_task *task = trace_task_at(trace, i);

		task->index = (uint32_t)i;
		bound_timeline(trace, task);
		clew_trace_file(trace, task->executable_device, task->executable_inode,
				&task->task.executable);
		by_tid[i] = task;
	}
	qsort(by_tid, count, sizeof(*by_tid), compare_tids);
	for (size_t i = 1; i < count; i++)
		if (by_tid[i]->task.tid && by_tid[i]->task.tid == by_tid[i - 1]->task.tid &&
		    is_of_host(by_tid[i], by_tid[i - 1]))
			by_tid[i]->task.instance = by_tid[i - 1]->task.instance + 1;
	free(by_tid);
	return 0;
}

size_t clew_trace_task_count(const struct clew_trace *trace)
{
	return trace->tasks.count;
}

const struct clew_trace_task *clew_trace_task_at(const struct clew_trace *trace, size_t index)
{
	return index < trace->tasks.count ? &trace_task_at(trace, index)->task : NULL;
}

const struct clew_trace_task *clew_trace_task(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_task *task = trace_task_find(trace, serial);

	return task ? &task->task : NULL;
}

uint32_t clew_trace_process(const struct clew_trace *trace, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	return task ? task->process : serial;
}

const char *clew_trace_comm_at(const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	uint32_t i;

	if (!task || task->name_count == 0)
		return "";
	for (i = task->name_count - 1; i > 0 && task->names[i].since > at; i--)
		;
	return task->names[i].name;
}

const char *clew_trace_comm_number(const struct clew_trace *trace, uint32_t serial, size_t number)
{
	const struct trace_task *task = trace_task_find(trace, serial);

	return task && number < task->name_count ? task->names[number].name : NULL;
}

static const void *look_up(const struct map *map, uint64_t key, uint32_t part)
{
	const uint64_t *value = map_get(map, key, part);

	return value ? (const void *)(uintptr_t)*value : NULL;
}

static const struct trace_file *file_at(const struct clew_trace *trace, uint32_t device,
					uint64_t inode, uint64_t at)
{
	const struct trace_file *file = look_up(&trace->files, inode, device);

	while (file && file->older && file->since > at)
		file = file->jump->since > at ? file->jump : file->older;
	return file;
}

struct clew_file_key clew_trace_file_key(const struct clew_trace *trace, uint32_t device,
					 uint64_t inode, uint64_t at)
{
	const struct trace_file *file = file_at(trace, device, inode, at);

	return file ? (struct clew_file_key){.number = file->number, .device = UINT32_MAX}
		    : (struct clew_file_key){.number = inode, .device = device};
}

const struct clew_file_record *clew_trace_file_at(const struct clew_trace *trace, uint32_t device,
						  uint64_t inode, uint64_t at,
						  const char **ret_path)
{
	const struct trace_file *file = file_at(trace, device, inode, at);

	file = file ? *file->last : NULL;
	if (ret_path)
		*ret_path = file ? (const char *)(&file->record + 1) : "";
	return file ? &file->record : NULL;
}

const struct clew_file_record *clew_trace_file_then(const struct clew_trace *trace, uint32_t device,
						    uint64_t inode, uint64_t at,
						    const char **ret_path)
{
	const struct trace_file *file = file_at(trace, device, inode, at);

	*ret_path = file ? (const char *)(&file->record + 1) : "";
	return file ? &file->record : NULL;
}

const struct clew_file_record *clew_trace_file(const struct clew_trace *trace, uint32_t device,
					       uint64_t inode, const char **ret_path)
{
	return clew_trace_file_at(trace, device, inode, CLEW_TIME_OPEN, ret_path);
}

uint32_t clew_trace_mount_namespace(const struct clew_trace *trace)
{
	return trace->mount_namespace;
}

const struct clew_socket_record *clew_trace_socket(const struct clew_trace *trace, uint64_t inode)
{
	return look_up(&trace->sockets, inode, 0);
}

const char *clew_trace_cgroup(const struct clew_trace *trace, uint64_t id)
{
	const struct clew_cgroup_record *cgroup = look_up(&trace->cgroups, id, 0);

	return cgroup ? (const char *)(cgroup + 1) : NULL;
}

const char *clew_trace_text(const struct clew_trace *trace, uint64_t hash)
{
	const struct clew_text_record *text = look_up(&trace->texts, hash, 0);

	return text ? (const char *)(text + 1) : NULL;
}

const char *clew_trace_group_name(const struct clew_trace *trace, uint64_t id, unsigned which)
{
	uint64_t number = id ? clew_group_text(id, which) : 0;

	return number ? clew_trace_text(trace, number) : NULL;
}

const struct clew_announce *const *clew_trace_announcements(const struct clew_trace *trace,
							    size_t *ret_count)
{
	*ret_count = trace->announcements.count;
	return trace->announcements.data;
}

const struct clew_moment *const *clew_trace_moments(const struct clew_trace *trace,
						    size_t *ret_count)
{
	*ret_count = trace->moments.count;
	return trace->moments.data;
}

void clew_trace_keep_jobs(struct clew_trace *trace, struct clew_jobs *jobs,
			  void (*free_jobs)(struct clew_jobs *jobs))
{
	trace->jobs = jobs;
	trace->free_jobs = free_jobs;
}

const struct clew_jobs *clew_trace_jobs(const struct clew_trace *trace)
{
	return trace->jobs;
}

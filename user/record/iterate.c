/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Passes over all tasks: what the kernel side's iterator writes goes to the
 * user stream. In the first pass processes and parents come as pids, and are
 * replaced by serials here.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/environment.h"
#include "record/internal.h"
#include "record/pid_namespace.h"

/* The record that a pass writes for each task (bpf/iterate.bpf.c). */
struct identified {
	struct clew_task_record task;
	char command_line[CLEW_COMMAND_LINE_SIZE / 2];
};

struct found {
	struct clew_switch change;
	struct clew_wait wait;
};

int clew_iterate_read(const struct bpf_program *program, char **ret_data, size_t *ret_size)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	size_t size = 0, room = 1 << 20;
	char *data = malloc(room);
	int error = 0, file;
	ssize_t got;

	if (!link || !data) {
		error = link ? -ENOMEM : -errno;
		bpf_link__destroy(link);
		free(data);
		return error;
	}
	file = bpf_iter_create(bpf_link__fd(link));
	if (file < 0)
		error = -errno;
	while (!error) {
		if (size == room) {
			char *larger = realloc(data, room *= 2);

			if (!larger) {
				error = -ENOMEM;
				break;
			}
			data = larger;
		}
		got = read(file, data + size, room - size);
		if (got == 0)
			break;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			error = -errno;
		if (got > 0)
			size += got;
	}
	if (file >= 0)
		close(file);
	bpf_link__destroy(link);
	if (error) {
		free(data);
		return error;
	}
	*ret_data = data;
	*ret_size = size;
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	uint32_t left = (*(struct identified *const *)a)->task.tid,
		 right = (*(struct identified *const *)b)->task.tid;

	return left < right ? -1 : left > right;
}

static uint32_t serial_of(struct identified **sorted, size_t count, uint32_t tid)
{
	struct identified key = {.task.tid = tid}, *pointer = &key, **found;

	found = bsearch(&pointer, sorted, count, sizeof(*sorted), by_tid);
	return found ? (*found)->task.task : 0;
}

/* How deep clew's own PID namespace is, 0: it is the machine's. */
static uint32_t own_level(const struct clew_recorder *recorder, const struct identified *tasks,
			  size_t count)
{
	for (size_t i = 0; clew_pid_namespace() && i < count; i++)
		if (tasks[i].task.tid == recorder->bpf->rodata->self_pid)
			return tasks[i].task.nspid_count - 1u;
	return 0;
}

/* Tasks that only /proc shows. In a PID namespace its numbers are not the machine's. */
static int identify_hidden(struct clew_recorder *recorder, struct identified **sorted, size_t count)
{
	uint32_t *known;
	int error;

	if (clew_pid_namespace())
		return 0;
	if (recorder->bpf->bss->enabled)
		return clew_identify_hidden_again(recorder);
	known = malloc((count + 1) * sizeof(*known));
	for (size_t i = 0; known && i < count; i++)
		known[i] = sorted[i]->task.tid;
	error = known ? clew_identify_hidden(recorder, known, count) : -ENOMEM;
	free(known);
	return error;
}

static int put_identities(struct clew_recorder *recorder, struct identified *tasks, size_t count)
{
	struct identified **sorted = malloc(count * sizeof(*sorted));
	uint32_t level = clew_pid_namespace_shown() ? own_level(recorder, tasks, count) : 0;
	int error = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &tasks[i];
	qsort(sorted, count, sizeof(*sorted), by_tid);
	if (count)
		error = clew_environment_users(recorder, tasks[0].task.header.time);
	if (count && !error)
		error = clew_disks_read(recorder, tasks[0].task.header.time);
	for (size_t i = 0; i < count && !error; i++) {
		struct clew_task_record *task = &tasks[i].task;

		task->process = serial_of(sorted, count, task->pid);
		task->parent = serial_of(sorted, count, task->parent);
		error = clew_put_user(recorder, &tasks[i], sizeof(*task) + task->command_line_size);
		if (!error && task->tid == task->pid && !(task->task_flags & CLEW_TASK_KTHREAD))
			error = clew_environment_read(recorder, clew_pid_here(task, level),
						      task->task, task->header.time);
	}
	if (!error)
		error = identify_hidden(recorder, sorted, count);
	free(sorted);
	return error;
}

int clew_iterate_tasks(struct clew_recorder *recorder, enum clew_pass which,
		       struct clew_message *message)
{
	size_t size = 0, each = which == CLEW_PASS_IDENTIFY ? sizeof(struct identified)
							    : sizeof(struct found);
	char *data = NULL;
	int error;

	recorder->bpf->bss->pass = which;
	error = clew_iterate_read(recorder->bpf->progs.clew_iterate, &data, &size);
	if (error)
		return clew_say(message, error, "the list of tasks cannot be read: %s: try again",
				strerror(-error));
	if (which == CLEW_PASS_IDENTIFY) {
		error = put_identities(recorder, (struct identified *)data, size / each);
	} else {
		for (size_t at = 0; at + each <= size && !error; at += each) {
			struct found *found = (struct found *)(data + at);

			error = clew_put_user(recorder, found,
					      found->change.header.flags & CLEW_SWITCH_WAIT
						      ? sizeof(*found)
						      : sizeof(found->change));
		}
	}
	free(data);
	if (error)
		return clew_say(message, error,
				"the capture cannot be written: %s: give another -o",
				strerror(-error));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads, from their spans' names and attributes.
 */
#include "convert/back.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where "-TID" or "-TID#INSTANCE" begins at the end of a name; its end: there is none. */
static size_t suffix_of(const char *name, uint64_t *ret_tid)
{
	size_t length = strlen(name), at = length, digits = 0;
	uint64_t tid = 0;

	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at < length && at > 0 && name[at - 1] == '#') {
		length = at - 1;
		at = length;
		while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
			at--;
	}
	if (at == length || at == 0 || name[at - 1] != '-' || length - at > 9)
		return strlen(name);
	for (digits = at; digits < length; digits++)
		tid = tid * 10 + (uint64_t)(name[digits] - '0');
	*ret_tid = tid;
	return at - 1;
}

static int add_name(struct back *back, struct trace_task *task, uint64_t since, const char *name,
		    size_t length)
{
	struct trace_name *names = realloc(task->names, (task->name_count + 1) * sizeof(*names));
	char *copy;

	if (!names)
		return -ENOMEM;
	task->names = names;
	copy = arena_copy(&back->trace->arena, name, length);
	if (!copy)
		return -ENOMEM;
	back->trace->number_bytes += sizeof(*names);
	names[task->name_count++] = (struct trace_name){.since = since, .name = copy};
	task->name_capacity = task->name_count;
	task->task.comm = copy;
	return 0;
}

static int add_names(struct back *back, struct trace_task *task, const char *rows)
{
	char name[CLEW_COMM_SIZE + 1];
	uint64_t since;
	int r = 0;

	do {
		name[0] = 0;
		if (!scan_value_number(&rows, &since))
			return back_fail(back, "names=%.40s: a row is a time and a name", rows);
		scan_value_word(&rows, name, sizeof(name));
		r = add_name(back, task, since, name, strlen(name));
	} while (r == 0 && scan_value_row(&rows));
	return r;
}

static int take_text(struct back *back, const char *value, const char **ret_text)
{
	if (!value)
		return 0;
	*ret_text = arena_copy(&back->trace->arena, value, strlen(value));
	return *ret_text ? 0 : -ENOMEM;
}

static int take_number(struct back *back, const struct values *values, enum capture_key key,
		       uint64_t *number)
{
	return values->of[key] ? back_number(back, capture_key_words[key], values->of[key], number)
			       : 0;
}

static int take_numbers(struct back *back, const struct values *values, struct trace_task *task)
{
	struct clew_trace_task *to = &task->task;
	uint64_t tid = to->tid, pid = to->pid, user = 0, flags = 0, cgroup = 0, pids = 0,
		 mounts = 0, birth = to->birth, death = to->death;
	const char *list = values->of[CAPTURE_NAMESPACES];
	int r = take_number(back, values, CAPTURE_TID, &tid);

	pid = tid;
	if (r == 0)
		r = take_number(back, values, CAPTURE_PID, &pid);
	if (r == 0)
		r = take_number(back, values, CAPTURE_USER, &user);
	if (r == 0)
		r = take_number(back, values, CAPTURE_TASK_FLAGS, &flags);
	if (r == 0)
		r = take_number(back, values, CAPTURE_CGROUP, &cgroup);
	if (r == 0)
		r = take_number(back, values, CAPTURE_BORN, &birth);
	if (r == 0)
		r = take_number(back, values, CAPTURE_DIED, &death);
	if (r < 0)
		return r;
	if (list && (!scan_value_number(&list, &pids) || !scan_value_number(&list, &mounts)))
		return back_fail(back, "namespaces=%.40s: these are not two numbers",
				 values->of[CAPTURE_NAMESPACES]);
	to->tid = (uint32_t)tid;
	to->pid = (uint32_t)pid;
	to->user = (uint32_t)user;
	to->flags = (uint32_t)flags;
	to->cgroup = cgroup;
	to->pid_namespace = (uint32_t)pids;
	to->mount_namespace = (uint32_t)mounts;
	trace_note_mounts(back->trace, to);
	to->birth = birth;
	to->death = death;
	return 0;
}

static int take_task(struct back *back, uint32_t span, struct map *tids)
{
	const struct clew_span *from = &back->model->spans[span];
	const struct values *values = back_values(back, from->attributes);
	const char *name = clew_model_string(back->model, from->name),
		   *file = values->of[CAPTURE_EXECUTABLE_FILE];
	uint32_t serial = back->serials[span];
	struct trace_task *task;
	uint64_t tid = 0;
	size_t length = suffix_of(name, &tid);
	int r;

	if (values->of[CAPTURE_UNSEEN])
		return 0;
	task = trace_task_get(back->trace, serial);
	if (!task)
		return -ENOMEM;
	task->bounded = true;
	task->begin = (uint64_t)from->start;
	task->end = (uint64_t)from->end;
	task->task.tid = (uint32_t)tid;
	if (!back->from_capture && (uint64_t)from->start > back->trace->start)
		task->task.birth = (uint64_t)from->start;
	if (!back->from_capture && (uint64_t)from->end < back->trace->end)
		task->task.death = (uint64_t)from->end;
	r = take_numbers(back, values, task);
	if (r < 0)
		return r;
	if (task->task.tid && map_set(tids, task->task.tid, 0, 1) < 0)
		return -ENOMEM;
	if (values->of[CAPTURE_PROCESS])
		task->task.process = back_serial(back, values->of[CAPTURE_PROCESS]) ?: serial;
	if (values->of[CAPTURE_PARENT])
		task->task.parent = back_serial(back, values->of[CAPTURE_PARENT]);
	if (file) {
		uint32_t device;
		uint64_t inode;

		if (!scan_value_device(&file, &device) || !scan_value_number(&file, &inode))
			return back_fail(back, "executable_file=%.40s: this is no device and inode",
					 values->of[CAPTURE_EXECUTABLE_FILE]);
		task->executable_device = device;
		task->executable_inode = inode;
	}
	r = take_text(back, values->of[CAPTURE_COMMAND], &task->task.command_line);
	if (r == 0)
		r = take_text(back, values->of[CAPTURE_EXECUTABLE], &task->task.executable);
	if (r < 0)
		return r;
	if (values->of[CAPTURE_NAMES])
		return add_names(back, task, values->of[CAPTURE_NAMES]);
	return length ? add_name(back, task, 0, name, length) : 0;
}

static int take_spin(struct back *back, uint32_t serial, const char **rows)
{
	struct clew_spin spin = {.task = serial};
	char holder[CLEW_COMM_SIZE + 64];
	uint64_t type;

	if (!scan_value_number(rows, &spin.start) || !scan_value_number(rows, &spin.end) ||
	    !scan_value_number(rows, &spin.lock) || !scan_value_number(rows, &type) ||
	    !scan_value_word(rows, holder, sizeof(holder)))
		return back_fail(
			back,
			"spins=%.40s: a row is a start, an end, a lock, its type and a holder",
			*rows);
	spin.type = (uint32_t)type;
	spin.holder = back_serial(back, holder);
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_SPIN, .spin = &spin});
}

static int take_spins(struct back *back, uint32_t serial, const char *rows)
{
	int r;

	if (!rows)
		return 0;
	do
		r = take_spin(back, serial, &rows);
	while (r == 0 && scan_value_row(&rows));
	return r;
}

int back_tasks(struct back *back)
{
	const struct clew_model *model = back->model;
	struct map tids = {0};
	uint32_t free_tid = 0;
	int r = 0;

	for (uint32_t span = model->first_root; span != CLEW_NONE && r == 0;
	     span = model->spans[span].next_sibling) {
		if (!back->serials[span])
			continue;
		r = take_task(back, span, &tids);
		if (r == 0)
			r = take_spins(back, back->serials[span],
				       back_values(back, model->spans[span].attributes)
					       ->of[CAPTURE_SPINS]);
		if (r == 0)
			r = back_touches(back, back->serials[span],
					 back_values(back, model->spans[span].attributes)
						 ->of[CAPTURE_TOUCHES]);
		if (r == 0)
			r = back_announcements(back, back->serials[span],
					       back_values(back, model->spans[span].attributes)
						       ->of[CAPTURE_ANNOUNCED]);
		if (r == 0)
			r = back_environment(back, back->serials[span],
					     back_values(back, model->spans[span].attributes)
						     ->of[CAPTURE_ENVIRONMENT]);
	}
	back_order_announcements(back);
	/* Threads of no number get one, so that they can be asked for. */
	for (size_t i = 0; i < back->trace->tasks.count && r == 0 && !back->from_capture; i++) {
		struct trace_task *task = trace_task_at(back->trace, i);

		if (task->task.tid)
			continue;
		do
			free_tid++;
		while (map_get(&tids, free_tid, 0));
		task->task.tid = free_tid;
		if (!task->task.pid)
			task->task.pid = free_tid;
	}
	map_done(&tids);
	return r;
}

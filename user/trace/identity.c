/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Identities in a trace: tasks with their names over time, files, sockets, cgroups, texts.
 * The last record of an identity holds. All names are kept, with their times.
 */
#include "trace/internal.h"
#include "trace/stacks.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct trace_task *trace_task_get(struct clew_trace *trace, uint32_t serial)
{
	struct trace_task *task = trace_task_find(trace, serial);
	size_t number = serial >> TRACE_PAGE_BITS;
	struct trace_page **page;

	if (task || trace_nobody(serial))
		return task;
	if (vector_reserve(&trace->pages, number + 1) < 0 ||
	    vector_reserve(&trace->tasks, trace->tasks.count + 1) < 0)
		return NULL;
	page = (struct trace_page **)trace->pages.data + number;
	if (!*page) {
		*page = arena_take(&trace->arena, sizeof(**page));
		if (!*page)
			return NULL;
		memset(*page, 0, sizeof(**page));
	}
	if (number >= trace->pages.count)
		trace->pages.count = number + 1;
	task = arena_take(&trace->arena, sizeof(*task));
	if (!task)
		return NULL;
	*task = (struct trace_task){
		.task = {.serial = serial,
			 .process = serial,
			 .instance = 1,
			 .death = CLEW_TIME_OPEN,
			 .comm = "",
			 .command_line = "",
			 .executable = ""},
	};
	(*page)->tasks[serial & ((1u << TRACE_PAGE_BITS) - 1)] = task;
	((struct trace_task **)trace->tasks.data)[trace->tasks.count++] = task;
	return task;
}

static int add_name(struct clew_trace *trace, struct trace_task *task, uint64_t since,
		    const char *comm)
{
	const char *last = task->name_count ? task->names[task->name_count - 1].name : "";
	char *name;

	if (!strncmp(comm, last, CLEW_COMM_SIZE))
		return 0;
	if (task->name_count == task->name_capacity) {
		uint32_t capacity = task->name_capacity ? task->name_capacity * 2 : 1;
		struct trace_name *names = realloc(task->names, capacity * sizeof(*names));

		if (!names)
			return -ENOMEM;
		trace->number_bytes += (capacity - task->name_capacity) * sizeof(*names);
		task->names = names;
		task->name_capacity = capacity;
	}
	name = arena_copy(&trace->arena, comm, strnlen(comm, CLEW_COMM_SIZE));
	if (!name)
		return -ENOMEM;
	task->names[task->name_count++] = (struct trace_name){.since = since, .name = name};
	task->task.comm = name;
	return 0;
}

/* Arguments are separated by NULs, which become blanks; NULs at the end are dropped. */
static int set_command_line(struct clew_trace *trace, struct trace_task *task, const char *bytes,
			    size_t size)
{
	char line[CLEW_COMMAND_LINE_SIZE + 1];

	size = size > CLEW_COMMAND_LINE_SIZE ? CLEW_COMMAND_LINE_SIZE : size;
	memcpy(line, bytes, size);
	while (size > 0 && line[size - 1] == 0)
		size--;
	for (size_t i = 0; i < size; i++)
		if (line[i] == 0)
			line[i] = ' ';
	line[size] = 0;
	if (size == 0 || !strcmp(line, task->task.command_line))
		return 0;
	task->task.command_line = arena_copy(&trace->arena, line, size);
	return task->task.command_line ? 0 : -ENOMEM;
}

static int take_task(struct clew_trace *trace, const struct clew_task_record *record)
{
	struct trace_task *task = trace_task_get(trace, record->task);
	int r;

	if (!task)
		return trace_nobody(record->task) ? 0 : -ENOMEM;
	task->task.process = record->process ? record->process : record->task;
	if (record->parent)
		task->task.parent = record->parent;
	task->task.tid = record->tid;
	task->task.pid = record->pid;
	if (record->nspid_count > 1 && record->nspid_count <= CLEW_NSPID_LEVELS)
		task->task.inner_tid = record->nspid[record->nspid_count - 1];
	task->task.user = record->user;
	task->task.flags = record->task_flags;
	task->task.pid_namespace = record->pid_namespace;
	task->task.mount_namespace = record->mount_namespace;
	trace_note_mounts(trace, &task->task);
	task->task.cgroup = record->cgroup;
	task->start_time = record->start_time;
	/* It runs another program, whose arguments were not seen. */
	if (!record->command_line_size && task->executable_inode && record->executable &&
	    (task->executable_inode != record->executable ||
	     task->executable_device != record->executable_device))
		task->task.command_line = "";
	task->executable_inode = record->executable;
	task->executable_device = record->executable_device;
	r = add_name(trace, task, record->header.time, record->comm);
	return r < 0 ? r
		     : set_command_line(trace, task, (const char *)(record + 1),
					record->command_line_size);
}

/* Stores a copy of a record that ends in a text, unless an equal one is stored. */
static int take_record(struct clew_trace *trace, struct map *map, uint64_t key, uint32_t part,
		       const void *record, size_t size)
{
	const size_t head = sizeof(struct clew_header);
	const uint64_t *place = map_get(map, key, part);
	const struct clew_header *known =
		place ? (const struct clew_header *)(uintptr_t)*place : NULL;
	void *copy;

	if (known && known->flags == ((const struct clew_header *)record)->flags &&
	    !memcmp((const char *)known + head, (const char *)record + head, size - head))
		return 0;
	copy = arena_copy(&trace->arena, record, size);
	if (!copy)
		return -ENOMEM;
	return map_set(map, key, part, (uintptr_t)copy);
}

/* A TCP connection that is over has no port any more: it keeps the one that it had. */
static int take_socket(struct clew_trace *trace, const struct clew_socket_record *socket)
{
	const struct clew_socket_record *known = clew_trace_socket(trace, socket->inode);

	if (known && known->local_port && !socket->local_port)
		return 0;
	return take_record(trace, &trace->sockets, socket->inode, 0, socket, sizeof(*socket));
}

/* The last component of a file's path; a record that is not stored yet has no NUL behind it. */
static bool same_last_component(const struct clew_file_record *a, const struct clew_file_record *b)
{
	const char *one = (const char *)(a + 1), *other = (const char *)(b + 1);
	const char *one_slash = memrchr(one, '/', a->path_size),
		   *other_slash = memrchr(other, '/', b->path_size);
	size_t one_size = a->path_size - (one_slash ? (size_t)(one_slash - one) : 0);
	size_t other_size = b->path_size - (other_slash ? (size_t)(other_slash - other) : 0);

	return one_size == other_size && !memcmp(one_slash ?: one, other_slash ?: other, one_size);
}

/* True if a record is about the file that is known under its inode number. Without generations, a
 * file that was deleted stays deleted. */
static bool same_file(const struct clew_file_record *known, const struct clew_file_record *record)
{
	return known->generation == record->generation &&
	       (known->generation || !(known->header.flags & CLEW_FILE_DELETED) ||
		record->header.flags & CLEW_FILE_DELETED);
}

/* True if a record gives a file another name. The path as its opener sees it is no other name than
 * the path found from the inode alone. */
static bool renamed(const struct clew_file_record *known, const struct clew_file_record *record)
{
	if (known->path_size == record->path_size &&
	    !memcmp(known + 1, record + 1, known->path_size))
		return false;
	return known->mount_namespace || !record->mount_namespace ||
	       !same_last_component(known, record);
}

/*
 * Stores a file. The path that its opener sees is kept until the file has another name;
 * a record from the inode alone says whether it was deleted. An inode number may be
 * re-used: each file is kept, and each name that it had.
 */
static int take_file(struct clew_trace *trace, const struct clew_file_record *record)
{
	const uint64_t *place = map_get(&trace->files, record->inode, record->device);
	struct trace_file *known = place ? (struct trace_file *)(uintptr_t)*place : NULL, *newest;
	const struct clew_file_record *kept = record;
	bool same = known && same_file(&known->record, record), replaces;
	size_t size;
	uint8_t flags = record->header.flags;
	char *bytes;

	if (same) {
		if (known->record.mount_namespace && !record->mount_namespace &&
		    same_last_component(&known->record, record)) {
			flags = (known->record.header.flags & ~CLEW_FILE_DELETED) |
				(flags & CLEW_FILE_DELETED);
			kept = &known->record;
		}
		if (flags == known->record.header.flags &&
		    kept->path_size == known->record.path_size &&
		    kept->mount_namespace == known->record.mount_namespace &&
		    !memcmp(kept + 1, &known->record + 1, kept->path_size))
			return 0;
	}
	size = sizeof(*kept) + kept->path_size;
	newest = arena_take(&trace->arena, offsetof(struct trace_file, record) + size + 1);
	if (!newest)
		return -ENOMEM;
	replaces = same && !renamed(&known->record, kept);
	newest->since = replaces				      ? known->since
			: known && known->since > record->header.time ? known->since
								      : record->header.time;
	newest->number = same ? known->number : ++trace->file_count;
	newest->older = replaces ? known->older : known;
	newest->last = same ? known->last : arena_take(&trace->arena, sizeof(struct trace_file *));
	if (!newest->last)
		return -ENOMEM;
	*newest->last = newest;
	newest->depth = 0;
	newest->jump = newest;
	if (newest->older) {
		struct trace_file *older = newest->older, *far = older->jump;

		newest->depth = older->depth + 1;
		newest->jump = older->depth - far->depth == far->depth - far->jump->depth
				       ? far->jump
				       : older;
	}
	bytes = (char *)newest + offsetof(struct trace_file, record);
	memcpy(bytes, kept, size);
	bytes[size] = 0;
	newest->record.header.flags = flags;
	return map_set(&trace->files, record->inode, record->device, (uintptr_t)newest);
}

static int take_gap(struct clew_trace *trace, const struct clew_gap *gap)
{
	int r = vector_reserve(&trace->gaps, trace->gaps.count + 1);

	if (r < 0 || gap->count == 0)
		return r;
	((struct clew_gap *)trace->gaps.data)[trace->gaps.count++] = *gap;
	return 0;
}

static int take_announce(struct clew_trace *trace, const struct clew_announce *announce)
{
	void *copy = arena_copy(&trace->arena, announce, sizeof(*announce) + announce->size);

	/* A task that announced something existed, even if all its other records were lost. */
	if (!copy || vector_reserve(&trace->announcements, trace->announcements.count + 1) < 0 ||
	    (!trace_nobody(announce->task) && !trace_task_get(trace, announce->task)))
		return -ENOMEM;
	((const struct clew_announce **)trace->announcements.data)[trace->announcements.count++] =
		copy;
	return 0;
}

static int take_moment(struct clew_trace *trace, const struct clew_moment *moment)
{
	void *copy = arena_copy(&trace->arena, moment, sizeof(*moment) + moment->size);

	if (!copy || vector_reserve(&trace->moments, trace->moments.count + 1) < 0 ||
	    (!trace_nobody(moment->task) && !trace_task_get(trace, moment->task)))
		return -ENOMEM;
	((const struct clew_moment **)trace->moments.data)[trace->moments.count++] = copy;
	return 0;
}

/* A task that ended before the capture began. */
static int take_dead(struct clew_trace *trace, const struct clew_switch *state)
{
	struct trace_task *task = trace_task_get(trace, state->prev);

	if (!task)
		return trace_nobody(state->prev) ? 0 : -ENOMEM;
	if (task->task.death == CLEW_TIME_OPEN)
		task->task.death = trace->stated.from ?: trace->start;
	return 0;
}

static int take_life(struct clew_trace *trace, const struct clew_life *record)
{
	struct trace_task *task = trace_task_get(trace, record->task), *other;

	if (!task)
		return trace_nobody(record->task) ? 0 : -ENOMEM;
	if (record->header.kind == CLEW_KIND_EXIT) {
		task->exit_time = record->header.time;
		return 0;
	}
	if (record->task == record->other || trace_nobody(record->other))
		return 0;
	other = trace_task_get(trace, record->other);
	if (!other)
		return -ENOMEM;
	if (other->task.birth == 0)
		other->task.birth = record->header.time;
	if (record->header.kind == CLEW_KIND_EXEC) {
		if (task->task.death == CLEW_TIME_OPEN)
			task->task.death = record->header.time;
		return add_name(trace, other, record->header.time, task->task.comm);
	}
	if (!other->task.parent)
		other->task.parent = record->task;
	return 0;
}

int trace_identity(struct clew_trace *trace, const struct clew_header *header)
{
	const struct clew_file_record *file = (const struct clew_file_record *)header;
	const struct clew_socket_record *socket = (const struct clew_socket_record *)header;
	const struct clew_cgroup_record *cgroup = (const struct clew_cgroup_record *)header;
	const struct clew_text_record *text = (const struct clew_text_record *)header;
	const struct clew_rename *rename = (const struct clew_rename *)header;
	struct trace_task *task;

	switch (header->kind) {
	case CLEW_KIND_TASK:
		return take_task(trace, (const struct clew_task_record *)header);
	case CLEW_KIND_RENAME:
		task = trace_task_get(trace, rename->task);
		if (!task)
			return trace_nobody(rename->task) ? 0 : -ENOMEM;
		return add_name(trace, task, header->time, rename->comm);
	case CLEW_KIND_PRIORITY:
		return trace_priority_add(trace, (const struct clew_priority *)header);
	case CLEW_KIND_FORK:
	case CLEW_KIND_EXEC:
	case CLEW_KIND_EXIT:
		return take_life(trace, (const struct clew_life *)header);
	case CLEW_KIND_STATE:
		return take_dead(trace, (const struct clew_switch *)header);
	case CLEW_KIND_FILE:
		return take_file(trace, file);
	case CLEW_KIND_SOCKET:
		return take_socket(trace, socket);
	case CLEW_KIND_CGROUP:
		return take_record(trace, &trace->cgroups, cgroup->id, 0, cgroup,
				   sizeof(*cgroup) + cgroup->path_size);
	case CLEW_KIND_TEXT:
		return take_record(trace, &trace->texts, text->hash, 0, text,
				   sizeof(*text) + text->text_size);
	case CLEW_KIND_STACK:
	case CLEW_KIND_WAITED:
	case CLEW_KIND_SAMPLE:
	case CLEW_KIND_WAKER:
	case CLEW_KIND_IMAGE:
	case CLEW_KIND_SYMBOL:
		return trace_take_stack(trace, header);
	case CLEW_KIND_END:
		return trace_take_end(trace, (const struct clew_end *)header);
	case CLEW_KIND_LOCK_NAME:
		return trace_take_lock_name(trace, (const struct clew_lock_name *)header);
	case CLEW_KIND_FAILED:
		return trace_take_failed(trace, (const struct clew_failed *)header);
	case CLEW_KIND_MESSAGE:
		return trace_take_message(trace, (const struct clew_message_record *)header);
	case CLEW_KIND_ADDRESS:
		return trace_take_address(trace, (const struct clew_address *)header);
	case CLEW_KIND_SITE:
		return trace_take_site(trace, (const struct clew_site_record *)header);
	case CLEW_KIND_DROPPED:
		return trace_take_dropped(trace, (const struct clew_dropped *)header);
	case CLEW_KIND_ANNOUNCE:
		return take_announce(trace, (const struct clew_announce *)header);
	case CLEW_KIND_MOMENT:
		return take_moment(trace, (const struct clew_moment *)header);
	case CLEW_KIND_GAP:
		return take_gap(trace, (const struct clew_gap *)header);
	default:
		return 0;
	}
}

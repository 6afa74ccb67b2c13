/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the names and processes of tasks. */
#include "live/known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ended {
	uint64_t time;
	uint32_t task;
};

void known_init(struct known *known, size_t task_size)
{
	*known = (struct known){.task_size = task_size, .ended.item = sizeof(struct ended)};
}

static void free_values(struct map *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			free((void *)(uintptr_t)map->slots[i].value);
	map_done(map);
	*map = (struct map){};
}

void known_done(struct known *known)
{
	free_values(&known->tasks);
	free_values(&known->paths);
	free_values(&known->group_names);
	free_values(&known->disks);
	vector_done(&known->ended);
}

struct known_task *known_find(const struct known *known, uint32_t serial)
{
	const uint64_t *place = map_get(&known->tasks, serial, 0);

	return place ? (struct known_task *)(uintptr_t)*place : NULL;
}

const char *known_path(const struct known *known, uint64_t cgroup)
{
	const uint64_t *place = map_get(&known->paths, cgroup, 0);

	return place ? (const char *)(uintptr_t)*place : NULL;
}

const char *known_group_name(const struct known *known, uint64_t cgroup, unsigned which)
{
	uint64_t number = clew_group_text(cgroup, which);
	const uint64_t *place = number ? map_get(&known->group_names, number, 0) : NULL;

	return place ? (const char *)(uintptr_t)*place : NULL;
}

const char *known_disk(const struct known *known, uint32_t device)
{
	const uint64_t *place = map_get(&known->disks, device, 0);

	return place ? (const char *)(uintptr_t)*place : NULL;
}

/* Forgets tasks that ended some time ago. */
static void forget_ended(struct known *known, uint64_t now)
{
	struct ended *ended = known->ended.data;
	size_t count = known->ended.count;

	for (; known->gone < count && ended[known->gone].time + KNOWN_LINGER < now; known->gone++) {
		free(known_find(known, ended[known->gone].task));
		map_remove(&known->tasks, ended[known->gone].task, 0);
	}
	if (known->gone > 64 && known->gone > count / 2) {
		memmove(ended, ended + known->gone, (count - known->gone) * sizeof(*ended));
		known->ended.count -= known->gone;
		known->gone = 0;
	}
}

static int take_task(struct known *known, const struct clew_task_record *record)
{
	struct known_task *task = known_find(known, record->task);

	if (!task && known->tasks.count >= KNOWN_MOST)
		free_values(&known->tasks);
	if (!task) {
		task = calloc(1, known->task_size);
		if (!task || map_set(&known->tasks, record->task, 0, (uintptr_t)task) < 0) {
			free(task);
			return -ENOMEM;
		}
	}
	task->serial = record->task;
	task->process = record->process;
	task->tid = record->tid;
	task->pid = record->pid;
	task->flags = record->task_flags;
	task->cgroup = record->cgroup;
	memcpy(task->comm, record->comm, CLEW_COMM_SIZE);
	return 0;
}

static int take_cgroup(struct known *known, const struct clew_cgroup_record *record)
{
	char *path;

	if (known_path(known, record->id))
		return 0;
	if (known->paths.count >= KNOWN_MOST)
		free_values(&known->paths);
	path = strndup((const char *)(record + 1), record->path_size);
	if (!path || map_set(&known->paths, record->id, 0, (uintptr_t)path) < 0) {
		free(path);
		return -ENOMEM;
	}
	return 0;
}

/* Keeps a text under a number in place of an earlier one, which it may be itself: each segment
 * states them all, and a number may get another text. */
static int keep_text(struct map *texts, uint64_t number, const struct clew_text_record *record)
{
	const uint64_t *place = map_get(texts, number, 0);
	const char *text = (const char *)(record + 1),
		   *before = place ? (const char *)(uintptr_t)*place : NULL;
	char *kept;

	if (before && strlen(before) == record->text_size &&
	    !memcmp(before, text, record->text_size))
		return 0;
	if (texts->count >= KNOWN_MOST)
		free_values(texts);
	else if (before)
		free((char *)before);
	kept = strndup(text, record->text_size);
	if (!kept || map_set(texts, number, 0, (uintptr_t)kept) < 0) {
		free(kept);
		map_remove(texts, number, 0);
		return -ENOMEM;
	}
	return 0;
}

static int take_text(struct known *known, const struct clew_text_record *record)
{
	const uint64_t kind = record->hash >> 48 << 48;

	if (kind == CLEW_TEXT_GROUP)
		return keep_text(&known->group_names, record->hash, record);
	if ((record->hash & ~(uint64_t)UINT32_MAX) == CLEW_TEXT_DISK)
		return keep_text(&known->disks, (uint32_t)record->hash, record);
	return 0;
}

static int take_end(struct known *known, const struct clew_life *life)
{
	if (vector_reserve(&known->ended, known->ended.count + 1) < 0)
		return -ENOMEM;
	((struct ended *)known->ended.data)[known->ended.count++] =
		(struct ended){.time = life->header.time, .task = life->task};
	return 0;
}

int known_take(struct known *known, const struct clew_header *record)
{
	struct known_task *task;

	forget_ended(known, record->time);
	switch (record->kind) {
	case CLEW_KIND_TASK:
		return take_task(known, (const struct clew_task_record *)record);
	case CLEW_KIND_CGROUP:
		return take_cgroup(known, (const struct clew_cgroup_record *)record);
	case CLEW_KIND_TEXT:
		return take_text(known, (const struct clew_text_record *)record);
	case CLEW_KIND_EXIT:
		return take_end(known, (const struct clew_life *)record);
	case CLEW_KIND_RENAME:
		task = known_find(known, ((const struct clew_rename *)record)->task);
		if (task)
			memcpy(task->comm, ((const struct clew_rename *)record)->comm,
			       CLEW_COMM_SIZE);
		return 0;
	default:
		return 0;
	}
}

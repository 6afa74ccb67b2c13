/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of code that no file has.
 *
 * The list is opened while the process lives, by its own root, and stays open: what the process
 * writes before its end is there at the stop, also if the list is deleted or its container is gone.
 * A program that places code anew says so by another line. So names are looked up as late as
 * possible, and an address with two names has none: when the process has ended, or is dropped since
 * too many others ran such code.
 */
#include "record/stacks/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"
#include "opener/opener.h"
#include "record/stream/clock.h"
#include "record/stream/user_stream.h"
#include "symbol/elf/perf_map.h"

#define LIST_MOST  (256 << 20) /* bytes */
#define NAME_BYTES 64

#define PROCESSES_MOST 1024
#define PROCESS_BYTES  8192	     /* that a process and its open files take, about */
#define WANTED_MOST    65536	     /* frames of a process */
#define LATE_NS	       2000000000ull /* that a stack may be on its way */

/* An image holds so much of a process's memory as offsets of frames can say. */
struct window {
	uint64_t base;
	uint32_t image;
};

struct clew_jit_process {
	uint32_t pid;
	int proc;		 /* /proc/PID, -1: it was gone already */
	struct clew_opened list; /* none: not found */
	uint64_t size;		 /* of the list, when it was read last */
	char path[NAME_BYTES];	 /* of the list, as the process sees it */
	uint64_t used;		 /* ns: when a stack of it came last */
	struct vector windows;	 /* struct window */
	struct vector wanted;	 /* uint64_t: frames without a name */
};

struct clew_jit {
	struct clew_recorder *recorder;
	uint32_t *last;
	struct vector
		processes; /* struct clew_jit_process *, in the order in which they were met */
	size_t most;	   /* of them */
};

/* Each has two descriptors: together a sixteenth of what this process may open. */
static size_t most_processes(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 32 > PROCESSES_MOST)
		return PROCESSES_MOST;
	return limit.rlim_cur / 32 ?: 1;
}

int clew_jit_new(struct clew_recorder *recorder, uint32_t *last, struct clew_jit **ret_jit)
{
	struct clew_jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return -ENOMEM;
	*jit = (struct clew_jit){.recorder = recorder,
				 .last = last,
				 .most = most_processes(),
				 .processes.item = sizeof(struct clew_jit_process *)};
	*ret_jit = jit;
	return 0;
}

static void close_process(struct clew_jit_process *process)
{
	if (process->proc >= 0)
		close(process->proc);
	clew_opened_close(&process->list);
	vector_done(&process->windows);
	vector_done(&process->wanted);
	free(process);
}

void clew_jit_free(struct clew_jit *jit)
{
	if (!jit)
		return;
	for (size_t i = 0; i < jit->processes.count; i++)
		close_process(((struct clew_jit_process **)jit->processes.data)[i]);
	vector_done(&jit->processes);
	free(jit);
}

/* The number by which the process knows itself. */
static uint32_t own_number(const struct clew_jit_process *process)
{
	char status[4096], *line;
	int file = openat(process->proc, "status", O_RDONLY | O_CLOEXEC);
	ssize_t size = file >= 0 ? read(file, status, sizeof(status) - 1) : -1;

	if (file >= 0)
		close(file);
	status[size > 0 ? size : 0] = '\0';
	line = strstr(status, "\nNSpid:");
	if (!line)
		return process->pid;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	return (uint32_t)strtoul(strrchr(line, '\t') ?: line, NULL, 10) ?: process->pid;
}

/* Finds the list. Links lead nowhere outside of the process's root, and another user's list is not
 * believed. */
static void find_list(struct clew_jit_process *process)
{
	struct stat owner;

	if (process->proc < 0 ||
	    clew_open_below(process->proc, (pid_t)process->pid, process->path, &process->list) < 0)
		return;
	if (process->list.owner &&
	    (fstat(process->proc, &owner) || owner.st_uid != process->list.owner))
		clew_opened_close(&process->list);
}

static struct clew_jit_process *meet(struct clew_jit *jit, uint32_t pid, int proc)
{
	struct clew_jit_process *process = calloc(1, sizeof(*process));

	if (!process || vector_reserve(&jit->processes, jit->processes.count + 1) < 0) {
		if (proc >= 0)
			close(proc);
		free(process);
		return NULL;
	}
	*process = (struct clew_jit_process){.pid = pid,
					     .proc = proc,
					     .list.path = -1,
					     .used = clew_now(),
					     .windows.item = sizeof(struct window),
					     .wanted.item = sizeof(uint64_t)};
	((struct clew_jit_process **)jit->processes.data)[jit->processes.count++] = process;
	snprintf(process->path, sizeof(process->path), "/tmp/perf-%u.map",
		 proc >= 0 ? own_number(process) : pid);
	find_list(process);
	return process;
}

static bool is_alive(const struct clew_jit_process *process)
{
	return process->proc >= 0 && faccessat(process->proc, "stat", F_OK, 0) == 0;
}

struct clew_jit_process *clew_jit_process(struct clew_jit *jit, uint32_t pid)
{
	struct clew_jit_process *process = NULL;
	char path[32];
	int proc;

	for (size_t i = jit->processes.count; i > 0 && !process; i--) {
		process = ((struct clew_jit_process **)jit->processes.data)[i - 1];
		process = process->pid == pid ? process : NULL;
	}
	if (process)
		process->used = clew_now();
	if (process && is_alive(process))
		return process;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return process && proc < 0 ? process : meet(jit, pid, proc);
}

static void put_image(struct clew_jit *jit, const struct clew_jit_process *process,
		      const struct window *window)
{
	struct {
		struct clew_image_record image;
		char path[NAME_BYTES];
	} record = {.image = {.header.kind = CLEW_KIND_IMAGE,
			      .header.flags = CLEW_IMAGE_JIT,
			      .inode = window->base,
			      .image = window->image}};
	size_t length = strlen(process->path);

	record.image.size = (uint16_t)length;
	memcpy(record.path, process->path, length);
	clew_put_user_kept(jit->recorder, &record.image.header, sizeof(record.image) + length);
}

uint64_t clew_jit_frame(struct clew_jit *jit, struct clew_jit_process *process, uint64_t frame)
{
	uint64_t address = frame & ~CLEW_FRAME_ADDRESS, base = address - CLEW_FRAME_OFFSET(address);
	struct window *windows = process->windows.data;
	size_t count = process->windows.count, i = 0;

	while (i < count && windows[i].base != base)
		i++;
	if (i == count) {
		if (vector_reserve(&process->windows, count + 1) < 0)
			return frame;
		windows = process->windows.data;
		windows[process->windows.count++] =
			(struct window){.base = base, .image = __sync_add_and_fetch(jit->last, 1)};
		put_image(jit, process, &windows[i]);
	}
	return CLEW_FRAME_IN(windows[i].image, CLEW_FRAME_OFFSET(address));
}

void clew_jit_want(struct clew_jit_process *process, uint64_t frame)
{
	if (process->wanted.count < WANTED_MOST &&
	    vector_reserve(&process->wanted, process->wanted.count + 1) >= 0)
		((uint64_t *)process->wanted.data)[process->wanted.count++] = frame;
}

/* NULL: it has no list, or nothing new is in it. */
static struct clew_perf_map *read_list(struct clew_jit_process *process)
{
	struct clew_perf_map *map = NULL;
	int copy, r = -ENOENT;
	struct stat status;
	char *text;
	ssize_t size;

	if (process->list.path < 0)
		find_list(process);
	if (process->list.path >= 0)
		r = clew_open_read(&process->list, CLEW_OPEN_GROWN, &copy);
	if (r < 0)
		return NULL;
	if (fstat(copy, &status) || (uint64_t)status.st_size == process->size ||
	    status.st_size > LIST_MOST) {
		close(copy);
		return NULL;
	}
	text = malloc((size_t)status.st_size);
	size = text ? pread(copy, text, (size_t)status.st_size, 0) : -1;
	close(copy);
	if (size > 0 && clew_perf_map_read(text, (size_t)size, &map) < 0)
		map = NULL;
	free(text);
	process->size = (uint64_t)status.st_size;
	return map;
}

static uint64_t base_of(const struct clew_jit_process *process, uint32_t image)
{
	const struct window *windows = process->windows.data;

	for (size_t i = 0; i < process->windows.count; i++)
		if (windows[i].image == image)
			return windows[i].base;
	return 0;
}

/* True if it has a name. */
static bool find(const struct clew_jit_process *process, const struct clew_perf_map *map,
		 uint64_t frame, struct clew_named *ret_named)
{
	uint64_t base = base_of(process, CLEW_FRAME_IMAGE(frame));

	if (!clew_perf_map_find(map, base + CLEW_FRAME_OFFSET(frame), ret_named))
		return false;
	/* A piece that begins in another window has its beginning in this one here. */
	if (ret_named->start < base) {
		ret_named->size -= base - ret_named->start;
		ret_named->start = base;
	}
	ret_named->start -= base;
	return true;
}

static void name(struct clew_jit_process *process, clew_jit_put *put, void *context)
{
	uint64_t *wanted = process->wanted.data;
	struct clew_perf_map *map = process->wanted.count ? read_list(process) : NULL;
	struct clew_named named;
	size_t left = 0;

	for (size_t k = 0; map && k < process->wanted.count; k++) {
		if (find(process, map, wanted[k], &named))
			put(context, CLEW_FRAME_IMAGE(wanted[k]), &named);
		else
			wanted[left++] = wanted[k];
	}
	if (map)
		process->wanted.count = left;
	clew_perf_map_free(map);
}

void clew_jit_name(struct clew_jit *jit, clew_jit_put *put, void *context)
{
	for (size_t i = 0; i < jit->processes.count; i++)
		name(((struct clew_jit_process **)jit->processes.data)[i], put, context);
}

/* ---- dropping ---- */

/* For clew_forget_user_kept(). */
static bool is_of(void *context, const struct clew_header *record)
{
	return record->kind == CLEW_KIND_IMAGE && record->flags & CLEW_IMAGE_JIT &&
	       base_of(context, ((const struct clew_image_record *)record)->image);
}

/* The process has its names, as far as they are known, and is forgotten. */
static void drop(struct clew_jit *jit, size_t place, clew_jit_put *put, void *context)
{
	struct clew_jit_process **processes = jit->processes.data, *process = processes[place];

	name(process, put, context);
	clew_forget_user_kept(jit->recorder, is_of, process);
	close_process(process);
	jit->processes.count--;
	memmove(processes + place, processes + place + 1,
		(jit->processes.count - place) * sizeof(*processes));
}

static bool drop_oldest(struct clew_jit *jit, clew_jit_put *put, void *context)
{
	struct clew_jit_process *const *processes = jit->processes.data;
	size_t oldest = 0;

	if (!jit->processes.count)
		return false;
	for (size_t i = 1; i < jit->processes.count; i++)
		if (processes[i]->used < processes[oldest]->used)
			oldest = i;
	drop(jit, oldest, put, context);
	return true;
}

void clew_jit_tick(struct clew_jit *jit, clew_jit_put *put, void *context)
{
	const uint64_t now = clew_now();

	for (size_t i = jit->processes.count; i > 0; i--) {
		struct clew_jit_process *process =
			((struct clew_jit_process **)jit->processes.data)[i - 1];

		/* Stacks may be on their way for some time after the process has ended. */
		if (now - process->used > LATE_NS && !is_alive(process))
			drop(jit, i - 1, put, context);
		else if (process->list.path < 0 && process->wanted.count)
			find_list(process);
	}
	while (jit->processes.count > jit->most)
		drop_oldest(jit, put, context);
}

size_t clew_jit_memory(const struct clew_jit *jit)
{
	struct clew_jit_process *const *processes = jit->processes.data;
	size_t bytes = 0;

	for (size_t i = 0; i < jit->processes.count; i++)
		bytes += PROCESS_BYTES + processes[i]->windows.capacity * sizeof(struct window) +
			 processes[i]->wanted.capacity * sizeof(uint64_t);
	return bytes;
}

bool clew_jit_drop(struct clew_jit *jit, clew_jit_put *put, void *context)
{
	return drop_oldest(jit, put, context);
}

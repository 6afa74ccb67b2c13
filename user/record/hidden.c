/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks that /proc shows but the kernel's task iterator leaves out: some
 * hardened kernels hide their first process from it. Their storage is made
 * through a pidfd, and their identity is read from /proc. The wait that such a
 * task is in at the start stays unknown. They are looked for at the start of the
 * recording only; each file names those that were found then.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/passes.h"
#include "record/stream/clock.h"
#include "record/stream/recorder_state.h"
#include "record/stream/user_stream.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/*
 * Returns the new serial, or 0 if the task has ended or has a serial already.
 */
static uint32_t make_storage(struct clew_recorder *recorder, uint32_t pid, uint32_t tid)
{
	struct clew_task_state state = {.flags = CLEW_TASK_STATE_PID | CLEW_TASK_STATE_DETAIL,
					.slept = 1};
	int descriptor = syscall(SYS_pidfd_open, tid, pid == tid ? 0 : PIDFD_THREAD), error;

	if (descriptor < 0)
		return 0;
	if (recorder->bpf->rodata->filter_pids || recorder->bpf->rodata->filter_comm)
		state.flags = 0;
	state.serial = __atomic_add_fetch(&recorder->bpf->bss->last_serial, 1, __ATOMIC_RELAXED);
	error = bpf_map_update_elem(bpf_map__fd(recorder->bpf->maps.clew_tasks), &descriptor,
				    &state, BPF_NOEXIST);
	close(descriptor);
	return error ? 0 : state.serial;
}

static void read_comm(uint32_t pid, uint32_t tid, char *ret_comm)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(ret_comm, CLEW_COMM_SIZE, file))
		ret_comm[strcspn(ret_comm, "\n")] = '\0';
	fclose(file);
}

/* A task that was found. */
struct hidden {
	uint32_t serial;
	uint32_t leader; /* serial */
	uint32_t pid, tid;
};

static int put_identity(struct clew_recorder *recorder, const struct hidden *hidden)
{
	struct clew_task_record record = {
		.header = {.time = clew_now(), .cpu = CLEW_STREAM_USER, .kind = CLEW_KIND_TASK},
		.task = hidden->serial,
		.process = hidden->leader,
		.tid = hidden->tid,
		.pid = hidden->pid,
		.nspid = {hidden->tid},
		.nspid_count = 1,
	};

	read_comm(hidden->pid, hidden->tid, record.comm);
	return clew_put_user(recorder, &record, sizeof(record));
}

static int identify(struct clew_recorder *recorder, uint32_t pid, uint32_t tid, uint32_t *leader)
{
	struct hidden hidden = {.serial = make_storage(recorder, pid, tid), .pid = pid, .tid = tid};
	struct vector *all = &recorder->hidden;

	if (!hidden.serial)
		return 0;
	if (tid == pid)
		*leader = hidden.serial;
	hidden.leader = *leader;
	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct hidden *)all->data)[all->count++] = hidden;
	return put_identity(recorder, &hidden);
}

/* True if the task still has the storage that was made for it. */
static bool is_alive(struct clew_recorder *recorder, const struct hidden *hidden)
{
	struct clew_task_state state;
	int descriptor = syscall(SYS_pidfd_open, hidden->tid,
				 hidden->pid == hidden->tid ? 0 : PIDFD_THREAD),
	    error;

	if (descriptor < 0)
		return false;
	error = bpf_map_lookup_elem(bpf_map__fd(recorder->bpf->maps.clew_tasks), &descriptor,
				    &state);
	close(descriptor);
	return !error && state.serial == hidden->serial;
}

int clew_identify_hidden_again(struct clew_recorder *recorder)
{
	const struct hidden *all = recorder->hidden.data;
	int error = 0;

	for (size_t i = 0; i < recorder->hidden.count && !error; i++)
		if (is_alive(recorder, &all[i]))
			error = put_identity(recorder, &all[i]);
	return error;
}

int clew_identify_hidden(struct clew_recorder *recorder, const uint32_t *known, size_t count)
{
	DIR *processes = opendir("/proc");
	struct dirent *process, *thread;
	int error = 0;

	recorder->hidden.item = sizeof(struct hidden);
	while (processes && !error && (process = readdir(processes))) {
		char path[300];
		uint32_t leader = 0, pid = strtoul(process->d_name, NULL, 10);
		DIR *threads;

		if (!isdigit((unsigned char)process->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", process->d_name);
		threads = opendir(path);
		while (threads && !error && (thread = readdir(threads))) {
			uint32_t tid = strtoul(thread->d_name, NULL, 10);

			if (tid && !bsearch(&tid, known, count, sizeof(*known), by_number))
				error = identify(recorder, pid, tid, &leader);
		}
		if (threads)
			closedir(threads);
	}
	if (processes)
		closedir(processes);
	return error;
}

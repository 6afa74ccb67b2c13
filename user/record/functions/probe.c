/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes at instructions of user space. One link with all of a file's probes where
 * the kernel has that: attaching one by one takes a grace period each, which comes
 * to seconds. libbpf 1.1 does not know these links yet, so the call is made here.
 * Detaching takes as long for each link, but many can be detached at once.
 */
#include "record/functions/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "record/functions/probe_event.h"

#define POSSIBLE "/sys/bus/event_source/devices/uprobe/type"

#define ATTACH_MULTI   48 /* the kernel's BPF_TRACE_UPROBE_MULTI */
#define MULTI_RETURN   1  /* the kernel's BPF_F_UPROBE_MULTI_RETURN */
#define DETACH_THREADS 31 /* besides the caller's: each sleeps for as long as one link takes */

/* The kernel's union bpf_attr, as BPF_LINK_CREATE reads it for such a link. */
struct link_create {
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t semaphores;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t reserved;
};

/* `pid`: of the one process that is probed, 0: all are. */
static int create_multi(int program, const char *path, pid_t pid, uint32_t flags,
			const uint64_t *offsets, const uint64_t *semaphores,
			const uint64_t *cookies, size_t count)
{
	struct link_create attributes = {
		.program = (uint32_t)program,
		.attach_type = ATTACH_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.semaphores = (uintptr_t)semaphores,
		.cookies = (uintptr_t)cookies,
		.count = (uint32_t)count,
		.multi_flags = flags,
		.pid = (uint32_t)pid,
	};
	long result = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));

	return result < 0 ? -errno : (int)result;
}

int clew_probe_read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	int number = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &number) != 1 && fscanf(file, "config:%d", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

static int load_empty(int attach_type)
{
	const struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)attach_type);
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", instructions, 2, &options);

	return program < 0 ? -errno : program;
}

int clew_probe_load_empty(bool multi)
{
	return load_empty(multi ? ATTACH_MULTI : 0);
}

int clew_probe_load_empty_kernel(bool multi)
{
	return load_empty(multi ? BPF_TRACE_KPROBE_MULTI : 0);
}

/* A kernel that knows the link refuses a directory by a reason of its own. */
int clew_probe_possible(void)
{
	return access(POSSIBLE, F_OK) ? -errno : 0;
}

bool clew_probe_multi(void)
{
	int program = clew_probe_load_empty(true), result;
	uint64_t offset = 0;

	if (program < 0)
		return false;
	result = create_multi(program, "/", 0, 0, &offset, NULL, NULL, 1);
	close(program);
	if (result >= 0)
		close(result);
	return result == -EBADF;
}

int clew_probe_link_own(int program, const uint64_t *offsets, size_t count, bool returns)
{
	return create_multi(program, "/proc/self/exe", getpid(), returns ? MULTI_RETURN : 0,
			    offsets, NULL, NULL, count);
}

void clew_probe_prepare_multi(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)ATTACH_MULTI);
}

static int attach_multi(int program, const char *path, bool returns,
			const struct clew_probe_place *places, size_t count,
			struct clew_probe_links *ret)
{
	uint64_t *numbers = calloc(3 * count, sizeof(*numbers));
	bool semaphores = false;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = places[i].offset;
		numbers[count + i] = places[i].semaphore;
		numbers[2 * count + i] = places[i].cookie;
		semaphores |= places[i].semaphore != 0;
	}
	ret->multi = create_multi(program, path, 0, returns ? MULTI_RETURN : 0, numbers,
				  semaphores ? numbers + count : NULL, numbers + 2 * count, count);
	free(numbers);
	return ret->multi < 0 ? ret->multi : 0;
}

static int attach_singly(struct bpf_program *program, const char *path,
			 const struct clew_probe_place *places, size_t count,
			 struct clew_probe_links *ret)
{
	ret->links = calloc(count, sizeof(*ret->links));
	if (!ret->links)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = places[i].semaphore,
			    .bpf_cookie = places[i].cookie);

		ret->links[i] = bpf_program__attach_uprobe_opts(program, -1, path, places[i].offset,
								&options);
		if (!ret->links[i])
			return -errno;
		ret->count++;
	}
	return 0;
}

static void detach(struct clew_probe_links *links)
{
	if (links->multi >= 0)
		close(links->multi);
	for (size_t i = 0; i < links->count; i++)
		bpf_link__destroy(links->links[i]);
	free(links->links);
	for (size_t i = 0; i < links->single_count; i++)
		close(links->singles[i]);
	free(links->singles);
	if (links->event)
		clew_probe_event_remove(links->event);
	*links = (struct clew_probe_links){.multi = -1};
}

int clew_probe_attach(struct bpf_program *program, bool multi, int descriptor,
		      const struct clew_probe_place *places, size_t count,
		      struct clew_probe_links *ret)
{
	char path[64];
	int r;

	*ret = (struct clew_probe_links){.multi = -1};
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	if (multi)
		r = attach_multi(bpf_program__fd(program), path, false, places, count, ret);
	else
		r = attach_singly(program, path, places, count, ret);
	if (r < 0)
		detach(ret);
	return r;
}

int clew_probe_attach_multi(const struct bpf_program *program, int descriptor, bool returns,
			    const struct clew_probe_place *places, size_t count,
			    struct clew_probe_links *ret)
{
	char path[64];
	int r;

	*ret = (struct clew_probe_links){.multi = -1};
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	r = attach_multi(bpf_program__fd(program), path, returns, places, count, ret);
	if (r < 0)
		detach(ret);
	return r;
}

/* Links to be detached by whichever thread is free. */
struct detaching {
	struct clew_probe_links *links;
	size_t count;
	atomic_size_t next;
};

static void *detach_main(void *argument)
{
	struct detaching *detaching = argument;
	size_t i;

	while ((i = atomic_fetch_add(&detaching->next, 1)) < detaching->count)
		detach(&detaching->links[i]);
	return NULL;
}

void clew_probe_detach(struct clew_probe_links *links, size_t count)
{
	struct detaching detaching = {.links = links, .count = count};
	pthread_t threads[DETACH_THREADS];
	size_t started = 0;

	while (started < DETACH_THREADS && started + 1 < count &&
	       !store_thread_start(&threads[started], detach_main, &detaching))
		started++;
	detach_main(&detaching);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory and the open files that a recorder needs, and what limits leave it. The kernel
 * kills what needs more, so the rings are chosen to fit, or the recording is refused.
 *
 * What is needed was measured: loading peaks at 45 MiB, each CPU takes its ring and buffers of its
 * drain, and stacks take the heap of unwind tables and the names of what they met.
 */
#include "record/internal.h"
#include "record/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NEED_BASE    (48ull << 20)
#define NEED_A_CPU   (4ull << 20)
#define NEED_STACKS  (72ull << 20)
#define RING_LEAST   (64ull << 10) /* of those that are chosen here */
#define NO_LIMIT     (1ull << 50)
#define TRIES	     5
#define TRY_AFTER    100000000 /* ns */
#define MEBIBYTES(n) ((double)(n) / (1 << 20))

static uint64_t need(unsigned cpus, uint64_t ring, bool stacks)
{
	return NEED_BASE + cpus * (NEED_A_CPU + ring) + (stacks ? NEED_STACKS : 0);
}

/* The number in a file of a group, UINT64_MAX if there is none ("max"). */
static uint64_t number_in(const char *group, const char *name)
{
	char path[4200];
	unsigned long long number;
	FILE *file;
	int got;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	file = fopen(path, "re");
	if (!file)
		return UINT64_MAX;
	got = fscanf(file, "%llu", &number);
	fclose(file);
	return got == 1 ? number : UINT64_MAX;
}

/* Pages of files that the kernel takes back first, as memory.stat has them. */
static uint64_t reclaimable(const char *group, const char *word)
{
	char path[4200], line[128];
	unsigned long long number, found = 0;
	size_t length = strlen(word);
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.stat", group);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, length) && sscanf(line + length, " %llu", &number) == 1)
			found += number;
	if (file)
		fclose(file);
	return found;
}

static uint64_t file_pages(const char *group, bool unified)
{
	return unified ? reclaimable(group, "inactive_file") + reclaimable(group, "active_file")
		       : reclaimable(group, "total_inactive_file") +
				 reclaimable(group, "total_active_file");
}

/* The least that a group and those above it leave; `top`: the size of the mount point's path. */
static uint64_t room_below(char *group, size_t top, bool unified)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		uint64_t limit = number_in(group, unified ? "memory.max" : "memory.limit_in_bytes");
		uint64_t used =
			number_in(group, unified ? "memory.current" : "memory.usage_in_bytes");
		uint64_t files = file_pages(group, unified);
		char *last = strrchr(group, '/');

		if (limit < NO_LIMIT && used != UINT64_MAX) {
			used -= files < used ? files : used;
			limit -= used < limit ? used : limit;
			least = limit < least ? limit : least;
		}
		if (!last || (size_t)(last - group) < top)
			return least;
		*last = '\0';
	}
}

/* This process's group in a hierarchy, as /proc/self/cgroup has it. False: it is in none. */
static bool own_group(bool unified, char *ret_group, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;
	char line[4096];

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *save = NULL, *controllers, *path;

		line[strcspn(line, "\n")] = '\0';
		strtok_r(line, ":", &save);
		controllers = save;
		path = controllers ? strchr(controllers, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		for (char *at = controllers; unified ? !*controllers : at != NULL;) {
			char *next = strchr(at, ',');

			found |= unified || !strncmp(at, "memory", next ? (size_t)(next - at) : 7);
			at = next ? next + 1 : NULL;
			if (unified)
				break;
		}
		if (found)
			snprintf(ret_group, size, "%s", path);
	}
	if (file)
		fclose(file);
	return found;
}

/* The memory that the groups of this process leave, UINT64_MAX: they have no limit. */
static uint64_t room(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	uint64_t least = UINT64_MAX;
	char line[4096];

	while (mounts && fgets(line, sizeof(line), mounts)) {
		char root[1024], where[1024], type[64], options[1024], own[1024], group[2100];
		char *rest = strstr(line, " - ");
		bool unified;
		uint64_t left;

		if (!rest || sscanf(line, "%*s %*s %*s %1023s %1023s", root, where) != 2 ||
		    sscanf(rest, " - %63s %*s %1023s", type, options) != 2)
			continue;
		unified = !strcmp(type, "cgroup2");
		if (!unified && (strcmp(type, "cgroup") || !strstr(options, "memory")))
			continue;
		if (!own_group(unified, own, sizeof(own)))
			continue;
		/* The mount may show a part of the hierarchy. */
		snprintf(group, sizeof(group), "%s%s", where,
			 !strcmp(root, "/")		     ? own
			 : !strncmp(own, root, strlen(root)) ? own + strlen(root)
							     : "");
		while (strlen(group) > strlen(where) && group[strlen(group) - 1] == '/')
			group[strlen(group) - 1] = '\0';
		left = room_below(group, strlen(where), unified);
		least = left < least ? left : least;
	}
	if (mounts)
		fclose(mounts);
	return least;
}

/* The memory that is left, once what processes before have freed had time to come back. */
static uint64_t room_for(uint64_t needed)
{
	uint64_t left = room();

	for (int i = 0; i < TRIES && left < needed; i++) {
		nanosleep(&(struct timespec){.tv_nsec = TRY_AFTER}, NULL);
		left = room();
	}
	return left;
}

int clew_recorder_fit(struct clew_recorder_options *options, struct clew_message *message)
{
	int cpus = clew_kernel_cpus();
	bool stacks = options->stack_threshold != 0, dropped = false;
	uint64_t left, ring, usual;

	message->text[0] = '\0';
	if (cpus <= 0)
		return 0; /* clew_recorder_open() says so */
	ring = usual = clew_ring_size(options->ring_size, (unsigned)cpus);
	left = room_for(need((unsigned)cpus, ring, stacks));
	if (left < need((unsigned)cpus, ring, stacks) && options->stacks_if_possible) {
		stacks = false;
		dropped = true;
		options->stack_threshold = 0;
	}
	while (!options->ring_size && ring > RING_LEAST &&
	       left < need((unsigned)cpus, ring, stacks))
		ring /= 2;
	if (left < need((unsigned)cpus, ring, stacks))
		return clew_say(message, -ENOMEM,
				"recording needs %.0f MiB of memory, and this memory cgroup has "
				"room for %.0f MiB: raise its limit, or record from outside it",
				MEBIBYTES(need((unsigned)cpus, ring, stacks)), MEBIBYTES(left));
	if (ring != usual) {
		options->ring_size = ring;
		clew_say(message, 0,
			 "this memory cgroup has room for %.0f MiB: %seach CPU's ring has %.0f "
			 "KiB, and may overflow sooner",
			 MEBIBYTES(left), dropped ? "no stacks are taken, " : "",
			 (double)ring / 1024);
	} else if (dropped) {
		clew_say(message, 0,
			 "this memory cgroup has room for %.0f MiB: no stacks are taken",
			 MEBIBYTES(left));
	}
	return 0;
}

void clew_recorder_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

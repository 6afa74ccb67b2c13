/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds how much memory a process may still take. */
#include "base/memory_left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NO_LIMIT (1ull << 50)

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

/* The number behind a word at the beginning of a line; of several such lines their sum. */
static uint64_t number_behind(const char *directory, const char *name, const char *word)
{
	char path[4200], line[128];
	unsigned long long number, found = 0;
	size_t length = strlen(word);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, length) && sscanf(line + length, " %llu", &number) == 1)
			found += number;
	if (file)
		fclose(file);
	return found;
}

/* Pages of files that the kernel takes back first. */
static uint64_t file_pages(const char *group, bool unified)
{
	return number_behind(group, "memory.stat",
			     unified ? "inactive_file" : "total_inactive_file") +
	       number_behind(group, "memory.stat", unified ? "active_file" : "total_active_file");
}

/* A process whose group has more than memory.high sleeps for seconds at each allocation. */
static uint64_t limit_of(const char *group, bool unified)
{
	uint64_t limit = number_in(group, unified ? "memory.max" : "memory.limit_in_bytes");
	uint64_t high = unified ? number_in(group, "memory.high") : UINT64_MAX;

	return high < limit ? high : limit;
}

/* The least that a group and those above it leave; `top`: the size of the mount point's path. */
static uint64_t room_below(char *group, size_t top, bool unified)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		uint64_t limit = limit_of(group, unified);
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

uint64_t memory_left_in_groups(void)
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

uint64_t memory_left(void)
{
	uint64_t groups = memory_left_in_groups(),
		 machine = number_behind("/proc", "meminfo", "MemAvailable:") * 1024,
		 swap = number_behind("/proc", "meminfo", "SwapFree:") * 1024;

	if (!machine || groups < machine)
		machine = groups;
	return machine == UINT64_MAX ? machine : machine + swap;
}

int memory_yield(void)
{
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC), r = 0;

	if (file < 0)
		return -errno;
	if (write(file, "1000", 4) < 0)
		r = -errno;
	close(file);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the control group that a recording is to be about.
 *
 * Groups are searched in the hierarchies whose paths records have: the unified one, and the CPU
 * controller's where the former has no such group.
 */
#include "record/group.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/container.h"

#define PATH_SIZE 4096

struct search {
	const char *glob, *container;
	char found[PATH_SIZE], other[PATH_SIZE];
	unsigned count;
};

/* True if the options of a mounted hierarchy name the CPU controller. */
static bool has_cpu(const char *options)
{
	for (const char *at = options; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, "cpu", 3) && (at[3] == ',' || !at[3] || at[3] == '\n'))
			return true;
	return false;
}

/* True if the last component of a group's path makes it what is searched. */
static bool is_wanted(const struct search *search, const char *path)
{
	char name[CLEW_CONTAINER_SIZE], above[PATH_SIZE];
	unsigned before = 0, number = 0;

	if (search->glob)
		return fnmatch(search->glob, path, 0) == 0;
	snprintf(above, sizeof(above), "%s", path);
	if (strrchr(above, '/'))
		*strrchr(above, '/') = '\0';
	while (clew_container_in(above, before, name))
		before++;
	while (clew_container_in(path, number, name))
		number++;
	return number > before && clew_container_is(name, search->container);
}

/* Searches a hierarchy; groups below one that was found belong to it. */
static void search_below(struct search *search, char *root)
{
	char *const roots[] = {root, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		const char *path = entry->fts_path + strlen(root);

		if (entry->fts_info != FTS_D || !is_wanted(search, *path ? path : "/"))
			continue;
		fts_set(tree, entry, FTS_SKIP);
		snprintf(search->count ? search->other : search->found, PATH_SIZE, "%s",
			 entry->fts_path);
		search->count++;
	}
	if (tree)
		fts_close(tree);
}

static int search_all(struct search *search)
{
	char line[PATH_SIZE], unified[PATH_SIZE] = "", cpu[PATH_SIZE] = "";
	FILE *mounts = fopen("/proc/self/mounts", "re");

	if (!mounts)
		return -errno;
	while (fgets(line, sizeof(line), mounts)) {
		char *save = NULL, *device = strtok_r(line, " ", &save),
		     *where = strtok_r(NULL, " ", &save), *type = strtok_r(NULL, " ", &save),
		     *options = strtok_r(NULL, " ", &save);

		if (!device || !options)
			continue;
		if (!unified[0] && !strcmp(type, "cgroup2"))
			snprintf(unified, sizeof(unified), "%s", where);
		else if (!cpu[0] && !strcmp(type, "cgroup") && has_cpu(options))
			snprintf(cpu, sizeof(cpu), "%s", where);
	}
	fclose(mounts);
	if (unified[0])
		search_below(search, unified);
	if (!search->count && cpu[0])
		search_below(search, cpu);
	return 0;
}

int clew_group_find(const char *glob, const char *container, char *ret_path, size_t size,
		    struct clew_message *message)
{
	struct search search = {.glob = glob, .container = container};
	const char *wanted = glob ?: container, *what = glob ? "control group" : "container";
	struct stat status;
	int error;

	if (glob && container)
		return clew_say(message, -EINVAL,
				"--cgroup and --container both choose a group: give one of them");
	if (glob && stat(glob, &status) == 0) {
		snprintf(ret_path, size, "%s", glob);
		return 0;
	}
	error = search_all(&search);
	if (error)
		return clew_say(message, error, "control groups cannot be listed: %s: mount /proc",
				strerror(-error));
	if (!search.count)
		return clew_say(message, -EINVAL, "no %s %s: give %s below /sys/fs/cgroup", what,
				wanted,
				glob ? "the path of its directory, or a glob of its path"
				     : "a name or the beginning of an id that a path has");
	if (search.count > 1)
		return clew_say(message, -EINVAL,
				"%u groups are meant by %s, as %.200s and %.200s: choose one",
				search.count, wanted, search.found, search.other);
	snprintf(ret_path, size, "%s", search.found);
	return 0;
}

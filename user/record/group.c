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
#include "containers/names.h"

#define PATH_SIZE 4096

struct search {
	const struct clew_group_wanted *wanted;
	struct clew_containers runtime; /* of containers and pods */
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

/* A path without its last component. */
static void path_above(const char *path, char *above)
{
	snprintf(above, PATH_SIZE, "%s", path);
	if (strrchr(above, '/'))
		*strrchr(above, '/') = '\0';
}

/* The container that the last component of a group's path makes it. */
static bool becomes_container(const char *path, char name[static CLEW_CONTAINER_SIZE])
{
	char above[PATH_SIZE];
	unsigned before = 0, number = 0;

	path_above(path, above);
	while (clew_container_in(above, before, name))
		before++;
	while (clew_container_in(path, number, name))
		number++;
	return number > before;
}

static bool is_container(struct search *search, const char *path)
{
	struct clew_container_names names;
	char name[CLEW_CONTAINER_SIZE];

	if (!becomes_container(path, name))
		return false;
	return clew_container_is(name, search->wanted->container) ||
	       (!clew_containers_names(&search->runtime, path, &names) &&
		names.of[CLEW_GROUP_CONTAINER][0] &&
		clew_container_is(names.of[CLEW_GROUP_CONTAINER], search->wanted->container));
}

/* A pod's group has a number, and the names are those of a container in it. */
static bool is_pod(struct search *search, const char *path)
{
	struct clew_container_names names;
	char name[CLEW_CONTAINER_SIZE], whole[2 * CLEW_TEXT_SIZE];

	if (!becomes_container(path, name) ||
	    clew_containers_names(&search->runtime, path, &names) < 0 ||
	    !names.of[CLEW_GROUP_POD][0])
		return false;
	snprintf(whole, sizeof(whole), "%s/%s", names.of[CLEW_GROUP_NAMESPACE],
		 names.of[CLEW_GROUP_POD]);
	return clew_container_is(names.of[CLEW_GROUP_POD], search->wanted->pod) ||
	       fnmatch(search->wanted->pod, whole, FNM_PATHNAME) == 0;
}

static bool is_unit(const struct search *search, const char *path)
{
	const char *last = strrchr(path, '/');
	char name[CLEW_CONTAINER_SIZE];

	return last && clew_unit_of(path, name) && !strcmp(name, last + 1) &&
	       clew_unit_is(name, search->wanted->unit);
}

/* True if the last component of a group's path makes it what is searched. */
static bool is_wanted(struct search *search, const char *path)
{
	const struct clew_group_wanted *wanted = search->wanted;

	return wanted->cgroup	   ? fnmatch(wanted->cgroup, path, 0) == 0
	       : wanted->container ? is_container(search, path)
	       : wanted->pod	   ? is_pod(search, path)
				   : is_unit(search, path);
}

/* Notes a group. A pod has one of its own, in which all of its containers are. */
static void found(struct search *search, const char *path)
{
	char above[PATH_SIZE], uid[CLEW_POD_UID_SIZE], whole[PATH_SIZE];

	snprintf(whole, sizeof(whole), "%s", path);
	while (search->wanted->pod && clew_pod_uid_in(whole, uid)) {
		path_above(whole, above);
		if (!clew_pod_uid_in(above, uid))
			break;
		snprintf(whole, sizeof(whole), "%s", above);
	}
	if (search->count && !strcmp(search->found, whole))
		return;
	snprintf(search->count ? search->other : search->found, PATH_SIZE, "%s", whole);
	search->count++;
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
		found(search, entry->fts_path);
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

/* One that is not there: what a user may give instead. */
static int say_none(const struct clew_group_wanted *wanted, const char *what, const char *name,
		    struct clew_message *message)
{
	return clew_say(message, -EINVAL, "no %s %s: give %s", what, name,
			wanted->cgroup ? "the path of its directory, or a glob of its path, below "
					 "/sys/fs/cgroup"
			: wanted->container
				? "its name, or the beginning of an id that a path below "
				  "/sys/fs/cgroup has"
			: wanted->pod ? "its name, as NAMESPACE/NAME where several have it"
				      : "the name of a service or scope that runs");
}

int clew_group_find(const struct clew_group_wanted *wanted, char *ret_path, size_t size,
		    struct clew_message *message)
{
	struct search search = {.wanted = wanted, .runtime.machine = -1};
	const char *name = wanted->cgroup ?: wanted->container ?: wanted->pod ?: wanted->unit;
	const char *what = wanted->cgroup      ? "control group"
			   : wanted->container ? "container"
			   : wanted->pod       ? "pod"
					       : "unit";
	struct stat status;
	int error;

	if (!!wanted->cgroup + !!wanted->container + !!wanted->pod + !!wanted->unit > 1)
		return clew_say(message, -EINVAL,
				"--cgroup, --container, --pod and --unit each choose a group: give "
				"one of them");
	if (wanted->cgroup && stat(wanted->cgroup, &status) == 0) {
		snprintf(ret_path, size, "%s", wanted->cgroup);
		return 0;
	}
	if (wanted->container || wanted->pod)
		clew_containers_open(&search.runtime);
	error = search_all(&search);
	clew_containers_close(&search.runtime);
	if (error)
		return clew_say(message, error, "control groups cannot be listed: %s: mount /proc",
				strerror(-error));
	if (!search.count)
		return say_none(wanted, what, name, message);
	if (search.count > 1)
		return clew_say(message, -EINVAL,
				"%u groups are meant by %s, as %.200s and %.200s: choose one",
				search.count, name, search.found, search.other);
	snprintf(ret_path, size, "%s", search.found);
	return 0;
}

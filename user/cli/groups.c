/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks chosen by their control group or container. See groups.h.
 *
 * A group that is chosen includes those below it. A task's group is the one that the capture saw
 * last.
 */
#include "cli/groups.h"

#include "base/container.h"
#include "base/map.h"
#include "cli/fail.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clew_groups {
	struct map wanted; /* id of each group that a task has -> 1 chosen, 0 not */
};

/* True if the glob matches a path or one that it is below. */
static bool is_below(const char *path, const char *glob)
{
	char part[CLEW_PATH_SIZE + 1];
	size_t length = strlen(path);

	if (length > CLEW_PATH_SIZE)
		return false;
	for (size_t end = 1; end <= length; end++) {
		if (path[end] && path[end] != '/')
			continue;
		memcpy(part, path, end);
		part[end] = '\0';
		if (fnmatch(glob, part, 0) == 0)
			return true;
	}
	return fnmatch(glob, path, 0) == 0;
}

/* True if a path belongs to the container. `met`: the first container that was met so, "" none;
 * *ret_several: another one was met, too. */
static bool in_container(const char *path, const char *wanted, char *met, bool *ret_several)
{
	char name[CLEW_CONTAINER_SIZE];

	for (unsigned i = 0; clew_container_in(path, i, name); i++) {
		if (!clew_container_is(name, wanted))
			continue;
		if (met[0] && strcmp(met, name))
			*ret_several = true;
		else
			memcpy(met, name, sizeof(name));
		return true;
	}
	return false;
}

/* Names some of what the capture has instead. */
static int fail_unknown(const struct clew_trace *trace, const char *wanted, bool containers)
{
	enum { MOST_NAMED = 4 };
	char said[MOST_NAMED * (CLEW_CONTAINER_SIZE + 8)] = "", name[CLEW_PATH_SIZE + 1];
	const char *last[MOST_NAMED] = {NULL};
	size_t used = 0, count = 0;

	for (size_t i = 0; i < clew_trace_task_count(trace) && count < MOST_NAMED; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);
		const char *path = task->cgroup ? clew_trace_cgroup(trace, task->cgroup) : NULL;
		char shown[CLEW_CONTAINER_SIZE];
		bool known = !path;

		for (size_t j = 0; j < count; j++)
			known |= path == last[j];
		if (known || (containers && !clew_container_of(path, name)))
			continue;
		snprintf(shown, sizeof(shown), "%.*s", (int)sizeof(shown) - 1,
			 containers ? name : path);
		last[count] = path;
		used += (size_t)snprintf(said + used, sizeof(said) - used, "%s%s",
					 count++ ? ", " : "", shown);
	}
	if (!count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "no task of the capture is in a %s: leave out --%s",
				 containers ? "container" : "control group",
				 containers ? "container" : "cgroup");
	return clew_fail(CLEW_EXIT_INPUT,
			 "no task of the capture is in the %s '%s': there are %s%s",
			 containers ? "container" : "control group", wanted, said,
			 count == MOST_NAMED ? ", .." : "");
}

static bool is_pattern(const char *text)
{
	return text[strcspn(text, "*?[")] != '\0';
}

int clew_groups_find(const struct clew_trace *trace, const char *glob, const char *container,
		     struct clew_groups **ret)
{
	struct clew_groups *groups = calloc(1, sizeof(*groups));
	bool several = false, any_glob = !glob, any_container = !container;
	char met[CLEW_CONTAINER_SIZE] = "";

	*ret = NULL;
	for (size_t i = 0; groups && i < clew_trace_task_count(trace); i++) {
		uint64_t id = clew_trace_task_at(trace, i)->cgroup;
		const char *path = id ? clew_trace_cgroup(trace, id) : NULL;
		bool by_glob, by_container;

		if (!path || map_get(&groups->wanted, id, 0))
			continue;
		by_glob = !glob || is_below(path, glob);
		by_container = !container || in_container(path, container, met, &several);
		any_glob |= by_glob;
		any_container |= by_container;
		if (map_set(&groups->wanted, id, 0, by_glob && by_container) < 0) {
			clew_groups_free(groups);
			groups = NULL;
		}
	}
	if (!groups)
		return clew_fail(CLEW_EXIT_SYSTEM, "out of memory: free some and try again");
	*ret = groups;
	if (!any_glob)
		return fail_unknown(trace, glob, false);
	if (!any_container)
		return fail_unknown(trace, container, true);
	if (several && !is_pattern(container))
		return clew_fail(CLEW_EXIT_INPUT,
				 "several containers begin with '%s', as %s: give more of the id",
				 container, met);
	return 0;
}

void clew_groups_free(struct clew_groups *groups)
{
	if (groups)
		map_done(&groups->wanted);
	free(groups);
}

bool clew_groups_have(const struct clew_groups *groups, const struct clew_trace_task *task)
{
	const uint64_t *wanted = task->cgroup ? map_get(&groups->wanted, task->cgroup, 0) : NULL;

	return wanted && *wanted;
}

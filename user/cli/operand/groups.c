/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks and spans chosen by their control group or container.
 *
 * A group that is chosen includes those below it. A task's group is the one that the capture saw
 * last.
 */
#include "cli/operand/groups.h"

#include "base/container.h"
#include "base/map.h"
#include "base/vector.h"
#include "cli/front/fail.h"
#include "convert/rows.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clew_groups {
	struct map wanted; /* id of each group that a task has -> 1 chosen, 0 not */
};

/* The groups that tasks of a trace are in, each once, in order of its first task. */
struct group {
	uint64_t id;
	const char *path;
};
struct group_list {
	struct vector items; /* struct group */
	struct map seen;     /* id -> 1 */
	struct arena paths;  /* those that no trace has */
};

static void list_done(struct group_list *list)
{
	vector_done(&list->items);
	map_done(&list->seen);
	arena_done(&list->paths);
}

static int list_add(struct group_list *list, uint64_t id, const char *path)
{
	if (vector_reserve(&list->items, list->items.count + 1) < 0 ||
	    map_set(&list->seen, id, 0, 1) < 0)
		return -ENOMEM;
	((struct group *)list->items.data)[list->items.count++] =
		(struct group){.id = id, .path = path};
	return 0;
}

static int list_of_trace(struct group_list *list, const struct clew_trace *trace)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < clew_trace_task_count(trace); i++) {
		uint64_t id = clew_trace_task_at(trace, i)->cgroup;
		const char *path = id ? clew_trace_cgroup(trace, id) : NULL;

		if (path && !map_get(&list->seen, id, 0))
			r = list_add(list, id, path);
	}
	return r;
}

/* The group that an attribute of a thread's span names; 0: none. */
static uint64_t group_of_span(const struct clew_model *model, uint32_t span)
{
	const char *value = clew_model_attribute(model, model->spans[span].attributes, "cgroup");
	uint64_t id;

	return value && scan_value_number(&value, &id) ? id : 0;
}

/* A group's path: the span of the first CPU has it. False: the model does not say. */
static bool model_path(const struct clew_model *model, uint64_t id, char path[CLEW_PATH_SIZE + 1])
{
	const char *value = NULL;
	uint64_t hierarchy;
	char key[40];

	snprintf(key, sizeof(key), "cgroup.%llu", (unsigned long long)id);
	for (uint32_t root = model->first_root; root != CLEW_NONE && !value;
	     root = model->spans[root].next_sibling)
		value = clew_model_attribute(model, model->spans[root].attributes, key);
	return value && scan_value_number(&value, &hierarchy) &&
	       scan_value_word(&value, path, CLEW_PATH_SIZE + 1);
}

static int list_of_model(struct group_list *list, const struct clew_model *model)
{
	char path[CLEW_PATH_SIZE + 1];
	int r = 0;

	for (uint32_t span = model->first_root; r == 0 && span != CLEW_NONE;
	     span = model->spans[span].next_sibling) {
		uint64_t id = group_of_span(model, span);
		const char *kept;

		if (!id || map_get(&list->seen, id, 0) || !model_path(model, id, path))
			continue;
		kept = arena_copy(&list->paths, path, strlen(path));
		r = kept ? list_add(list, id, kept) : -ENOMEM;
	}
	return r;
}

/* True if the glob, which may be a path as answers print it, matches a path or one that it is
 * below.
 */
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
		if (!strcmp(glob, part) || fnmatch(glob, part, 0) == 0)
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

/* Names some of what there is instead. */
static int fail_unknown(const struct group_list *list, const char *wanted, bool containers)
{
	enum { MOST_NAMED = 4 };
	char said[MOST_NAMED * (CLEW_CONTAINER_SIZE + 8)] = "", name[CLEW_CONTAINER_SIZE];
	const struct group *groups = list->items.data;
	size_t used = 0, count = 0;

	for (size_t i = 0; i < list->items.count && count <= MOST_NAMED; i++) {
		if (!containers)
			snprintf(name, sizeof(name), "%s", groups[i].path);
		else if (!clew_container_of(groups[i].path, name) || strstr(said, name))
			continue;
		if (count++ < MOST_NAMED)
			used += (size_t)snprintf(said + used, sizeof(said) - used, "%s%s",
						 count > 1 ? ", " : "", name);
	}
	if (!count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "no task of the capture is in a %s: leave out --%s",
				 containers ? "container" : "control group",
				 containers ? "container" : "cgroup");
	return clew_fail(CLEW_EXIT_INPUT,
			 "no task of the capture is in the %s '%s': there are %s%s",
			 containers ? "container" : "control group", wanted, said,
			 count > MOST_NAMED ? ", .." : "");
}

static bool is_pattern(const char *text)
{
	return text[strcspn(text, "*?[")] != '\0';
}

/* Fills in which groups of a list were asked for. */
static int choose(const struct group_list *list, const struct clew_group_choice *choice,
		  struct clew_groups *groups)
{
	const struct group *all = list->items.data;
	bool several = false, any_glob = !choice->cgroup, any_container = !choice->container;
	char met[CLEW_CONTAINER_SIZE] = "";

	for (size_t i = 0; i < list->items.count; i++) {
		bool by_glob = !choice->cgroup || is_below(all[i].path, choice->cgroup);
		bool by_container = !choice->container ||
				    in_container(all[i].path, choice->container, met, &several);

		any_glob |= by_glob;
		any_container |= by_container;
		if (map_set(&groups->wanted, all[i].id, 0, by_glob && by_container) < 0)
			return clew_fail_memory();
	}
	if (!any_glob)
		return fail_unknown(list, choice->cgroup, false);
	if (!any_container)
		return fail_unknown(list, choice->container, true);
	if (several && !is_pattern(choice->container))
		return clew_fail(CLEW_EXIT_INPUT,
				 "several containers begin with '%s', as %s: give more of the id",
				 choice->container, met);
	return 0;
}

/* The groups of a trace, or of a model where that is NULL. */
static int find_groups(const struct clew_trace *trace, const struct clew_model *model,
		       const struct clew_group_choice *choice, struct clew_groups **ret)
{
	struct group_list list = {.items = {.item = sizeof(struct group)}};
	int status;

	*ret = calloc(1, sizeof(**ret));
	if (!*ret || (trace ? list_of_trace(&list, trace) : list_of_model(&list, model)) < 0)
		status = clew_fail_memory();
	else
		status = choose(&list, choice, *ret);
	list_done(&list);
	return status;
}

int clew_groups_find(const struct clew_trace *trace, const struct clew_group_choice *choice,
		     struct clew_groups **ret)
{
	*ret = NULL;
	return clew_groups_asked(choice) ? find_groups(trace, NULL, choice, ret) : 0;
}

void clew_groups_free(struct clew_groups *groups)
{
	if (groups)
		map_done(&groups->wanted);
	free(groups);
}

static bool has_group(const struct clew_groups *groups, uint64_t id)
{
	const uint64_t *wanted = id ? map_get(&groups->wanted, id, 0) : NULL;

	return wanted && *wanted;
}

bool clew_groups_have(const struct clew_groups *groups, const struct clew_trace_task *task)
{
	return has_group(groups, task->cgroup);
}

int clew_groups_spans(const struct clew_model *model, const struct clew_group_choice *choice,
		      bool **ret_only)
{
	struct clew_groups *groups = NULL;
	int status;

	*ret_only = NULL;
	if (!clew_groups_asked(choice))
		return 0;
	status = find_groups(NULL, model, choice, &groups);
	if (!status)
		*ret_only = calloc((size_t)model->span_count + 1, sizeof(**ret_only));
	if (!status && !*ret_only)
		status = clew_fail_memory();
	/* Children come after their parents. */
	for (uint32_t span = 0; !status && span < model->span_count; span++) {
		uint32_t parent = model->spans[span].parent;

		(*ret_only)[span] = parent == CLEW_NONE
					    ? has_group(groups, group_of_span(model, span))
					    : (*ret_only)[parent];
	}
	clew_groups_free(groups);
	return status;
}

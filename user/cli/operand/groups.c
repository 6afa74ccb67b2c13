/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks and spans chosen by their control group, container, pod or unit.
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
	const char *names[CLEW_GROUP_NAMES]; /* NULL: unknown */
};
struct group_list {
	struct vector items; /* struct group */
	struct map seen;     /* id -> 1 */
	struct arena texts;  /* those that no trace has */
};

static void list_done(struct group_list *list)
{
	vector_done(&list->items);
	map_done(&list->seen);
	arena_done(&list->texts);
}

/* *ret_group: without names. */
static int list_add(struct group_list *list, uint64_t id, const char *path,
		    struct group **ret_group)
{
	if (vector_reserve(&list->items, list->items.count + 1) < 0 ||
	    map_set(&list->seen, id, 0, 1) < 0)
		return -ENOMEM;
	*ret_group = (struct group *)list->items.data + list->items.count++;
	**ret_group = (struct group){.id = id, .path = path};
	return 0;
}

static int list_of_trace(struct group_list *list, const struct clew_trace *trace)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < clew_trace_task_count(trace); i++) {
		uint64_t id = clew_trace_task_at(trace, i)->cgroup;
		const char *path = id ? clew_trace_cgroup(trace, id) : NULL;
		struct group *group;

		if (!path || map_get(&list->seen, id, 0))
			continue;
		r = list_add(list, id, path, &group);
		for (unsigned k = 0; r == 0 && k < CLEW_GROUP_NAMES; k++)
			group->names[k] = clew_trace_group_name(trace, id, k);
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

/* An attribute that the span of the first CPU has; NULL: it has none. */
static const char *model_value(const struct clew_model *model, const char *kind, uint64_t number)
{
	const char *value = NULL;
	char key[40];

	snprintf(key, sizeof(key), "%s.%llu", kind, (unsigned long long)number);
	for (uint32_t root = model->first_root; root != CLEW_NONE && !value;
	     root = model->spans[root].next_sibling)
		value = clew_model_attribute(model, model->spans[root].attributes, key);
	return value;
}

/* A group's path. False: the model does not say. */
static bool model_path(const struct clew_model *model, uint64_t id, char path[CLEW_PATH_SIZE + 1])
{
	const char *value = model_value(model, "cgroup", id);
	uint64_t hierarchy;

	return value && scan_value_number(&value, &hierarchy) &&
	       scan_value_word(&value, path, CLEW_PATH_SIZE + 1);
}

static int take_model_names(struct group_list *list, const struct clew_model *model,
			    struct group *group)
{
	for (unsigned i = 0; i < CLEW_GROUP_NAMES; i++) {
		uint64_t number = clew_group_text(group->id, i);
		const char *value = number ? model_value(model, "text", number) : NULL;
		char name[CLEW_TEXT_SIZE + 1];

		if (!value || !scan_value_word(&value, name, sizeof(name)))
			continue;
		group->names[i] = arena_copy(&list->texts, name, strlen(name));
		if (!group->names[i])
			return -ENOMEM;
	}
	return 0;
}

static int list_of_model(struct group_list *list, const struct clew_model *model)
{
	char path[CLEW_PATH_SIZE + 1];
	int r = 0;

	for (uint32_t span = model->first_root; r == 0 && span != CLEW_NONE;
	     span = model->spans[span].next_sibling) {
		uint64_t id = group_of_span(model, span);
		struct group *group;
		const char *kept;

		if (!id || map_get(&list->seen, id, 0) || !model_path(model, id, path))
			continue;
		kept = arena_copy(&list->texts, path, strlen(path));
		r = kept ? list_add(list, id, kept, &group) : -ENOMEM;
		if (r == 0)
			r = take_model_names(list, model, group);
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

/* True if a group belongs to the container. `met`: the first container whose id was met so, ""
 * none; *ret_several: another one was met, too. */
static bool in_container(const struct group *group, const char *wanted, char *met,
			 bool *ret_several)
{
	const char *known = group->names[CLEW_GROUP_CONTAINER];
	char name[CLEW_CONTAINER_SIZE];

	/* Containers of several pods have the same name: all are meant. */
	if (known && clew_container_is(known, wanted))
		return true;
	for (unsigned i = 0; clew_container_in(group->path, i, name); i++) {
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

/* "POD", or "NAMESPACE/POD" where that is known. False: the pod is not known. */
static bool pod_name(const struct group *group, char *name, size_t size)
{
	const char *pod = group->names[CLEW_GROUP_POD], *in = group->names[CLEW_GROUP_NAMESPACE];

	if (!pod)
		return false;
	snprintf(name, size, "%s%s%s", in ?: "", in ? "/" : "", pod);
	return true;
}

static bool in_pod(const struct group *group, const char *wanted)
{
	char whole[2 * CLEW_TEXT_SIZE];

	if (!pod_name(group, whole, sizeof(whole)))
		return false;
	return clew_container_is(group->names[CLEW_GROUP_POD], wanted) ||
	       fnmatch(wanted, whole, FNM_PATHNAME) == 0;
}

static bool in_unit(const struct group *group, const char *wanted)
{
	char name[CLEW_CONTAINER_SIZE];

	return clew_unit_of(group->path, name) && clew_unit_is(name, wanted);
}

/* A group can be chosen by each of these. */
enum by { BY_CGROUP, BY_CONTAINER, BY_POD, BY_UNIT, BY_COUNT };

static const struct {
	const char *option, *what;
} by_words[BY_COUNT] = {
	[BY_CGROUP] = {"cgroup", "control group"},
	[BY_CONTAINER] = {"container", "container"},
	[BY_POD] = {"pod", "pod"},
	[BY_UNIT] = {"unit", "unit"},
};

/* The name of the container, or the like, that a group is. False: it is none such. */
static bool name_by(const struct group *group, enum by by, char *name, size_t size)
{
	char text[CLEW_CONTAINER_SIZE];

	switch (by) {
	case BY_CGROUP:
		snprintf(name, size, "%s", group->path);
		return true;
	case BY_CONTAINER:
		if (!clew_container_of(group->path, text))
			return false;
		snprintf(name, size, "%s", group->names[CLEW_GROUP_CONTAINER] ?: text);
		return true;
	case BY_POD:
		return pod_name(group, name, size);
	default:
		if (!clew_unit_of(group->path, text))
			return false;
		snprintf(name, size, "%s", text);
		return true;
	}
}

/* Names some of what there is instead. */
static int fail_unknown(const struct group_list *list, const char *wanted, enum by by)
{
	enum { MOST_NAMED = 4 };
	char said[MOST_NAMED * (2 * CLEW_TEXT_SIZE + 8)] = "", name[2 * CLEW_TEXT_SIZE];
	const struct group *groups = list->items.data;
	size_t used = 0, count = 0;

	for (size_t i = 0; i < list->items.count && count <= MOST_NAMED; i++) {
		if (!name_by(&groups[i], by, name, sizeof(name)) ||
		    (by != BY_CGROUP && strstr(said, name)))
			continue;
		if (count++ < MOST_NAMED)
			used += (size_t)snprintf(said + used, sizeof(said) - used, "%s%s",
						 count > 1 ? ", " : "", name);
	}
	if (!count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "no task of the capture is in a %s%s: leave out --%s",
				 by_words[by].what, by == BY_POD ? " whose name is known" : "",
				 by_words[by].option);
	return clew_fail(CLEW_EXIT_INPUT,
			 "no task of the capture is in the %s '%s': there are %s%s",
			 by_words[by].what, wanted, said, count > MOST_NAMED ? ", .." : "");
}

static bool is_pattern(const char *text)
{
	return text[strcspn(text, "*?[")] != '\0';
}

/* Fills in which groups of a list were asked for. */
static int choose(const struct group_list *list, const struct clew_group_choice *choice,
		  struct clew_groups *groups)
{
	const char *const wanted[BY_COUNT] = {choice->cgroup, choice->container, choice->pod,
					      choice->unit};
	const struct group *all = list->items.data;
	bool several = false, any[BY_COUNT] = {};
	char met[CLEW_CONTAINER_SIZE] = "";

	for (size_t i = 0; i < list->items.count; i++) {
		const struct group *group = &all[i];
		const bool is[BY_COUNT] = {
			!choice->cgroup || is_below(group->path, choice->cgroup),
			!choice->container || in_container(group, choice->container, met, &several),
			!choice->pod || in_pod(group, choice->pod),
			!choice->unit || in_unit(group, choice->unit),
		};
		bool chosen = true;

		for (enum by by = 0; by < BY_COUNT; by++) {
			any[by] |= is[by];
			chosen &= is[by];
		}
		if (map_set(&groups->wanted, group->id, 0, chosen) < 0)
			return clew_fail_memory();
	}
	for (enum by by = 0; by < BY_COUNT; by++)
		if (wanted[by] && !any[by])
			return fail_unknown(list, wanted[by], by);
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

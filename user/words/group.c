/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control groups and containers of tasks. */
#include "words/group.h"

#include <string.h>

#include "base/container.h"
#include "format/text.h"

#define ID_SHOWN 12

static const char *path_of(const struct clew_trace *trace, const struct clew_trace_task *task)
{
	return task && task->cgroup ? clew_trace_cgroup(trace, task->cgroup) : NULL;
}

void clew_json_group(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_trace_task *task)
{
	const char *path = path_of(trace, task);
	char name[CLEW_CONTAINER_SIZE];

	clew_json_string(json, "cgroup", path);
	/* The fields of a task in a container have it already. */
	if (!path || !clew_container_of(path, name))
		clew_json_null(json, "container");
}

void clew_json_container(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_trace_task *task)
{
	const char *path = path_of(trace, task);
	char name[CLEW_CONTAINER_SIZE];

	if (path && clew_container_of(path, name))
		clew_json_string(json, "container", name);
}

bool clew_has_group(const struct clew_trace *trace, const struct clew_trace_task *task)
{
	const char *path = path_of(trace, task);

	return path && strcmp(path, "/");
}

bool clew_same_group(const struct clew_trace *trace, const struct clew_trace_task *task,
		     const struct clew_trace_task *other)
{
	const char *a = path_of(trace, task), *b = path_of(trace, other);
	char in_a[CLEW_CONTAINER_SIZE], in_b[CLEW_CONTAINER_SIZE];

	if (!a || !b)
		return a == b;
	if (clew_container_of(a, in_a) && clew_container_of(b, in_b))
		return !strcmp(in_a, in_b);
	return !strcmp(a, b);
}

void clew_print_group(FILE *out, const struct clew_trace *trace, const struct clew_trace_task *task)
{
	const char *path = path_of(trace, task);
	char name[CLEW_CONTAINER_SIZE];

	if (!clew_has_group(trace, task))
		return;
	if (!clew_container_of(path, name)) {
		fputs(" in group ", out);
		clew_print_safe(out, path);
		return;
	}
	if (strlen(name) == CLEW_CONTAINER_ID)
		name[ID_SHOWN] = '\0';
	fputs(" in container ", out);
	clew_print_safe(out, name);
}

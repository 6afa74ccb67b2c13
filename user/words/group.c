/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control groups and containers of tasks. See group.h. */
#include "words/group.h"

#include <string.h>

#include "base/container.h"
#include "words/text.h"

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
	clew_json_string(json, "container", path && clew_container_of(path, name) ? name : NULL);
}

void clew_print_group(FILE *out, const struct clew_trace *trace, const struct clew_trace_task *task)
{
	const char *path = path_of(trace, task);
	char name[CLEW_CONTAINER_SIZE];

	if (!path || !strcmp(path, "/"))
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

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

bool clew_place_of(const struct clew_trace *trace, uint64_t group, struct clew_place *ret_place)
{
	const char *path = group ? clew_trace_cgroup(trace, group) : NULL;
	struct clew_place *place = ret_place;

	*place = (struct clew_place){};
	if (!path)
		return false;
	if (clew_container_of(path, place->container_id))
		place->container = clew_trace_group_name(trace, group, CLEW_GROUP_CONTAINER)
					   ?: place->container_id;
	place->pod = clew_trace_group_name(trace, group, CLEW_GROUP_POD);
	place->name_space = clew_trace_group_name(trace, group, CLEW_GROUP_NAMESPACE);
	if (!place->container && !place->pod && clew_unit_of(path, place->unit_name))
		place->unit = place->unit_name;
	return place->container || place->pod || place->unit;
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

void clew_json_place(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_trace_task *task)
{
	struct clew_place place;

	if (!task || !clew_place_of(trace, task->cgroup, &place))
		return;
	if (place.container)
		clew_json_string(json, "container", place.container);
	if (place.container && place.container != place.container_id)
		clew_json_string(json, "container_id", place.container_id);
	if (place.pod)
		clew_json_string(json, "pod", place.pod);
	if (place.name_space)
		clew_json_string(json, "namespace", place.name_space);
	if (place.unit)
		clew_json_string(json, "unit", place.unit);
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

void clew_print_pod(FILE *out, const struct clew_place *place)
{
	if (place->name_space) {
		clew_print_safe(out, place->name_space);
		putc('/', out);
	}
	clew_print_safe(out, place->pod);
}

void clew_print_container(FILE *out, const struct clew_place *place)
{
	char shown[CLEW_CONTAINER_SIZE];

	snprintf(shown, sizeof(shown), "%s", place->container);
	if (clew_container_is_id(shown))
		shown[ID_SHOWN] = '\0';
	clew_print_safe(out, shown);
}

void clew_print_group(FILE *out, const struct clew_trace *trace, const struct clew_trace_task *task)
{
	struct clew_place place;

	if (!clew_has_group(trace, task))
		return;
	if (!clew_place_of(trace, task->cgroup, &place)) {
		fputs(" in group ", out);
		clew_print_safe(out, path_of(trace, task));
	}
	if (place.container) {
		fputs(" in container ", out);
		clew_print_container(out, &place);
	}
	if (place.pod) {
		fputs(place.container ? " of pod " : " in pod ", out);
		clew_print_pod(out, &place);
	}
	if (place.unit) {
		fputs(" in unit ", out);
		clew_print_safe(out, place.unit);
	}
}

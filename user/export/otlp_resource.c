/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of spans, and of the processes that they are of. */
#include "export/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "words/group.h"

static int add(struct otlp *otlp, struct otlp_list *list, struct otlp_attribute attribute)
{
	if (vector_reserve(&otlp->attributes, otlp->attributes.count + 1) < 0)
		return -ENOMEM;
	if (!list->count)
		list->first = (uint32_t)otlp->attributes.count;
	((struct otlp_attribute *)otlp->attributes.data)[otlp->attributes.count++] = attribute;
	list->count++;
	return 0;
}

int otlp_add_text(struct otlp *otlp, struct otlp_list *list, const char *key, const char *text)
{
	const char *copy;

	if (!text || !text[0])
		return 0;
	copy = arena_copy(&otlp->arena, text, strlen(text));
	return copy ? add(otlp, list, (struct otlp_attribute){.key = key, .text = copy}) : -ENOMEM;
}

int otlp_add_number(struct otlp *otlp, struct otlp_list *list, const char *key, int64_t number)
{
	return add(otlp, list, (struct otlp_attribute){.key = key, .number = number});
}

uint32_t *otlp_processes(const struct otlp *otlp, size_t *ret_count)
{
	uint32_t *found = malloc((otlp->spans.count + 1) * sizeof(*found));
	size_t count = 0;

	for (size_t i = 0; found && i < otlp->spans.count; i++) {
		uint32_t process = otlp_span(otlp, i)->process;
		size_t k = 0;

		while (k < count && found[k] != process)
			k++;
		if (k == count)
			found[count++] = process;
	}
	*ret_count = count;
	return found;
}

/* The name of a process's unit, or else of its executable, or its own. */
static int add_service(struct otlp *otlp, struct otlp_list *list, uint32_t process)
{
	const struct clew_trace *trace = otlp->export->trace;
	const struct clew_trace_task *task = clew_trace_task(trace, process);
	const char *name, *end;
	struct clew_description description = {};
	char unit[CLEW_PATH_SIZE] = "";

	if (task && otlp->export->relations)
		clew_relations_describe(otlp->export->relations, process, clew_trace_end(trace),
					&description);
	for (size_t i = 0; i < description.count; i++) {
		name = description.words[i].value;
		end = strrchr(name, '.');
		if (!strcmp(description.words[i].name, "service") && end)
			snprintf(unit, sizeof(unit), "%.*s", (int)(end - name), name);
	}
	name = task && task->executable[0] ? strrchr(task->executable, '/') : NULL;
	if (!unit[0])
		snprintf(unit, sizeof(unit), "%s",
			 name && name[1]	 ? name + 1
			 : task && task->comm[0] ? task->comm
						 : "unknown");
	return otlp_add_text(otlp, list, "service.name", unit);
}

/* By the semantic conventions for containers and Kubernetes. */
static int add_place(struct otlp *otlp, struct otlp_list *list, uint64_t group)
{
	const struct clew_trace *trace = otlp->export->trace;
	const char *path = clew_trace_cgroup(trace, group);
	char uid[CLEW_POD_UID_SIZE];
	struct clew_place place;
	const char *name;
	int r = 0;

	if (!clew_place_of(trace, group, &place))
		return 0;
	name = place.container && place.container != place.container_id ? place.container : NULL;
	if (place.container)
		r = otlp_add_text(otlp, list, "container.id", place.container_id);
	if (r >= 0)
		r = otlp_add_text(otlp, list, "container.name", name);
	if (r >= 0 && place.pod)
		r = otlp_add_text(otlp, list, "k8s.container.name", name);
	if (r >= 0)
		r = otlp_add_text(otlp, list, "k8s.pod.name", place.pod);
	if (r >= 0)
		r = otlp_add_text(otlp, list, "k8s.namespace.name", place.name_space);
	if (r >= 0 && clew_pod_uid_in(path, uid))
		r = otlp_add_text(otlp, list, "k8s.pod.uid", uid);
	return r;
}

static uint32_t pid_of(const struct clew_trace_task *task)
{
	return task->pid ? task->pid : task->tid;
}

int otlp_resource(struct otlp *otlp, uint32_t process, struct otlp_list *ret_list)
{
	const struct clew_trace *trace = otlp->export->trace;
	const struct clew_trace_task *task = clew_trace_task(trace, process);
	int r;

	*ret_list = (struct otlp_list){};
	r = add_service(otlp, ret_list, process);
	if (r >= 0 && task && pid_of(task))
		r = otlp_add_number(otlp, ret_list, "process.pid", pid_of(task));
	if (r >= 0 && task)
		r = otlp_add_text(otlp, ret_list, "process.executable.path", task->executable);
	if (r >= 0 && task)
		r = otlp_add_text(otlp, ret_list, "process.command_line", task->command_line);
	if (r >= 0 && task)
		r = add_place(otlp, ret_list, task->cgroup);
	if (r >= 0)
		r = otlp_add_text(otlp, ret_list, "host.name",
				  task && task->host ? task->host : clew_trace_meta(trace, "host"));
	if (r >= 0)
		r = otlp_add_text(otlp, ret_list, "os.type", "linux");
	if (r >= 0)
		r = otlp_add_text(otlp, ret_list, "os.version", clew_trace_meta(trace, "kernel"));
	return r;
}

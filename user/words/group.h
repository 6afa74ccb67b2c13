/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control groups of tasks, and the containers, pods and units that they are, in JSON and in words.
 */
#ifndef CLEW_WORDS_GROUP_H
#define CLEW_WORDS_GROUP_H

#include "trace/trace.h"
#include <stdio.h>

#include "base/container.h"
#include "format/json.h"

/* The names that people have for a control group. The texts are the trace's, or in here. */
struct clew_place {
	const char *container;	/* its name, else its id; NULL: it is in none */
	const char *pod;	/* NULL: none, or unknown */
	const char *name_space; /* of the pod */
	const char *unit;	/* of systemd; NULL: none, or it is in a container */
	char container_id[CLEW_CONTAINER_SIZE];
	char unit_name[CLEW_CONTAINER_SIZE];
};

/* False: it has none of them. The place is not to be copied. */
bool clew_place_of(const struct clew_trace *trace, uint64_t group, struct clew_place *ret_place);

/* Prints "NAMESPACE/POD" of a place that has a pod, and the container of one that has that: an id
 * is cut to the twelve digits that container engines show. Safe for a terminal. */
void clew_print_pod(FILE *out, const struct clew_place *place);
void clew_print_container(FILE *out, const struct clew_place *place);

/* Behind a task's own fields: "cgroup", the path of its group, null where that is unknown, and
 * "container": null, unless those fields have it. */
void clew_json_group(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_trace_task *task);

/* The fields of its place that a task has: "container" (with "container_id", if it has a name),
 * "pod", "namespace", "unit". */
void clew_json_place(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_trace_task *task);

/* True if a task is known to be in another group than the root. */
bool clew_has_group(const struct clew_trace *trace, const struct clew_trace_task *task);

/* True if two tasks are in the same container, or else have the same group. An unknown group is
 * one, too; `other` may be NULL. */
bool clew_same_group(const struct clew_trace *trace, const struct clew_trace_task *task,
		     const struct clew_trace_task *other);

/* Prints " in container NAME of pod NAMESPACE/POD" as far as it has these, else " in unit NAME",
 * else " in group PATH", safe for a terminal; nothing for the root group. */
void clew_print_group(FILE *out, const struct clew_trace *trace,
		      const struct clew_trace_task *task);

#endif

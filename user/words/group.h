/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control groups and containers of tasks, in JSON and in words. */
#ifndef CLEW_WORDS_GROUP_H
#define CLEW_WORDS_GROUP_H

#include "trace/trace.h"
#include <stdio.h>

#include "format/json.h"

/* Behind a task's own fields: "cgroup", the path of its group, null where that is unknown, and
 * "container": null, unless those fields have it. */
void clew_json_group(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_trace_task *task);

/* The field "container" of a task that is in one. */
void clew_json_container(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_trace_task *task);

/* True if a task is known to be in another group than the root. */
bool clew_has_group(const struct clew_trace *trace, const struct clew_trace_task *task);

/* True if two tasks are in the same container, or else have the same group. An unknown group is
 * one, too; `other` may be NULL. */
bool clew_same_group(const struct clew_trace *trace, const struct clew_trace_task *task,
		     const struct clew_trace_task *other);

/* Prints " in container NAME", else " in group PATH", safe for a terminal; nothing for the root
 * group. An id is cut to the twelve digits that container engines show. */
void clew_print_group(FILE *out, const struct clew_trace *trace,
		      const struct clew_trace_task *task);

#endif

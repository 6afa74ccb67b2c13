/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control groups and containers of tasks, in JSON and in words. */
#ifndef CLEW_WORDS_GROUP_H
#define CLEW_WORDS_GROUP_H

#include "trace/trace.h"
#include <stdio.h>

#include "words/json.h"

/* The fields "cgroup", the path of a task's group, and "container", null where there is none or it
 * is unknown. */
void clew_json_group(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_trace_task *task);

/* Prints " in container NAME", else " in group PATH", safe for a terminal; nothing for the root
 * group. An id is cut to the twelve digits that container engines show. */
void clew_print_group(FILE *out, const struct clew_trace *trace,
		      const struct clew_trace_task *task);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks chosen by their control group or container. */
#ifndef CLEW_CLI_GROUPS_H
#define CLEW_CLI_GROUPS_H

#include "trace/trace.h"

struct clew_groups;

/*
 * The groups of a capture that a glob (NULL: any) and a container (NULL: any or none) choose. *ret
 * is the caller's to free. Returns 0 or, after clew_fail(), an exit status: also where the capture
 * has no such group, or several containers begin like that.
 */
int clew_groups_find(const struct clew_trace *trace, const char *glob, const char *container,
		     struct clew_groups **ret);
void clew_groups_free(struct clew_groups *groups);

/* True if a task's group is one of them. */
bool clew_groups_have(const struct clew_groups *groups, const struct clew_trace_task *task);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks, and spans of a causal trace, chosen by their control group, container, pod or unit. */
#ifndef CLEW_CLI_OPERAND_GROUPS_H
#define CLEW_CLI_OPERAND_GROUPS_H

#include "cli/front/options.h"
#include "trace/trace.h"
#include <clew/model.h>

/* The groups that were asked for. */
struct clew_group_choice {
	const char *cgroup;    /* a glob of a path; NULL: any group */
	const char *container; /* a name, a glob or the beginning of an id; NULL: any or none */
	const char *pod;       /* POD or NAMESPACE/POD, or a glob; NULL: any or none */
	const char *unit;      /* of systemd, or a glob; NULL: any or none */
};

/* The rows of an option table: `member` is a struct clew_group_choice of the structure of values;
 * `what` are threads or something of theirs. */
#define CLEW_GROUP_OPTIONS(structure, member, what)                                                \
	{0,                                                                                        \
	 "cgroup",                                                                                 \
	 "GLOB",                                                                                   \
	 "only " what " in such a control group or below",                                         \
	 clew_take_string,                                                                         \
	 offsetof(structure, member.cgroup)},                                                      \
		{0,                                                                                \
		 "container",                                                                      \
		 "NAME",                                                                           \
		 "only " what " in this container: its name or the beginning of its id",           \
		 clew_take_string,                                                                 \
		 offsetof(structure, member.container)},                                           \
		{0,                                                                                \
		 "pod",                                                                            \
		 "NAME",                                                                           \
		 "only " what " in this pod: NAME or NAMESPACE/NAME",                              \
		 clew_take_string,                                                                 \
		 offsetof(structure, member.pod)},                                                 \
	{                                                                                          \
		0, "unit", "NAME", "only " what " in this unit of systemd", clew_take_string,      \
			offsetof(structure, member.unit)                                           \
	}

static inline bool clew_groups_asked(const struct clew_group_choice *choice)
{
	return choice->cgroup || choice->container || choice->pod || choice->unit;
}

struct clew_groups;

/*
 * The groups of a capture that were asked for. *ret is the caller's to free; NULL: none was asked
 * for. Returns 0 or, after clew_fail(), an exit status: also where the capture has no such group,
 * or several containers begin like that.
 */
int clew_groups_find(const struct clew_trace *trace, const struct clew_group_choice *choice,
		     struct clew_groups **ret);
void clew_groups_free(struct clew_groups *groups);

/* True if a task's group is one of them. */
bool clew_groups_have(const struct clew_groups *groups, const struct clew_trace_task *task);

/*
 * By span of a model: true if it is a thread in the groups that were asked for, or below one.
 * *ret_only is the caller's to free; NULL: none was asked for. Returns as clew_groups_find().
 */
int clew_groups_spans(const struct clew_model *model, const struct clew_group_choice *choice,
		      bool **ret_only);

#endif

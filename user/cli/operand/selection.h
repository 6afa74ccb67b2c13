/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The threads that --tid, --pid, --comm, --cgroup and --container choose. */
#ifndef CLEW_CLI_OPERAND_SELECTION_H
#define CLEW_CLI_OPERAND_SELECTION_H

#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "explain/recorded.h"
#include "trace/trace.h"

/* The options that choose tasks; a task has to satisfy all that are given. */
struct clew_selection {
	struct clew_number tid;
	struct clew_number pid;
	const char *comm; /* a glob; NULL: any name */
	struct clew_group_choice group;
	bool self; /* clew's own threads, too */
	/* Where no other option chooses: the command that the capture is of, and its children, if
	 * there is one. */
	bool recorded_first;
	struct clew_recorded recorded; /* clew_selection_resolve() sets it */
	/* NULL: `comm` is matched against a task's last name. Else the trace, and it is matched
	 * against all names that the task had. */
	const struct clew_trace *trace;
	/* The groups that were asked for; clew_selection_resolve() sets it, the caller frees it. */
	struct clew_groups *groups;
};

/*
 * Before tasks are chosen: --tid and --pid may be numbers of an inner pid namespace, if no task has
 * them in the machine's and only one has them in another; and the groups must be there. Returns 0
 * or, after clew_fail(), an exit status.
 */
int clew_selection_resolve(struct clew_selection *selection, const struct clew_trace *trace);
void clew_selection_done(struct clew_selection *selection);

/* True if tasks are chosen by what they are, and not all but clew's own. */
static inline bool clew_selection_chooses(const struct clew_selection *selection)
{
	return selection->tid.given || selection->pid.given || selection->comm ||
	       clew_groups_asked(&selection->group) || selection->recorded.root != CLEW_NO_TASK;
}

/* True if a task is chosen. clew's own threads are only where `self` is set, or --tid or --pid
 * names them. `context`: struct clew_selection *. */
bool clew_selection_wants(void *context, const struct clew_trace_task *task);

/* The same, by the name that the task had at a moment. */
bool clew_selection_wants_at(const struct clew_selection *selection, const struct clew_trace *trace,
			     const struct clew_trace_task *task, uint64_t at);

/*
 * Resolves, and fails if no task of the capture is chosen, and says which option is to blame. Where
 * no task's last name matches --comm it sets `selection->trace`, so that earlier names count, too.
 * Returns 0 or, after clew_fail(), an exit status.
 */
int clew_selection_check(struct clew_selection *selection, const struct clew_trace *trace);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the tasks that are recorded in detail: by pid, by name, by cgroup. */
#ifndef CLEW_BPF_FILTER_H
#define CLEW_BPF_FILTER_H

#include "identity.h"
#include "kernel.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define OPENER_NAME 0x65706f2d77656c63ull /* the first 8 bytes of "clew-opener" */

/* Fixed at load. */
const volatile bool filter_pids;
/* The PID namespace that chosen pids are of, by its inode; 0: the machine's. */
const volatile __u32 filter_namespace;
const volatile bool filter_comm;
const volatile bool filter_functions; /* functions of some processes only */
const volatile __u32 messages_of;     /* messages of this process and its children only; 0: all */
const volatile bool filter_cgroup;
const volatile char filter_glob[CLEW_COMM_SIZE * 2];
const volatile __u64 filter_cgroup_id;
const volatile __u32 filter_cgroup_level;
/* Index in css_set.subsys; ~0: the unified hierarchy. */
const volatile __u32 filter_cgroup_subsystem;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* tid, or pid with the top bit set */
	__type(value, __u32);
} clew_filter SEC(".maps");

static __always_inline bool cgroup_wanted(struct task_struct *task)
{
	struct cgroup *cgroup, *ancestor = NULL;
	__u32 level = filter_cgroup_level;

	cgroup = filter_cgroup_subsystem == ~0u ? READ(task, cgroups, dfl_cgrp)
						: controller_cgroup(task, filter_cgroup_subsystem);
	if (!cgroup || READ(cgroup, level) < (int)level)
		return false;
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
			      (void *)cgroup + bpf_core_field_offset(struct cgroup, ancestors) +
				      level * sizeof(ancestor));
	return ancestor && READ(ancestor, kn, id) == filter_cgroup_id;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CLEW_FUNCTION_FILTERS);
	__type(key, __u32); /* pid with the top bit set */
	__type(value, __u8);
} clew_function_pids SEC(".maps");

/* A match in progress: positions in the name and in the pattern, and where to
 * continue after a '*' that matched too little. */
struct glob {
	char comm[CLEW_COMM_SIZE];
	__u32 at;
	__u32 pattern;
	__u32 star; /* after the last '*', 0 none */
	__u32 resume;
	bool matches;
};

/* One step of the match; 1 ends the loop. The verifier checks one step only. */
static long glob_step(__u32 turn, struct glob *glob)
{
	char c = glob->comm[glob->at & (CLEW_COMM_SIZE - 1)];
	char p = filter_glob[glob->pattern & (sizeof(filter_glob) - 1)];

	if (glob->at >= CLEW_COMM_SIZE || !c) {
		glob->pattern++;
		glob->matches = !p;
		return p != '*';
	}
	if (p == '*') {
		glob->star = ++glob->pattern;
		glob->resume = glob->at;
	} else if (p == '?' || p == c) {
		glob->pattern++;
		glob->at++;
	} else if (glob->star) {
		glob->pattern = glob->star;
		glob->at = ++glob->resume;
	} else {
		return 1;
	}
	return 0;
}

/* Shell-like match of a task's name with the filter's pattern: '*' and '?'. */
static __noinline bool comm_wanted(const char *comm)
{
	struct glob glob = {.at = always_zero,
			    .pattern = always_zero,
			    .star = always_zero,
			    .resume = always_zero};

	bpf_probe_read_kernel_str(glob.comm, sizeof(glob.comm), comm);
	bpf_loop(CLEW_COMM_SIZE * sizeof(filter_glob), glob_step, &glob, 0);
	return glob.matches;
}

/*
 * `comm`: the task's name, or the one that it is about to get. The flag is
 * written only if it changes: another task may rename this one while it is
 * switched.
 */
static __always_inline void update_detail(struct clew_task_state *state, const char *comm)
{
	bool wanted = (state->flags & CLEW_TASK_STATE_PID) &&
		      !(state->flags & CLEW_TASK_STATE_SELF) && (!filter_comm || comm_wanted(comm));

	if (wanted != !!(state->flags & CLEW_TASK_STATE_DETAIL))
		state->flags ^= CLEW_TASK_STATE_DETAIL;
}

/* The number that a task has in the PID namespace of the chosen pids; 0: none. */
static __always_inline __u32 number_of_chosen(struct task_struct *task)
{
	struct pid *pid = READ(task, thread_pid);
	__u32 i;

	if (!filter_namespace)
		return task->pid;
	for (i = 0; i < CLEW_NSPID_LEVELS; i++) {
		struct upid upid = {};

		bpf_core_read(&upid, bpf_core_type_size(struct upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      i * bpf_core_type_size(struct upid));
		if (READ(upid.ns, ns.inum) == filter_namespace)
			return upid.nr;
		if (i >= READ(pid, level))
			break;
	}
	return 0;
}

/* True if the task, or its process, was chosen by its number. */
static __always_inline bool is_chosen(struct task_struct *task)
{
	__u32 tid = number_of_chosen(task),
	      pid = number_of_chosen(READ_TRUSTED(task, group_leader)) | 0x80000000u;

	return bpf_map_lookup_elem(&clew_filter, &tid) || bpf_map_lookup_elem(&clew_filter, &pid);
}

/* By `-f PID:`, itself or by descent. */
static __always_inline void update_functions(struct task_struct *task,
					     struct clew_task_state *state)
{
	__u32 pid;
	__u8 *bits;

	if (!filter_functions)
		return;
	pid = number_of_chosen(READ_TRUSTED(task, group_leader)) | 0x80000000u;
	bits = bpf_map_lookup_elem(&clew_function_pids, &pid);
	if (bits)
		state->functions |= *bits;
}

/* By the process whose messages are recorded, itself or by descent. */
static __always_inline void update_messages(struct task_struct *task, struct clew_task_state *state)
{
	if (messages_of && number_of_chosen(READ_TRUSTED(task, group_leader)) == messages_of)
		state->flags |= CLEW_TASK_STATE_MESSAGES;
}

/* True for the processes in which clew opens files of others: children of it that
 * call themselves "clew-opener". */
static __always_inline bool is_opener(struct task_struct *task)
{
	__u64 name = 0;

	if (READ(task, real_parent, tgid) != (int)self_pid)
		return false;
	bpf_probe_read_kernel(&name, sizeof(name), task->comm);
	return name == OPENER_NAME;
}

static __always_inline void update_filter(struct task_struct *task, struct clew_task_state *state,
					  bool inherited)
{
	if (task->tgid == (int)self_pid || is_opener(task))
		state->flags |= CLEW_TASK_STATE_SELF;
	if (inherited || !filter_pids || is_chosen(task))
		state->flags |= CLEW_TASK_STATE_PID;
	update_functions(task, state);
	update_messages(task, state);
	update_detail(state, task->comm);
}

#endif

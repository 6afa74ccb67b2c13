/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The descriptors of a poll, a select or an epoll instance that a task sleeps
 * in. One set at a time: the passes for other ends visit one task after the
 * other.
 *
 * Invariant: a set is whole or empty, as one descriptor that is left out may be
 * the one that ends the wait.
 */
#ifndef CLEW_BPF_END_SET_H
#define CLEW_BPF_END_SET_H

#include "call.h"
#include "foreign.h"
#include "kernel.h"
#include "object.h"
#include "poll.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

#define SELECTED_MOST 1024 /* FD_SETSIZE */
#define SELECT_WORDS  (SELECTED_MOST / 64)
#define SET_INDEX(n)  ((n) & (CLEW_ENDS_POLLED - 1))

static struct poll_entry set_polls[CLEW_ENDS_POLLED];
static __u64 set_polled;
static __u64 set_words[3 * SELECT_WORDS]; /* what is selected: to read, to write, exceptions */
static __u64 set_selected;		  /* descriptors from 0 on */
static __u64 set_nodes[CLEW_ENDS_POLLED]; /* of the tree of an epoll instance */
static __u64 set_files[CLEW_ENDS_POLLED]; /* 0: to be found by the descriptor */
static __s32 set_descriptors[CLEW_ENDS_POLLED];
static __u32 set_count; /* more than CLEW_ENDS_POLLED: it does not fit */

static __always_inline void set_add(__s32 descriptor)
{
	__u32 at = set_count++;

	if (at >= CLEW_ENDS_POLLED)
		return;
	set_descriptors[SET_INDEX(at)] = descriptor;
	set_files[SET_INDEX(at)] = 0;
}

static int poll_step(__u32 index, void *unused)
{
	__s32 descriptor = set_polls[SET_INDEX(index)].descriptor;

	if (index >= set_polled)
		return 1;
	if (descriptor >= 0)
		set_add(descriptor);
	return 0;
}

static __always_inline void read_polled(struct task_struct *task, const struct call *call)
{
	__u64 count = call->argument[1];

	if (!count || count > CLEW_ENDS_POLLED ||
	    foreign_read_part(set_polls, count * sizeof(set_polls[0]), sizeof(set_polls),
			      call->argument[0], task))
		return;
	set_polled = count;
	bpf_loop(CLEW_ENDS_POLLED, poll_step, NULL, 0);
}

static int select_step(__u32 index, void *unused)
{
	__u32 word = index / 64 & (SELECT_WORDS - 1);
	__u64 bits = set_words[word] | set_words[SELECT_WORDS + word] |
		     set_words[2 * SELECT_WORDS + word];

	if (index >= set_selected)
		return 1;
	if (bits >> (index & 63) & 1)
		set_add((__s32)index);
	return 0;
}

static __always_inline void read_selected(struct task_struct *task, const struct call *call)
{
	__u64 count = call->argument[0], most = READ(task, files, fdt, max_fds), size;
	__u32 i;

	/* As the kernel does: many programs give the size of their sets. */
	count = count < most ? count : most;
	size = (count + 63) / 64 * sizeof(set_words[0]);
	if (!count || count > SELECTED_MOST)
		return;
	__builtin_memset(set_words, 0, sizeof(set_words));
	for (i = 0; i < 3; i++)
		if (call->argument[i + 1] && foreign_read_part(&set_words[i * SELECT_WORDS], size,
							       SELECT_WORDS * sizeof(set_words[0]),
							       call->argument[i + 1], task))
			return;
	set_selected = count;
	bpf_loop(SELECTED_MOST, select_step, NULL, 0);
}

/* Visits the tree's nodes in order of depth: each appends its children. */
static int epoll_step(__u32 index, void *unused)
{
	struct rb_node *node;
	struct epitem *item;
	__u64 left, right;

	if (index >= set_count || set_count > CLEW_ENDS_POLLED)
		return 1;
	node = (struct rb_node *)set_nodes[SET_INDEX(index)];
	item = (void *)node - bpf_core_field_offset(struct epitem, rbn);
	set_descriptors[SET_INDEX(index)] = READ(item, ffd.fd);
	set_files[SET_INDEX(index)] = READ_NUMBER(item, ffd.file);
	left = READ_NUMBER(node, rb_left);
	right = READ_NUMBER(node, rb_right);
	if (left)
		set_nodes[SET_INDEX(set_count++)] = left;
	if (right && set_count < CLEW_ENDS_POLLED)
		set_nodes[SET_INDEX(set_count++)] = right;
	else if (right)
		set_count = CLEW_ENDS_POLLED + 1;
	return 0;
}

static __always_inline void read_epoll(struct task_struct *task, const struct call *call)
{
	struct file *file = file_of(task, (__s32)call->argument[0]);
	struct eventpoll *epoll;
	__u64 object;

	if (!file || anonymous_kind(file, &object) != CLEW_OBJECT_EPOLL)
		return;
	epoll = READ(file, private_data);
	set_nodes[0] = READ_NUMBER(epoll, rbr.rb_root.rb_node);
	set_count = set_nodes[0] != 0;
	bpf_loop(CLEW_ENDS_POLLED, epoll_step, NULL, 0);
}

/* Reads the set of a sleeping task's call. Empty if there is none, if it cannot
 * be read, or if it does not fit. */
static __always_inline void read_set(struct task_struct *task, const struct call *call, __u8 class)
{
	set_count = 0;
	if (class == CLEW_CALL_EPOLL)
		read_epoll(task, call);
	else if (polls_entries(call))
		read_polled(task, call);
	else if (class == CLEW_CALL_POLL)
		read_selected(task, call);
	if (set_count > CLEW_ENDS_POLLED)
		set_count = 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other ends of waits, at the start and the stop of a recording. A first pass,
 * over all tasks, writes what each sleeps on and in which kernel function. User
 * space puts the other ends of these into a map. A second pass, over all open
 * files of all tasks, writes who has one of them open.
 *
 * Nothing runs here while the recording goes on.
 */
#include "end.h"
#include "call.h"
#include "kernel.h"
#include "object.h"
#include "poll.h"
#include "read.h"
#include "stack.h"
#include "state.h"
#include "wait.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/calls.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* The passes run one after the other, each for one task at a time. */
static struct clew_end ended;
static struct clew_wait ended_wait;
static __u64 ended_stack[WAITING_DEPTH];
static struct poll_entry ended_polls[CLEW_ENDS_POLLED];

/* The ends that somebody waits for: user space fills it between the passes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CLEW_ENDS_MOST);
	__type(key, struct clew_end_key);
	__type(value, __u8);
} clew_ends SEC(".maps");

/* The flag of all records of a pass. */
volatile __u32 ends_stop;

/* The function that a sleeping task called the scheduler from, as in
 * /proc/PID/wchan; 0 unknown. */
static __always_inline __u64 sleeping_function(struct task_struct *task)
{
	long size;
	int i;

	if (!sched_text)
		return 0;
	size = bpf_get_task_stack(task, ended_stack, sizeof(ended_stack), 0);
	for (i = 0; i < WAITING_DEPTH && (i + 1) * (long)sizeof(ended_stack[0]) <= size; i++)
		if (ended_stack[i] < sched_text || ended_stack[i] >= sched_text_end)
			return ended_stack[i];
	return 0;
}

static __always_inline void begin_end(struct where *where, struct clew_task_state *state)
{
	__builtin_memset(&ended, 0, sizeof(ended));
	ended.header.time = where->time;
	ended.header.cpu = CLEW_NO_CALL;
	ended.header.kind = CLEW_KIND_END;
	ended.header.flags = ends_stop ? CLEW_END_STOP : 0;
	ended.task = state->serial;
	ended.descriptor = -1;
}

/* True for calls that hand data to the descriptor of the wait. */
static __always_inline bool hands_over(const struct clew_wait *wait)
{
	switch (wait->call) {
	case CALL_WRITE:
	case CALL_WRITEV:
	case CALL_VMSPLICE:
		return true;
	}
	return wait->splice_side == CLEW_SPLICE_OUT;
}

/* Writes the record of the descriptor, if it has another end. True if so. */
static __always_inline bool put_end(struct seq_file *seq, struct task_struct *task,
				    __s32 descriptor, bool writes)
{
	struct file *file = file_of(task, descriptor);

	if (!file)
		return false;
	ended.header.flags &= ~(CLEW_END_READS | CLEW_END_WRITES);
	ended.object = ended.end = ended.listener = 0;
	ended.object_kind = CLEW_OBJECT_NONE;
	ended.device = 0;
	other_end((__u64)file, &ended, writes);
	if (!ended.object_kind)
		return false;
	ended.descriptor = descriptor;
	bpf_seq_write(seq, &ended, sizeof(ended));
	return true;
}

/* The descriptors of a poll. True if one has another end. */
static __always_inline bool put_polled(struct seq_file *seq, struct task_struct *task,
				       const struct call *call)
{
	__u64 count = call->argument[1];
	bool any = false;
	__u32 i;

	if (!count || count > CLEW_ENDS_POLLED)
		return false;
	if (bpf_copy_from_user_task(ended_polls, count * sizeof(ended_polls[0]),
				    (void *)call->argument[0], task, 0))
		return false;
	for (i = 0; i < CLEW_ENDS_POLLED && i < count; i++)
		if (ended_polls[i].descriptor >= 0)
			any |= put_end(seq, task, ended_polls[i].descriptor, false);
	return any;
}

SEC("iter.s/task")
int clew_end_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct clew_task_state *state;
	struct where where;
	struct call call;
	bool any = false;
	__u32 bits;
	__u8 class;

	if (!task || !where_here(&where) || !task->mm ||
	    task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER | PF_EXITING))
		return 0;
	bits = task->__state;
	state = task_state(task);
	if (!state || state->flags & CLEW_TASK_STATE_SELF ||
	    !(bits & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)))
		return 0;
	begin_end(&where, state);
	__builtin_memset(&ended_wait, 0, sizeof(ended_wait));
	read_call(task, &call);
	class = describe_call(task, bits, &call, &ended_wait);
	/* The arguments of a call that is begun again are those of the first. */
	if (class == CLEW_CALL_RESTART && state->call_after) {
		ended_wait.descriptor = state->wait.descriptor;
		ended_wait.call = state->wait.call;
	}
	ended.call = ended_wait.call;
	ended.function = sleeping_function(task);
	if (polls_entries(&call))
		any = put_polled(seq, task, &call);
	else if (class != CLEW_CALL_EPOLL && class != CLEW_CALL_IO_URING)
		any = put_end(seq, task, ended_wait.descriptor, hands_over(&ended_wait));
	if (any || !ends_stop || !ended.function)
		return 0;
	ended.descriptor = -1;
	ended.object = 0;
	ended.object_kind = CLEW_OBJECT_NONE;
	bpf_seq_write(seq, &ended, sizeof(ended));
	return 0;
}

/* Writes that a process has an end open, if somebody waits for it. */
static __always_inline void put_holder(struct bpf_iter__task_file *ctx, struct clew_end_key *key,
				       __u8 flags)
{
	/* Linux 6.1 forgets between two reads that it is not NULL. */
	struct task_struct *task = ctx->task;
	struct clew_task_state *state;
	struct where where;

	key->flags = flags;
	if (!task || !bpf_map_lookup_elem(&clew_ends, key) || !where_here(&where))
		return;
	state = task_state(task);
	if (!state)
		return;
	begin_end(&where, state);
	ended.header.flags |= CLEW_END_HOLDS | flags;
	ended.end = flags & CLEW_END_LISTENS ? 0 : key->end;
	ended.listener = flags & CLEW_END_LISTENS ? key->end : 0;
	ended.device = key->device;
	ended.object_kind = key->object_kind;
	ended.descriptor = ctx->fd;
	ended.call = CLEW_NO_CALL;
	bpf_seq_write(ctx->meta->seq, &ended, sizeof(ended));
}

SEC("iter/task_file")
int clew_end_holders(struct bpf_iter__task_file *ctx)
{
	struct clew_end_key key = {};
	__u8 flags;

	if (!ctx->task || !ctx->file)
		return 0;
	own_end(number_of(ctx->file), &key);
	if (!key.end)
		return 0;
	flags = key.flags;
	if (key.object_kind != CLEW_OBJECT_PIPE) {
		put_holder(ctx, &key, flags);
		return 0;
	}
	if (flags & CLEW_END_READS)
		put_holder(ctx, &key, CLEW_END_READS);
	if (flags & CLEW_END_WRITES)
		put_holder(ctx, &key, CLEW_END_WRITES);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other ends of waits, at the start and the stop of a recording, and from time to
 * time for tasks that have slept since the time before. A first pass, over all
 * tasks, writes what each sleeps on and in which kernel function. User space puts
 * the other ends of these into a map. A second pass, over all open files of all
 * tasks, writes who has one of them open.
 */
#include "end.h"
#include "arch.h"
#include "call.h"
#include "end_request.h"
#include "end_set.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "object.h"
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

/* The ends that somebody waits for: user space fills it between the passes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CLEW_ENDS_MOST);
	__type(key, struct clew_end_key);
	__type(value, __u8);
} clew_ends SEC(".maps");

/* The flag and the number of all records of a pass. */
volatile __u32 ends_stop;
volatile __u8 ends_pass;

/* Only tasks that have slept since the pass before are seen, in waits that may be part of a
 * deadlock. */
volatile __u32 ends_long_only;
/* The number of them that had not slept since a pass before. */
volatile __u32 ends_new;

/* The function that a sleeping task called the scheduler from, as in
 * /proc/PID/wchan; 0 unknown. */
static __always_inline __u64 sleeping_function(struct task_struct *task)
{
	long size;
	int i;

	if (!sched_text)
		return 0;
	size = read_stack(task, ended_stack, sizeof(ended_stack));
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
	ended.pass = ends_pass;
}

/* Counts the passes that saw this sleep. True: it is not the first one. *ret_new: it is the second
 * one. */
static __always_inline bool has_slept(struct clew_task_state *state, bool *ret_new)
{
	__u64 woken = AGAIN(state->wake.time);

	if (state->looked != woken || !state->looks) {
		state->looked = woken;
		state->looks = 1;
		return false;
	}
	*ret_new = state->looks == 1;
	state->looks = 2;
	return true;
}

/* True if a wait may be part of a deadlock. */
static __always_inline bool may_last(const struct clew_end *end, __u8 class)
{
	return end->header.flags & CLEW_END_ENDLESS ||
	       (class >= CLEW_CALL_CHILD && class <= CLEW_CALL_VFORK);
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

/* Writes the record of an open file. True if it has another end. */
static __always_inline bool put_end(struct seq_file *seq, __u64 file, __s32 descriptor, bool writes,
				    bool always)
{
	ended.header.flags &= ~(CLEW_END_READS | CLEW_END_WRITES | CLEW_END_PAIRED);
	ended.object = ended.end = ended.listener = 0;
	ended.object_kind = CLEW_OBJECT_NONE;
	ended.device = 0;
	if (file)
		other_end(file, &ended, writes);
	if (!ended.object_kind && !always)
		return false;
	ended.descriptor = descriptor;
	bpf_seq_write(seq, &ended, sizeof(ended));
	return true;
}

struct set_walk {
	struct seq_file *seq;
	__u64 task; /* its address */
};

static int set_step(__u32 index, struct set_walk *walk)
{
	__s32 descriptor = set_descriptors[SET_INDEX(index)];
	__u64 file = set_files[SET_INDEX(index)];

	if (index >= set_count)
		return 1;
	put_end(walk->seq, file ? file : find_file(walk->task, descriptor), descriptor, false,
		true);
	return 0;
}

/* All descriptors of a set: those without another end may end the wait too.
 * False: there is none. */
static __always_inline bool put_set(struct seq_file *seq, struct task_struct *task)
{
	struct set_walk walk = {.seq = seq, .task = number_of(task)};

	bpf_loop(CLEW_ENDS_POLLED, set_step, &walk, 0);
	return set_count;
}

/* Emits a sleeper without a descriptor that has another end. It may wait for a
 * request to a FUSE daemon; user space sees this from the kernel function. */
static __always_inline void put_sleeper(struct seq_file *seq, struct task_struct *task,
					const struct clew_wait *wait)
{
	ended.descriptor = -1;
	ended.object = ended.header.flags & CLEW_END_ENDLESS ? wait->expected : 0;
	ended.end = ended.listener = 0;
	ended.object_kind = CLEW_OBJECT_NONE;
	if (knows_requests()) {
		ended.object_kind = CLEW_OBJECT_FILE;
		ended.end = number_of(task);
	}
	bpf_seq_write(seq, &ended, sizeof(ended));
}

/* True if a call has no timeout. One that has is begun again as another call. The timeout of select
 * is in no register that is read. */
static __always_inline bool is_endless(struct task_struct *task, const struct call *call,
				       __u8 class)
{
	struct file *file;

	switch (class) {
	case CLEW_CALL_FUTEX:
		return !call->argument[3];
	case CLEW_CALL_POLL:
		return call->number == CALL_POLL ? (__s32)call->argument[2] < 0
						 : call->number == CALL_PPOLL && !call->argument[2];
	case CLEW_CALL_EPOLL:
		return call->number == CALL_EPOLL_PWAIT2 ? !call->argument[3]
							 : (__s32)call->argument[3] < 0;
	case CLEW_CALL_DESCRIPTOR:
		file = moves_data(call->number) ? file_of(task, (__s32)call->argument[0]) : NULL;
		return file && moves_endlessly(file);
	default:
		return false;
	}
}

SEC("iter.s/task")
int clew_end_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct clew_task_state *state;
	struct where where;
	struct call call;
	bool any = false, new = false;
	__u32 bits;
	__u8 class;

	if (!task || !where_here(&where) || !READ_TRUSTED(task, mm) ||
	    task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER | PF_EXITING))
		return 0;
	bits = task->__state;
	state = task_state(task);
	if (!state || state->flags & CLEW_TASK_STATE_SELF ||
	    !(bits & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)))
		return 0;
	if (!has_slept(state, &new) && ends_long_only)
		return 0;
	begin_end(&where, state);
	__builtin_memset(&ended_wait, 0, sizeof(ended_wait));
	describe_call_of(task, bits, &call, &ended_wait);
	class = call.class;
	/* The arguments of a call that is begun again are those of the first. */
	if (class == CLEW_CALL_RESTART && state->call_after) {
		ended_wait.descriptor = state->wait.descriptor;
		ended_wait.call = state->wait.call;
	}
	if (is_endless(task, &call, class))
		ended.header.flags |= CLEW_END_ENDLESS;
	if (ends_long_only && !may_last(&ended, class))
		return 0;
	ends_new += new;
	ended.call = ended_wait.call;
	ended.function = sleeping_function(task);
	read_set(task, &call, class);
	if (class == CLEW_CALL_EPOLL || class == CLEW_CALL_POLL)
		any = put_set(seq, task);
	else if (class != CLEW_CALL_IO_URING)
		any = put_end(seq, (__u64)file_of(task, ended_wait.descriptor),
			      ended_wait.descriptor, hands_over(&ended_wait), false);
	if (!any && ended.function)
		put_sleeper(seq, task, &ended_wait);
	return 0;
}

/* Writes that a process has an end open, if somebody waits for it. */
static __always_inline void put_holder(struct bpf_iter__task_file *ctx, struct clew_end_key *key)
{
	/* Linux 6.1 forgets between two reads that it is not NULL. */
	struct task_struct *task = ctx->task;
	struct clew_task_state *state;
	struct where where;
	__u8 flags = key->flags;

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

/* A walk over what one open file holds: its own end, or both ends of a pipe, and then the requests
 * that a FUSE daemon has read from it. */
struct held_walk {
	struct bpf_iter__task_file *ctx;
	struct clew_end_key key;
	__u32 count; /* of ends; requests follow */
};

static int held_step(__u32 index, struct held_walk *walk)
{
	struct clew_end_key key = walk->key;

	if (index >= walk->count + request_count)
		return 1;
	if (index >= walk->count) {
		key = (struct clew_end_key){.object_kind = CLEW_OBJECT_FILE};
		key.end = request_waiters[(index - walk->count) & (REQUEST_WAITERS - 1)];
	} else if (key.object_kind == CLEW_OBJECT_PIPE) {
		key.flags &= index ? CLEW_END_WRITES : CLEW_END_READS;
		if (!key.flags)
			return 0;
	}
	put_holder(walk->ctx, &key);
	return 0;
}

SEC("iter/task_file")
int clew_end_holders(struct bpf_iter__task_file *ctx)
{
	struct held_walk walk = {.ctx = ctx};
	__u64 file;

	if (!ctx->task || !ctx->file)
		return 0;
	file = number_of(ctx->file);
	own_end(file, &walk.key);
	if (!walk.key.end)
		return 0;
	walk.count = walk.key.object_kind == CLEW_OBJECT_PIPE ? 2 : 1;
	request_count = 0;
	if (walk.key.object_kind == CLEW_OBJECT_FILE && knows_requests())
		find_request_waiters(
			(struct fuse_dev *)READ_NUMBER((struct file *)file, private_data));
	bpf_loop(REQUEST_WAITERS + 2, held_step, &walk, 0);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wakes: who, when, in which context. The waker leaves a stamp in the sleeper's
 * task storage; the next switch-in carries it away. There is no wake record.
 *
 * Runs under the sleeper's pi_lock with interrupts off, so stamps of one task
 * are written one at a time.
 */
#ifndef CLEW_WAKE_H
#define CLEW_WAKE_H

#include "ring.h"

#define SIGKILL 9

static __always_inline bool signal_pending(struct task_struct *task, __u32 state)
{
	__u64 pending;

	/* The flag comes before the wake. It is the next bit in all kernels; signals are in memory that is cold. */
	if (likely(notify_resume_mask && !(task->thread_info.flags & notify_resume_mask << 1)))
		return false;
	pending = task->pending.signal.sig[0] | BPF_CORE_READ(task, signal, shared_pending.signal.sig[0]);
	if (likely(!pending))
		return false;
	pending &= ~task->blocked.sig[0];
	if (state & TASK_INTERRUPTIBLE)
		return pending != 0;
	return (state & TASK_WAKEKILL) && (pending & (1UL << (SIGKILL - 1)));
}

static __always_inline __u8 futex_wake_operation(const struct call *call)
{
	switch (call->argument[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return (__u32)call->argument[2] == 1 ? CLEW_FUTEX_WAKE_ONE : CLEW_FUTEX_WAKE_MANY;
	case FUTEX_UNLOCK_PI:
		return CLEW_FUTEX_UNLOCK_PI;
	}
	return CLEW_FUTEX_OTHER;
}

/* A poller's object: what became ready. An epoll instance keeps a list of that; for poll and select it is what the waker's call is on. */
static __always_inline void describe_ready(struct where *where, struct task_struct *sleeper, struct task_struct *waker,
					   const struct call *sleeper_call, __u8 sleeper_class, const struct call *waker_call,
					   bool task_context, struct clew_wake_stamp *stamp)
{
	struct found found = {};
	struct file *file = NULL;
	__s32 descriptor = -1;

	if (sleeper_class == CLEW_CALL_EPOLL) {
		struct file *epoll_file = (struct file *)find_file(number_of(sleeper), sleeper_call->argument[0]);

		if (epoll_file)
			file = epoll_ready(epoll_file, &descriptor);
	}
	if (!file && task_context) {
		__u8 waker_class = class_of(waker_call);

		descriptor = -1;
		if (waker_class == CLEW_CALL_DESCRIPTOR)
			file = (struct file *)find_file(number_of(waker), waker_call->argument[0]);
		else if (waker_class == CLEW_CALL_DESCRIPTOR2)
			file = (struct file *)find_file(number_of(waker), waker_call->argument[2]);
		if (file && (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == S_IFSOCK) {
			/* The waker's end is not what the sleeper polls: its peer is. */
			struct socket *socket = BPF_CORE_READ(file, private_data);
			struct sock *sock = BPF_CORE_READ(socket, sk);

			stamp->object_kind = CLEW_OBJECT_SOCKET;
			if (BPF_CORE_READ(sock, __sk_common.skc_family) == AF_UNIX)
				stamp->object = unix_peer_inode(sock);
			return;
		}
	}
	if (!file)
		return;
	describe_file((__u64)file, &found, where->cpu, where->time, 0);
	stamp->object_kind = found.kind;
	stamp->object = found.object;
	stamp->device = found.device;
	stamp->descriptor = descriptor;
}

/* Some requests end in a kernel thread: their device is one itself. */
static __always_inline void stamp_completion(struct task_struct *waker, struct clew_task_state *state, struct clew_wake_stamp *stamp)
{
	struct clew_task_state *waker_state = task_state(waker);

	if (!waker_state || !waker_state->request)
		return;
	__builtin_memset(&state->cause, 0, sizeof(state->cause));
	state->cause.kind = CLEW_CAUSE_REQUEST;
	state->cause.object = waker_state->request;
	stamp->has_cause = 1;
}

/* `born`: it is the first wake of a new task, which was in no call yet. */
static __always_inline void stamp_wake(struct task_struct *sleeper, bool born)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct clew_task_state *state;
	struct call call = {.number = -1};
	struct clew_wake_stamp *stamp;
	__u32 sleeper_state;
	enum level level;
	__u8 context, flags = 0;

	if (!cpu_state)
		return;
	cpu_state->counts[CLEW_KIND_WAKE].seen++;
	state = task_state(sleeper);
	if (unlikely(!state)) {
		cpu_state->counts[CLEW_KIND_WAKE].missed++;
		return;
	}
	cpu_state->counts[CLEW_KIND_WAKE].reserved++;
	stamp = &state->wake;
	state->wakes = state->wakes ? 2 : 1;
	stamp->time = bpf_ktime_get_ns();
	level = level_of(cpu_state, cpu, waker);
	stamp->has_cause = 0;
	context = level == LEVEL_TASK ? CLEW_WAKE_TASK : CLEW_WAKE_UNKNOWN;
	if (unlikely(level <= LEVEL_SOFT)) {
		context = cause_of(cpu_state, level, &state->cause);
		cause_name(&state->cause, cpu, stamp->time);
		stamp->has_cause = state->cause.kind != CLEW_CAUSE_NONE;
	}
	stamp->context = context;
	stamp->object_kind = CLEW_OBJECT_NONE;
	stamp->object = 0;
	stamp->device = 0;
	stamp->descriptor = -1;
	stamp->operation = CLEW_FUTEX_NOT;
	stamp->waker = serial_of_current(cpu_state, waker);

	sleeper_state = sleeper->__state;
	if (unlikely(signal_pending(sleeper, sleeper_state)))
		flags |= CLEW_WAKE_SIGNAL;
	if (unlikely(sleeper_state & (TASK_STOPPED | TASK_TRACED)))
		flags |= CLEW_WAKE_STOPPED;
	if (likely(context == CLEW_WAKE_TASK)) {
		if (unlikely(waker->flags & PF_EXITING))
			flags |= CLEW_WAKE_EXITING;
		if (unlikely(waker->flags & PF_KTHREAD))
			stamp_completion(waker, state, stamp);
		/* What the waker was calling matters to sleepers on futexes and in polls, and where the sleep is not known yet. */
		if ((!state->slept || state->class >= CLEW_CALL_FUTEX) && !(waker->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)))
			read_call(waker, &call);
		if (call.number >= 0 && call.number < CLEW_CALL_COUNT &&
		    call_class[call.number & (CLEW_CALL_COUNT - 1)] == CLEW_CALL_FUTEX) {
			stamp->operation = futex_wake_operation(&call);
			if (call.argument[1] & FUTEX_PRIVATE_FLAG) {
				flags |= CLEW_WAKE_PRIVATE;
			} else {
				stamp->object_kind = CLEW_OBJECT_FUTEX;
				stamp->object = call.argument[0];
			}
		}
		if (call.compat)
			flags |= CLEW_WAKE_COMPAT;
	}
	stamp->call = call.number >= 0 ? call.number : CLEW_NO_CALL;
	stamp->flags = flags;

	if (!born && !(flags & CLEW_WAKE_SIGNAL)) {
		struct call sleeper_call;
		__u8 class = state->class;

		/* Not switched out yet: its registers tell what its storage does not. */
		if (unlikely(!state->slept)) {
			if (sleeper->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
				return;
			read_call(sleeper, &sleeper_call);
			class = class_of(&sleeper_call);
		}
		if (unlikely(class == CLEW_CALL_EPOLL || class == CLEW_CALL_POLL || class == CLEW_CALL_IO_URING)) {
			struct where where = {.cpu_state = cpu_state, .time = stamp->time, .cpu = cpu};

			read_call(sleeper, &sleeper_call);
			describe_ready(&where, sleeper, waker, &sleeper_call, class, &call, context == CLEW_WAKE_TASK, stamp);
		}
	}
}

SEC("tp_btf/sched_waking")
int BPF_PROG(clew_sched_waking, struct task_struct *task)
{
	if (!enabled)
		return 0;
	stamp_wake(task, false);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(clew_sched_wakeup_new, struct task_struct *task)
{
	if (!enabled)
		return 0;
	stamp_wake(task, true);
	return 0;
}

#endif

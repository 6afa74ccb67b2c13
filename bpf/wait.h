/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wait that a task begins, described at its switch-out: the system call,
 * its arguments, and the object that they name.
 *
 * All that is read from the task's memory is a hint until the builder has
 * checked it: other threads may change it meanwhile.
 */
#ifndef CLEW_BPF_WAIT_H
#define CLEW_BPF_WAIT_H

#include "arch.h"
#include "call.h"
#include "futex.h"
#include "identity.h"
#include "kernel.h"
#include "lock.h"
#include "lock_name.h"
#include "object.h"
#include "outside.h"
#include "poll.h"
#include "question.h"
#include "read.h"
#include "stack.h"
#include "state.h"
#include "unseen.h"
#include "where.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/calls.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define CLONE_VFORK 0x00004000

/* clew_call.stands: what describe_call() has to know of the task. */
#define STANDS_IOWAIT  1
#define STANDS_FROZEN  2
#define STANDS_EXITING 4

static __always_inline __u8 how_it_stands(struct task_struct *task)
{
	return (BPF_CORE_READ_BITFIELD(task, in_iowait) ? STANDS_IOWAIT : 0) |
	       (BPF_CORE_READ_BITFIELD(task, frozen) ? STANDS_FROZEN : 0) |
	       (task->flags & PF_EXITING ? STANDS_EXITING : 0);
}

/* The end of a splice that the task waits for. */
__noinline int describe_splice(__u64 task_address, const struct call *call, struct clew_wait *wait)
{
	if (!call || !wait || awaits_input(task_address, call->argument[0], spliced_to(call)))
		return 0;
	wait->descriptor = spliced_to(call);
	wait->splice_side = CLEW_SPLICE_OUT;
	return 0;
}

/* Describes what the call alone says: no memory of the task is read here. For a splice
 * describe_splice() has to follow. */
static __always_inline void describe_call(const struct call *call, struct clew_wait *wait,
					  __u32 state)
{
	wait->call = AGAIN(call->number) >= 0 ? AGAIN(call->number) : CLEW_NO_CALL;
	wait->descriptor = -1;
	if (AGAIN(call->compat))
		wait->flags |= CLEW_WAIT_FLAG_COMPAT;
	if (AGAIN(call->stands) & STANDS_IOWAIT)
		AGAIN(wait->flags) |= CLEW_WAIT_FLAG_IOWAIT;
	/* The bit is also set in vfork and in stops, which are not interruptible. */
	if (unlikely(AGAIN(call->stands) & STANDS_FROZEN) && state & TASK_INTERRUPTIBLE)
		wait->reason = CLEW_REASON_FROZEN;
	/* A task that is stopped or frozen outside a call, or that waits for a
	 * core dump, is in no fault. */
	if (AGAIN(call->outside) && !(AGAIN(call->stands) & STANDS_EXITING) &&
	    !(state & (TASK_STOPPED | TASK_TRACED | TASK_FREEZABLE | TASK_FROZEN)))
		AGAIN(wait->flags) |= CLEW_WAIT_FLAG_FAULT;
	switch (AGAIN(call->class)) {
	case CLEW_CALL_FUTEX:
		wait->object_kind = CLEW_OBJECT_FUTEX;
		wait->object = call->argument[0];
		wait->futex_operation = call->argument[1];
		wait->expected = (__u32)call->argument[2];
		break;
	case CLEW_CALL_CHILD:
		wait->object_kind = CLEW_OBJECT_CHILD;
		wait->object = (__s64)(__s32)call->argument[0];
		break;
	case CLEW_CALL_CHILD_ID:
		wait->object_kind = CLEW_OBJECT_CHILD;
		wait->object = call->argument[0] == 1 ? (__s64)(__s32)call->argument[1] : -1;
		break;
	case CLEW_CALL_IPC:
		wait->object_kind = CLEW_OBJECT_IPC;
		wait->object = (__u32)call->argument[0];
		break;
	case CLEW_CALL_VFORK:
		AGAIN(wait->flags) |= CLEW_WAIT_FLAG_VFORK;
		break;
	case CLEW_CALL_CLONE:
		if (call->argument[0] & CLONE_VFORK)
			AGAIN(wait->flags) |= CLEW_WAIT_FLAG_VFORK;
		break;
	case CLEW_CALL_DESCRIPTOR:
	case CLEW_CALL_EPOLL:
	case CLEW_CALL_IO_URING:
	case CLEW_CALL_SPLICE:
		wait->descriptor = call->argument[0];
		/* As I/O sendfile waits only for the file that is sent. */
		if (unlikely(AGAIN(call->stands) & STANDS_IOWAIT) && call->number == CALL_SENDFILE)
			wait->descriptor = call->argument[1];
		break;
	}
}

/* The same as a global function, where time does not matter: the verifier checks it once. */
__noinline int describe_call_rarely(const struct call *call, struct clew_wait *wait, __u32 state)
{
	if (call && wait)
		describe_call(call, wait, state);
	return 0;
}

/* Reads and describes the call of a task that sleeps already. */
static __always_inline void describe_call_of(struct task_struct *task, __u32 state,
					     struct call *ret_call, struct clew_wait *wait)
{
	read_call(task, ret_call);
	ret_call->stands = how_it_stands(task);
	describe_call_rarely(ret_call, wait, state);
	if (ret_call->class == CLEW_CALL_SPLICE)
		describe_splice(number_of(task), ret_call, wait);
}

/* True if the task waits for the lock on a file that it was refused. */
static __always_inline bool describe_file_lock(const struct clew_task_state *state,
					       __u32 task_state_bits, struct clew_wait *wait)
{
	if (!(state->flags & CLEW_TASK_STATE_REFUSED) || !locks_files(wait->call) ||
	    !(task_state_bits & TASK_INTERRUPTIBLE))
		return false;
	wait->reason = CLEW_REASON_FILE_LOCK;
	wait->file_lock = state->file_lock_range;
	wait->lock_process = state->file_lock_holder;
	if (state->flags & CLEW_TASK_STATE_TAKER)
		wait->flags |= CLEW_WAIT_FLAG_TAKER;
	return true;
}

/*
 * True if a task of a real-time kernel sleeps for what is a spinlock elsewhere, whatever its
 * call is for. The state alone says so, without the programs at contention.
 */
static __always_inline bool waits_for_spinlock(__u32 task_state_bits)
{
	return bpf_core_field_exists(struct task_struct___rt, softirq_disable_cnt) &&
	       task_state_bits & TASK_RTLOCK_WAIT;
}

/* The rare part of describe_reason(), a global function as it has many
 * branches. */
__noinline int describe_known_reason(struct clew_task_state *state, __u32 task_state_bits,
				     struct clew_wait *wait)
{
	if (!state || !wait)
		return false;
	if (state->lock) {
		state->lock_slept = 1;
		wait->reason = CLEW_REASON_LOCK;
		wait->object_kind = CLEW_OBJECT_LOCK;
		wait->object = state->lock;
		wait->lock_type = state->lock_type;
		wait->lock_owner = lock_owner(state->lock, state->lock_type);
		wait->device = 0;
		wait->futex_class = CLEW_FUTEX_CLASS_NONE;
		return true;
	}
	if (waits_for_spinlock(task_state_bits)) {
		wait->reason = CLEW_REASON_LOCK;
		wait->object_kind = CLEW_OBJECT_NONE;
		wait->object = 0;
		wait->argument = 0;
		wait->lock_owner = 0;
		wait->device = 0;
		wait->descriptor = -1;
		wait->futex_class = CLEW_FUTEX_CLASS_NONE;
		return true;
	}
	if (state->flags & CLEW_TASK_STATE_PAUSED) {
		/* It was about to sleep a moment ago. In a call that must not
		 * block it does not, and the next sleep is another one. */
		bool paused = (task_state_bits & TASK_KILLABLE) == TASK_KILLABLE &&
			      (wait->flags & CLEW_WAIT_FLAG_IOWAIT);

		wait->pause = paused ? state->pause : wait->pause;
		state->flags &= ~CLEW_TASK_STATE_PAUSED;
		if (paused) {
			wait->reason = CLEW_REASON_DIRTY;
			wait->object_kind = CLEW_OBJECT_DEVICE;
			wait->object = 0;
			wait->device = state->pause_device;
			return true;
		}
	}
	if (describe_file_lock(state, task_state_bits, wait))
		return true;
	if (state->reason) {
		wait->reason = state->reason;
		if (state->reclaim) {
			wait->object_kind = CLEW_OBJECT_CGROUP;
			wait->object = state->reclaim;
			wait->device = 0;
		}
		return true;
	}
	return false;
}

/* Why the kernel makes the task wait, if it has reported that: a lock, memory.
 * True: nothing more has to be found out. */
static __always_inline bool describe_reason(const struct where *where,
					    struct clew_task_state *state, __u32 task_state_bits,
					    struct clew_wait *wait)
{
	if (likely(!state->lock && !state->reason &&
		   !(state->flags & (CLEW_TASK_STATE_PAUSED | CLEW_TASK_STATE_REFUSED)) &&
		   !waits_for_spinlock(task_state_bits)))
		return false;
	if (state->lock && !state->lock_slept)
		lock_name_send(state->lock, state->lock_type, where->cpu, where->time);
	return describe_known_reason(state, task_state_bits, wait);
}

/* Remembers a wait, so that a restart or another wait in the same call is
 * recognised. Calls on descriptors are never restarted. */
static __always_inline void remember_wait(struct clew_task_state *state,
					  const struct clew_wait *wait, __u8 class)
{
	state->call_after = call_after(wait);
	if (class != CLEW_CALL_DESCRIPTOR && class != CLEW_CALL_SPLICE && class != CLEW_CALL_EPOLL)
		state->wait = *wait;
}

static __always_inline void describe_kernel_thread(void *context, const struct where *where,
						   struct task_struct *task, __u32 task_state_bits,
						   struct clew_task_state *state, bool detail,
						   struct clew_wait *wait)
{
	state->class = CLEW_CALL_PLAIN;
	wait->call = CLEW_NO_CALL;
	wait->descriptor = -1;
	wait->flags = CLEW_WAIT_FLAG_KTHREAD;
	/* The name of a kernel thread that sleeps for work says enough. For
	 * other sleeps the function says what it waits for. A worker of
	 * io_uring may also sleep interruptibly in the middle of a request. */
	if (detail &&
	    (((task_state_bits & TASK_UNINTERRUPTIBLE) && !(task_state_bits & TASK_NOLOAD)) ||
	     task->flags & PF_IO_WORKER)) {
		wait->flags |= CLEW_WAIT_FLAG_DETAIL;
		wait->object = waiting_function(context);
		if (wait->object)
			wait->object_kind = CLEW_OBJECT_FUNCTION;
	}
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		wait->flags |= CLEW_WAIT_FLAG_IOWAIT;
	describe_reason(where, state, task_state_bits, wait);
}

/* A call that is begun again waits for what it waited for before. False: it is
 * another call. */
static __always_inline bool describe_restart(struct task_struct *task,
					     const struct clew_task_state *state,
					     struct clew_wait *wait)
{
	if (!state->call_after || state->wait.call != state->call_after - 1)
		return false;
	*wait = state->wait;
	wait->flags |= CLEW_WAIT_FLAG_RESTARTED;
	wait->flags &= ~CLEW_WAIT_FLAG_SAME_CALL;
	if (task->thread_info.flags & return_flag)
		wait->flags |= CLEW_WAIT_FLAG_SAME_CALL;
	return true;
}

/* No call that sleeps has it as first argument: it is no descriptor, and no address. */
#define NO_ARGUMENT (~0ULL)

/* The task goes off the CPU without a wait. Unless it is still in the kernel since it came on, the
 * call of its last wait is over: the next wait may be in a call that looks the same. */
static __always_inline void forget_call(struct task_struct *task, struct clew_task_state *state)
{
	if (!stayed_in_kernel(task))
		state->first_argument = NO_ARGUMENT;
}

/* Notes the call's arguments, and whether the task has stayed in the same call
 * since its last wait. */
static __always_inline void describe_same_call(struct task_struct *task, const struct call *call,
					       struct clew_task_state *state,
					       struct clew_wait *wait)
{
	if (stayed_in_kernel(task)) {
		AGAIN(wait->flags) |= CLEW_WAIT_FLAG_STAYED;
		if (state->call_after == call_after(wait) && state->call_after &&
		    state->first_argument == call->argument[0] &&
		    state->second_argument == call->argument[1])
			AGAIN(wait->flags) |= CLEW_WAIT_FLAG_SAME_CALL;
	}
	state->first_argument = call->argument[0];
	state->second_argument = call->argument[1];
}

/* Reads what the memory of the current task says, as far as all tasks need it: a futex, or how a
 * process is made. */
__noinline int describe_memory(const struct call *call, struct clew_wait *wait)
{
	if (!call || !wait)
		return 0;
	if (call->class == CLEW_CALL_CLONE3) {
		__u64 flags = 0;

		bpf_probe_read_user(&flags, sizeof(flags), (void *)call->argument[0]);
		if (flags & CLONE_VFORK)
			wait->flags |= CLEW_WAIT_FLAG_VFORK;
	}
	/* Holders of a lock are inferred from the waits of all tasks that
	 * queued for it, not only of those that pass the filter. */
	if (waits_for_bare_word(call)) {
		__u32 before = 0;

		bpf_probe_read_user(&before, sizeof(before),
				    (void *)(call->argument[0] - sizeof(before)));
		classify_bare_word(wait, before);
	} else if (futex_memory_matters(wait, call)) {
		struct glibc_mutex mutex = {};

		if (!bpf_probe_read_user(&mutex, sizeof(mutex), (void *)call->argument[0]) ||
		    !bpf_probe_read_user(&mutex.lock, sizeof(mutex.lock),
					 (void *)call->argument[0]))
			classify_futex_any(wait, &mutex);
		if (wait->futex_class == CLEW_FUTEX_CLASS_RWLOCK) {
			__u32 state = 0;

			bpf_probe_read_user(&state, sizeof(state),
					    rwlock_state(&mutex, call->argument[0]));
			check_rwlock(wait, state);
		}
	}
	return 0;
}

/* Describes what the call is on, for tasks that pass the filter. */
static __always_inline void describe_object(__u32 cpu, __u64 time, struct task_struct *task,
					    const struct call *call, struct clew_task_state *state,
					    struct clew_wait *wait)
{
	__u8 class = AGAIN(call->class);
	struct found found = {};

	AGAIN(wait->flags) |= CLEW_WAIT_FLAG_DETAIL;
	if (class == CLEW_CALL_FUTEX_VECTOR) {
		struct futex_entry entry = {};

		/* It is not known yet which one of several futexes will be
		 * woken. */
		if (call->argument[1] == 1 &&
		    !bpf_probe_read_user(&entry, sizeof(entry), (void *)call->argument[0])) {
			wait->object_kind = CLEW_OBJECT_FUTEX;
			wait->object = entry.address;
			wait->futex_operation = entry.flags & FUTEX_PRIVATE_FLAG;
		}
	} else if (class == CLEW_CALL_PATH || class == CLEW_CALL_PATH_AT) {
		wait->object = send_text(
			class == CLEW_CALL_PATH ? call->argument[0] : call->argument[1], cpu, time);
		if (wait->object)
			wait->object_kind = CLEW_OBJECT_PATH;
	} else if (class == CLEW_CALL_POLL) {
		wait->descriptor = polled_alone(call);
	}
	if (AGAIN(wait->descriptor) >= 0) {
		describe_descriptor(cpu, time, task, state, AGAIN(wait->descriptor), &found);
		wait->object_kind = found.kind;
		wait->object = found.object;
		wait->device = found.device;
	}
}

/* True if the kernel says that the task is queued for a mutex: since 6.17, and in a real-time
 * kernel. PI futexes are queued for likewise, by calls that say so. */
static __always_inline bool waits_for_mutex(struct task_struct *task, __u8 class)
{
	struct task_struct___blocked *blocked = (void *)task;

	return (bpf_core_field_exists(blocked->blocked_on) && READ_TRUSTED(blocked, blocked_on)) ||
	       (class != CLEW_CALL_FUTEX && task->pi_blocked_on);
}

/* True if the kernel may make the task wait for something that is not seen. It does so
 * in uninterruptible sleeps that do not count as I/O. Some mutexes are waited for in others: the
 * kernel's stack shows them. One that writes too much waits as one for I/O does. */
static __always_inline bool reason_unseen(void *context, struct task_struct *task,
					  __u32 task_state_bits, __u8 class,
					  const struct clew_wait *wait)
{
	bool io = wait->flags & CLEW_WAIT_FLAG_IOWAIT;

	if (is_unseen(CLEW_UNSEEN_LOCKS) &&
	    (waits_for_mutex(task, class) || may_sleep_for_lock(context)))
		return true;
	if (!(task_state_bits & TASK_UNINTERRUPTIBLE))
		return false;
	return is_unseen(CLEW_UNSEEN_REASONS) || (is_unseen(CLEW_UNSEEN_FAULTS) && !fault_entry) ||
	       (is_unseen(CLEW_UNSEEN_LOCKS) && !io) ||
	       (is_unseen(CLEW_UNSEEN_DIRTY) && io && class == CLEW_CALL_DESCRIPTOR &&
		!receives(wait->call) && wait->call != CALL_PREAD64);
}

/* The call of the task that leaves this CPU, see AGAIN(). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call);
} clew_call_left SEC(".maps");

/* True if only the waiting function says what the task waits for: in an uninterruptible sleep that
 * is not for a disk, and in a close, whose descriptor is gone already. */
static __always_inline bool waits_in_function(__u32 task_state_bits, const struct clew_wait *wait)
{
	return unlikely(((task_state_bits & TASK_UNINTERRUPTIBLE) &&
			 !(task_state_bits & TASK_NOLOAD) &&
			 !(AGAIN(wait->flags) & (CLEW_WAIT_FLAG_IOWAIT | CLEW_WAIT_FLAG_VFORK))) ||
			AGAIN(wait->call) == CALL_CLOSE) &&
	       !AGAIN(wait->argument);
}

/* The question that is open at the socket of a wait, or the connection that is asked for there. */
static __always_inline void describe_question(struct clew_task_state *state, __u64 now,
					      struct clew_wait *wait)
{
	wait->asked = open_question(state->file, now);
	if (AGAIN(wait->asked) || AGAIN(wait->call) == CALL_CONNECT)
		wait->away = away_behind(state->file);
}

/* describe_wait() for a thread of a program. */
static __always_inline void describe_user_wait(void *context, const struct where *where,
					       struct task_struct *task, __u32 task_state_bits,
					       struct clew_task_state *state, bool detail,
					       struct clew_wait *wait)
{
	__u32 zero = 0;
	struct call *call = bpf_map_lookup_elem(&clew_call_left, &zero);

	if (!call)
		return;
	read_call(task, call);
	call->stands = how_it_stands(task);
	if (likely(AGAIN(call->class) != CLEW_CALL_RESTART))
		state->class = AGAIN(call->class);
	else if (describe_restart(task, state, wait))
		return;
	describe_call(call, wait, task_state_bits);
	if (unlikely(AGAIN(call->class) == CLEW_CALL_SPLICE))
		describe_splice(number_of(task), call, wait);
	if (in_kernel_fault(context, task, state) || in_unseen_fault(context))
		AGAIN(wait->flags) |= CLEW_WAIT_FLAG_FAULT;
	describe_same_call(task, call, state, wait);
	if (AGAIN(call->class) == CLEW_CALL_FUTEX || AGAIN(call->class) == CLEW_CALL_CLONE3)
		describe_memory(call, wait);
	if (detail)
		describe_object(where->cpu, where->time, task, call, state, wait);
	if (!describe_reason(where, state, task_state_bits, wait) && detail &&
	    waits_in_function(task_state_bits, wait)) {
		wait->function = waiting_function(context);
		if (wait->function)
			wait->reason = CLEW_REASON_FUNCTION;
	}
	if (AGAIN(wait->object_kind) == CLEW_OBJECT_SOCKET && !AGAIN(wait->argument) &&
	    !AGAIN(wait->reason) && task_state_bits & TASK_INTERRUPTIBLE)
		describe_question(state, where->time, wait);
	if (unseen && reason_unseen(context, task, task_state_bits, AGAIN(call->class), wait))
		AGAIN(wait->flags) |= CLEW_WAIT_FLAG_UNSEEN;
	remember_wait(state, wait, AGAIN(call->class));
}

/*
 * Fills in the wait that `task` begins, which is current and leaves the CPU.
 * `detail`: look up the object too. Kernel locks are described for all tasks.
 */
static __always_inline void describe_wait(void *context, const struct where *where,
					  struct task_struct *task, __u32 task_state_bits,
					  struct clew_task_state *state, bool detail,
					  struct clew_wait *wait)
{
	__builtin_memset(wait, 0, sizeof(*wait));
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		describe_kernel_thread(context, where, task, task_state_bits, state, detail, wait);
	else
		describe_user_wait(context, where, task, task_state_bits, state, detail, wait);
}

#endif

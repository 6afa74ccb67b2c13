/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wakes: by which task, when, in which context. The waker leaves a stamp in the
 * sleeper's state, and the next switch to the sleeper records it. There is no
 * wake record.
 *
 * Runs under the sleeper's pi_lock with interrupts off, so stamps of one task
 * are written one at a time.
 */
#ifndef CLEW_BPF_WAKE_H
#define CLEW_BPF_WAKE_H

#include "arch.h"
#include "call.h"
#include "context.h"
#include "filelock.h"
#include "futex.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "net.h"
#include "object.h"
#include "order.h"
#include "question.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/calls.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define SIGKILL	    9
#define SOCK_STREAM 1

/* True if the wake of a task interrupts its sleep. */
static __always_inline bool signal_pending(struct task_struct *task, __u32 state)
{
	__u64 pending;

	/*
	 * The flag of a pending signal is set before the wake. The signals
	 * themselves are in cold memory.
	 */
	if (likely(signal_flag && !(task->thread_info.flags & signal_flag)))
		return false;
	pending = task->pending.signal.sig[0] | READ(task, signal, shared_pending.signal.sig[0]);
	/* The freezer wakes without a signal, and before the sleep is over. */
	if (unlikely(!pending))
		return signal_flag && state & TASK_INTERRUPTIBLE;
	pending &= ~task->blocked.sig[0];
	if (state & TASK_INTERRUPTIBLE)
		return pending != 0;
	return (state & TASK_WAKEKILL) && (pending & (1UL << (SIGKILL - 1)));
}

/*
 * A task that has a TCP socket locked processes what arrives meanwhile when it
 * unlocks the socket: the wakes that this causes are in the senders' names.
 * Returns the socket behind a file if it is locked and something has arrived,
 * else 0. Wakes that the owner of the lock makes for itself cannot be
 * distinguished then.
 */
__noinline __u64 socket_backlogged(__u64 file_address)
{
	struct file *file = (struct file *)file_address;
	struct socket *socket;
	struct sock *sock;

	if (!file || (READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK || !takes_packets(file))
		return 0;
	socket = READ(file, private_data);
	sock = (void *)READ_NUMBER(socket, sk);
	return READ(sock, sk_lock.owned) && READ(sock, sk_backlog.len) > 0 ? (__u64)sock : 0;
}

/*
 * Both ends have the same address: no packet for the socket comes from outside.
 */
static __always_inline bool is_loopback(struct sock *sock)
{
	__u64 local[2] = {}, peer[2] = {};

	if (READ(sock, __sk_common.skc_family) == AF_INET)
		return READ(sock, __sk_common.skc_daddr) == READ(sock, __sk_common.skc_rcv_saddr);
	bpf_core_read(local, sizeof(local), &sock->__sk_common.skc_v6_rcv_saddr);
	bpf_core_read(peer, sizeof(peer), &sock->__sk_common.skc_v6_daddr);
	return local[0] == peer[0] && local[1] == peer[1];
}

/*
 * The cause of a wake by the packet that is alone in a socket's queue: its
 * sender. It is set on loopback and for data that had waited in the sender's
 * socket only; elsewhere the table may have an earlier packet at the same
 * address.
 */
__noinline int cause_of_backlog(__u64 sock_address, struct clew_cause *ret_cause)
{
	struct sock *sock = (struct sock *)sock_address;
	struct sk_buff *packet;
	__u64 time, who;

	if (!ret_cause)
		return 0;
	__builtin_memset(ret_cause, 0, sizeof(*ret_cause));
	packet = (void *)READ_NUMBER(sock, sk_receive_queue.next);
	if (READ(sock, sk_receive_queue.qlen) != 1 ||
	    !sender_get((__u64)packet,
			packet_number(READ(packet, head) + READ(packet, network_header)), &time,
			&who) ||
	    !sender_task(who) || !(sender_waited(who) || is_loopback(sock)))
		return 0;
	ret_cause->kind = CLEW_CAUSE_PACKET;
	ret_cause->packet = sender_waited(who);
	ret_cause->time = time;
	ret_cause->task = sender_task(who);
	return 0;
}

/*
 * Corrects a wake that was made in another task's name. False: it was not.
 * `number`: the sleeper's call; for a poller, which may wait for something
 * else, the waker's, and only data that had waited is told as the cause: the
 * waker has made room for it.
 */
static __always_inline bool stamp_backlog(__u64 sock, struct clew_task_state *state, __s64 number,
					  bool polls)
{
	if (likely(!sock))
		return false;
	state->cause.kind = CLEW_CAUSE_NONE;
	if (receives(number))
		cause_of_backlog(sock, &state->cause);
	if (polls && !state->cause.packet)
		state->cause.kind = CLEW_CAUSE_NONE;
	state->wake.context = CLEW_WAKE_SOFTIRQ;
	state->wake.has_cause = state->cause.kind != CLEW_CAUSE_NONE;
	state->wake.call = CLEW_NO_CALL;
	return true;
}

/* The open file that a call is on, 0 none. */
static __always_inline __u64 file_of_call(struct task_struct *task, const struct call *call)
{
	__u8 class = call->class;

	if (class == CLEW_CALL_DESCRIPTOR)
		return find_file(number_of(task), call->argument[0]);
	return class == CLEW_CALL_SPLICE ? find_file(number_of(task), spliced_to(call)) : 0;
}

/*
 * Epoll instances may watch each other. The descriptor that is ready in a
 * watched instance is known only if it is the only one: others may have been
 * ready before.
 */
#define EPOLL_DEPTH 4

static __always_inline struct file *epoll_ready_below(struct file *epoll_file,
						      __s32 *ret_descriptor)
{
	struct file *file = epoll_ready(epoll_file, false, ret_descriptor);
	int i;

	for (i = 0; i < EPOLL_DEPTH && file && READ(file, f_op) == READ(epoll_file, f_op); i++) {
		struct file *below = epoll_ready(file, true, ret_descriptor);

		if (!below)
			break;
		file = below;
	}
	return file;
}

/*
 * The open file whose pollers a call wakes that moves data, if its descriptor
 * alone says so: that of a pipe, an eventfd, or the peer of a Unix stream. 0:
 * it may be another one. Global, see identity.h.
 */
__noinline __u64 file_made_ready(__u64 task_address, __s32 descriptor)
{
	__u64 address = find_file(task_address, descriptor), object;
	struct file *file = (struct file *)address;
	struct socket *socket;
	struct sock *sock;

	if (!file)
		return 0;
	switch (READ(file, f_inode, i_mode) & S_IFMT) {
	case S_IFIFO:
		return address;
	case S_IFSOCK:
		socket = READ(file, private_data);
		sock = (void *)READ_NUMBER(socket, sk);
		if (READ(sock, __sk_common.skc_family) != AF_UNIX ||
		    READ(socket, type) != SOCK_STREAM)
			return 0;
		socket = unix_peer(sock);
		return socket ? READ_NUMBER(socket, file) : 0;
	default:
		if (READ(file, f_inode, i_sb, s_magic) != ANON_INODE_MAGIC)
			return 0;
		return anonymous_kind(file, &object) == CLEW_OBJECT_EVENTFD ? address : 0;
	}
}

/*
 * Several tasks may act at once: then the newest entry of the ready list is
 * another one's. The waker's own descriptor decides.
 */
static __always_inline struct file *ready_by(struct task_struct *waker, const struct call *call,
					     struct file *newest, __s32 *ret_descriptor)
{
	__u64 own =
		moves_data(call->number) ? file_made_ready(number_of(waker), call->argument[0]) : 0;

	/* The ends of a pipe are two files with one inode. */
	if (!own || own == (__u64)newest ||
	    ((READ((struct file *)own, f_inode, i_mode) & S_IFMT) == S_IFIFO &&
	     READ_NUMBER((struct file *)own, f_inode) == READ_NUMBER(newest, f_inode)))
		return newest;
	*ret_descriptor = -1;
	return (struct file *)own;
}

#define TUNNELS ((10U << 20) | 200) /* the number of /dev/net/tun */

/* True if packets are written to it: the network stack makes sockets ready. */
static __always_inline bool is_tunnel(struct file *file)
{
	return (READ(file, f_inode, i_mode) & S_IFMT) == S_IFCHR &&
	       READ(file, f_inode, i_rdev) == TUNNELS;
}

/* As clew_switch.wake_device of a socket. */
static __always_inline __u32 asked_before(__u64 file, __u64 now)
{
	__u64 asked = open_question(file, now);

	if (asked == CLEW_ASKED_SOMETIME)
		return CLEW_ASKED_UNKNOWN;
	return asked ? (__u32)((now - asked) / 1000) : 0;
}

/* Records what became ready for a poller: the newest entry of an epoll
 * instance's ready list, or for poll and select what the waker's call is on. */
static __always_inline void describe_ready(struct where *where, struct task_struct *sleeper,
					   struct task_struct *waker,
					   const struct call *sleeper_call, __u8 sleeper_class,
					   const struct call *waker_call, bool task_context,
					   bool may_be_backlog, struct clew_task_state *state)
{
	struct clew_wake_stamp *stamp = &state->wake;
	struct found found = {};
	struct file *file = NULL;
	__s32 descriptor = -1;

	if (sleeper_class == CLEW_CALL_EPOLL) {
		struct file *epoll_file =
			(struct file *)find_file(number_of(sleeper), sleeper_call->argument[0]);

		if (epoll_file)
			file = epoll_ready_below(epoll_file, &descriptor);
		if (epoll_file && task_context)
			file = ready_by(waker, waker_call, file, &descriptor);
	}
	/* A poller of the same instance passes on that something is ready; it
	 * has not made it ready. */
	if (task_context && waker_call->class == CLEW_CALL_EPOLL)
		return;
	if (file && may_be_backlog)
		stamp_backlog(socket_backlogged((__u64)file), state, waker_call->number, true);
	if (!file && task_context) {
		descriptor = -1;
		file = (struct file *)file_of_call(waker, waker_call);
		if (file && may_be_backlog &&
		    stamp_backlog(socket_backlogged((__u64)file), state, waker_call->number, true))
			return;
		if (file && (READ(file, f_inode, i_mode) & S_IFMT) == S_IFSOCK) {
			/* The sleeper polls the peer of the waker's end. */
			struct socket *socket = READ(file, private_data);
			struct sock *sock = (void *)READ_NUMBER(socket, sk);

			stamp->object_kind = CLEW_OBJECT_SOCKET;
			/* Pollers of either end are woken by a shutdown. */
			if (READ(sock, __sk_common.skc_family) != AF_UNIX ||
			    waker_call->number == CALL_SHUTDOWN)
				return;
			socket = unix_peer(sock);
			stamp->object = socket_inode(socket);
			if (stamp->object)
				send_socket((__u64)socket, stamp->object, where->cpu, where->time);
			else /* The waker connects to a listener, or sends to an address. */
				stamp->object_kind = CLEW_OBJECT_NONE;
			return;
		}
	}
	if (!file || is_tunnel(file))
		return;
	describe_file((__u64)file, &found, where->cpu, where->time, 0);
	/* A task that writes to a file wakes pollers that watch it through
	 * another descriptor, unless the file is a message queue. */
	if (found.kind == CLEW_OBJECT_FILE && descriptor < 0 &&
	    waker_call->number != CALL_MQ_SEND && waker_call->number != CALL_MQ_RECEIVE)
		return;
	stamp->object_kind = found.kind;
	stamp->object = found.object;
	stamp->device = found.kind == CLEW_OBJECT_SOCKET ? asked_before((__u64)file, where->time)
							 : found.device;
	stamp->descriptor = descriptor;
}

/* Some requests are completed by the kernel thread that is their device. */
static __always_inline void stamp_completion(struct task_struct *waker,
					     struct clew_task_state *state,
					     struct clew_wake_stamp *stamp)
{
	struct clew_task_state *waker_state = task_state(waker);

	if (!waker_state || !waker_state->completes)
		return;
	__builtin_memset(&state->cause, 0, sizeof(state->cause));
	state->cause.kind = CLEW_CAUSE_REQUEST;
	state->cause.object = waker_state->request;
	stamp->has_cause = 1;
}

/* Fills in the context of the wake, and its cause if an interrupt makes it. */
static __always_inline __u8 stamp_context(struct clew_cpu_state *cpu_state, __u32 cpu,
					  struct clew_task_state *state)
{
	struct clew_wake_stamp *stamp = &state->wake;
	enum level level = level_of(cpu_state);
	__u8 context = level == LEVEL_TASK ? CLEW_WAKE_TASK : CLEW_WAKE_UNKNOWN;

	stamp->has_cause = 0;
	if (unlikely(level <= LEVEL_SOFT)) {
		context = cause_of(cpu_state, level, &state->cause);
		cause_name(&state->cause, cpu, stamp->time);
		stamp->has_cause = state->cause.kind != CLEW_CAUSE_NONE;
	}
	stamp->context = context;
	return context;
}

/* Fills in what a waker in task context is doing. Returns `flags` and those
 * that this adds; `ret_call` is its call if that was read. */
static __always_inline __u8 stamp_waker(struct task_struct *waker, struct clew_task_state *state,
					__u8 flags, struct call *ret_call)
{
	struct clew_wake_stamp *stamp = &state->wake;

	if (unlikely(waker->flags & PF_EXITING))
		flags |=
			waker->exit_state ? CLEW_WAKE_EXITING | CLEW_WAKE_ENDED : CLEW_WAKE_EXITING;
	if (unlikely(waker->flags & PF_KTHREAD))
		stamp_completion(waker, state, stamp);
	/* Before the call is read: the verifier tries what follows for each kind of it. */
	if (unlikely(state->flags & CLEW_TASK_STATE_REFUSED) && file_lock_released(waker, state))
		stamp->operation = CLEW_FILE_UNLOCK;
	/* The waker's call matters to sleepers on futexes and in polls, and
	 * where the sleep is not known yet. */
	if ((!state->slept || state->class >= CLEW_CALL_FUTEX) &&
	    !(waker->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)))
		read_call(waker, ret_call);
	if (ret_call->number >= 0 && ret_call->number < CLEW_CALL_COUNT &&
	    call_class[ret_call->number & (CLEW_CALL_COUNT - 1)] == CLEW_CALL_FUTEX) {
		stamp->operation = futex_wake_operation(ret_call);
		if (ret_call->argument[1] & FUTEX_PRIVATE_FLAG) {
			flags |= CLEW_WAKE_PRIVATE;
		} else {
			stamp->object_kind = CLEW_OBJECT_FUTEX;
			stamp->object = ret_call->argument[0];
		}
	}
	if (ret_call->compat)
		flags |= CLEW_WAKE_COMPAT;
	return flags;
}

/* Fills in what became ready for a sleeper in a call, and corrects the context
 * of a wake that its waker made in the name of another task. */
static __always_inline void stamp_sleeper(struct where *where, struct task_struct *sleeper,
					  struct task_struct *waker, const struct call *waker_call,
					  __u32 sleeper_state, struct clew_task_state *state)
{
	struct clew_wake_stamp *stamp = &state->wake;
	struct call call = {.number = -1};
	bool in_task = stamp->context == CLEW_WAKE_TASK, slept = *(volatile __u8 *)&state->slept;
	/* In such a call it may also sleep for memory or for the socket's lock,
	 * but then no signal interrupts it. */
	bool may_be_backlog = in_task && (sleeper_state & TASK_INTERRUPTIBLE);
	__u8 class;

	/* Before it is switched out, its registers say what its state does not say yet. Its
	 * switch may be under way on its CPU, and sets `slept` last. */
	keep_order();
	class = state->class;
	if (unlikely(!slept)) {
		if (sleeper->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
			return;
		read_call(sleeper, &call);
		class = call.class;
	}
	/* It waits for several futexes: the waker's address is in the same process. */
	if (unlikely(class == CLEW_CALL_FUTEX_VECTOR) && stamp->flags & CLEW_WAKE_PRIVATE) {
		stamp->object_kind = CLEW_OBJECT_FUTEX;
		stamp->object = waker_call->argument[0];
	}
	if (unlikely(class == CLEW_CALL_EPOLL || class == CLEW_CALL_POLL ||
		     class == CLEW_CALL_IO_URING)) {
		read_call(sleeper, &call);
		describe_ready(where, sleeper, waker, &call, class, waker_call, in_task,
			       may_be_backlog, state);
	} else if (may_be_backlog && (class == CLEW_CALL_DESCRIPTOR || class == CLEW_CALL_SPLICE)) {
		if (unlikely(!slept))
			stamp_backlog(socket_backlogged(file_of_call(sleeper, &call)), state,
				      call.number, false);
		else if (unlikely(state->object_kind == (CLEW_OBJECT_SOCKET | OBJECT_INET)))
			stamp_backlog(socket_backlogged(state->file), state,
				      (__s64)state->call_after - 1, false);
	}
}

/*
 * `born`: the first wake of a new task, which was in no call yet. The sleeper's state; NULL: it is
 * not known.
 */
static __always_inline struct clew_task_state *stamp_wake(struct task_struct *sleeper, bool born)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct where where = {.cpu = bpf_get_smp_processor_id()};
	struct call call = {.number = -1};
	struct clew_task_state *state;
	struct clew_wake_stamp *stamp;
	__u8 flags = always_zero;
	__u32 sleeper_state;

	where.cpu_state = this_cpu_state(where.cpu);
	if (!where.cpu_state)
		return NULL;
	where.time = clock_ns(); /* before cold memory is read, as at a switch */
	where.cpu_state->counts[CLEW_KIND_WAKE].seen++;
	state = task_state(sleeper);
	if (unlikely(!state)) {
		where.cpu_state->counts[CLEW_KIND_WAKE].missed++;
		return NULL;
	}
	where.cpu_state->counts[CLEW_KIND_WAKE].reserved++;
	stamp = &state->wake;
	state->wake.wakes = state->wake.wakes ? 2 : 1;
	stamp->time = where.time;
	stamp_context(where.cpu_state, where.cpu, state);
	stamp->object_kind = CLEW_OBJECT_NONE;
	stamp->object = 0;
	stamp->device = 0;
	stamp->descriptor = -1;
	stamp->operation = CLEW_FUTEX_NOT;
	stamp->waker = serial_of_current(where.cpu_state, waker);

	sleeper_state = sleeper->__state;
	if (unlikely(signal_pending(sleeper, sleeper_state)))
		flags |= CLEW_WAKE_SIGNAL;
	if (unlikely(sleeper_state & (TASK_STOPPED | TASK_TRACED)))
		flags |= CLEW_WAKE_STOPPED;
	if (unlikely(sleeper_state & TASK_FROZEN))
		flags |= CLEW_WAKE_FROZEN;
	if (likely(stamp->context == CLEW_WAKE_TASK))
		flags = stamp_waker(waker, state, flags, &call);
	stamp->call = call.number >= 0 ? call.number : CLEW_NO_CALL;
	stamp->flags = flags;
	if (!born && !(flags & CLEW_WAKE_SIGNAL))
		stamp_sleeper(&where, sleeper, waker, &call, sleeper_state, state);
	return state;
}

#endif

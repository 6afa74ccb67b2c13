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
#include "filter.h"
#include "futex.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "net.h"
#include "object.h"
#include "order.h"
#include "outside.h"
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

/* The calls of both tasks of a wake, see AGAIN(). */
struct wake_calls {
	struct call waker;
	struct call sleeper;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wake_calls);
} clew_wake_calls SEC(".maps");

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

/* The open file that a call of the task is on, NULL none. */
static __always_inline struct file *file_of_call(struct task_struct *task, const struct call *call)
{
	__u8 class = AGAIN(call->class);

	if (class == CLEW_CALL_DESCRIPTOR)
		return file_of(task, AGAIN(call->argument[0]));
	return class == CLEW_CALL_SPLICE ? file_of(task, spliced_to(call)) : NULL;
}

/*
 * Epoll instances may watch each other. The descriptor that is ready in a
 * watched instance is known only if it is the only one: others may have been
 * ready before.
 */
#define EPOLL_DEPTH 4

struct epoll_walk {
	__u64 file;
	__u64 operations; /* those of an epoll instance */
	__s32 descriptor;
};

static long epoll_below_step(__u32 turn, struct epoll_walk *walk)
{
	struct file *file = (struct file *)walk->file, *below;

	if (!file || READ_NUMBER(file, f_op) != walk->operations)
		return 1;
	below = epoll_ready(file, true, &walk->descriptor);
	if (!below)
		return 1;
	walk->file = (__u64)below;
	return 0;
}

/* The file that is ready in an epoll instance which another one watches. */
__noinline __u64 epoll_ready_below(__u64 file, __s32 *descriptor)
{
	struct epoll_walk walk = {.file = file,
				  .operations = READ_NUMBER((struct file *)file, f_op)};

	if (!descriptor)
		return 0;
	walk.descriptor = *descriptor;
	bpf_loop(EPOLL_DEPTH, epoll_below_step, &walk, 0);
	*descriptor = walk.descriptor;
	return walk.file;
}

/* The address of the file if it is an eventfd, else 0. */
__noinline __u64 file_if_eventfd(__u64 address)
{
	struct file *file = (struct file *)address;
	__u64 object;

	return READ(file, f_inode, i_sb, s_magic) == ANON_INODE_MAGIC &&
			       anonymous_kind(file, &object) == CLEW_OBJECT_EVENTFD
		       ? address
		       : 0;
}

static __always_inline __u16 type_of(struct file *file)
{
	return READ(file, f_inode, i_mode) & S_IFMT;
}

/*
 * The open file whose pollers a call wakes that moves data, if its descriptor
 * alone says so: that of a pipe, an eventfd, or the peer of a Unix stream. NULL:
 * it may be another one.
 */
static __always_inline struct file *file_made_ready(struct task_struct *waker,
						    const struct call *call)
{
	struct file *file =
		moves_data(AGAIN(call->number)) ? file_of(waker, AGAIN(call->argument[0])) : NULL;
	struct socket *socket;
	struct sock *sock;
	__u16 type;

	if (!file)
		return NULL;
	type = type_of(file);
	if (type == S_IFIFO)
		return file;
	if (type != S_IFSOCK)
		return (struct file *)file_if_eventfd((__u64)file);
	socket = READ(file, private_data);
	sock = (void *)READ_NUMBER(socket, sk);
	if (READ(sock, __sk_common.skc_family) != AF_UNIX || READ(socket, type) != SOCK_STREAM)
		return NULL;
	socket = unix_peer(sock);
	return socket ? (struct file *)READ_NUMBER(socket, file) : NULL;
}

/*
 * Several tasks may act at once: then the newest entry of the ready list is
 * another one's. The waker's own descriptor decides.
 */
static __always_inline struct file *ready_by(struct task_struct *waker, const struct call *call,
					     struct file *newest, __s32 *ret_descriptor)
{
	struct file *own = file_made_ready(waker, call);

	/* The ends of a pipe are two files with one inode. */
	if (!own || own == newest ||
	    (type_of(own) == S_IFIFO && READ_NUMBER(own, f_inode) == READ_NUMBER(newest, f_inode)))
		return newest;
	*ret_descriptor = -1;
	return own;
}

#define TUNNELS ((10U << 20) | 200) /* the number of /dev/net/tun */

/* True if packets are written to it: the network stack makes sockets ready. */
static __always_inline bool is_tunnel(struct file *file)
{
	return type_of(file) == S_IFCHR && READ(file, f_inode, i_rdev) == TUNNELS;
}

/* As clew_switch.wake_device of a socket. */
__noinline __u32 asked_before(__u64 file, __u64 now)
{
	__u64 asked = open_question(file, now);

	if (asked == CLEW_ASKED_SOMETIME)
		return CLEW_ASKED_UNKNOWN;
	return asked ? (__u32)((now - asked) / 1000) : 0;
}

/* The epoll instance that a task waits for. If its wait was described, its state has the file. */
static __always_inline struct file *epoll_of(struct task_struct *sleeper, struct call *sleeper_call,
					     const struct clew_task_state *state)
{
	if (likely(AGAIN(state->slept) && state->flags & CLEW_TASK_STATE_DETAIL && !filter_cgroup &&
		   state->object_kind == CLEW_OBJECT_EPOLL))
		return (struct file *)AGAIN(state->file);
	read_call(sleeper, sleeper_call);
	return file_of(sleeper, AGAIN(sleeper_call->argument[0]));
}

/*
 * A waker that acts on a socket without an epoll instance to say what is ready: the sleeper polls
 * the peer of the waker's end.
 */
static __always_inline void ready_peer(const struct where *where, struct file *file,
				       const struct call *waker_call, struct clew_wake_stamp *stamp)
{
	struct socket *socket = READ(file, private_data);
	struct sock *sock = (void *)READ_NUMBER(socket, sk);

	stamp->object_kind = CLEW_OBJECT_SOCKET;
	/* Pollers of either end are woken by a shutdown. */
	if (READ(sock, __sk_common.skc_family) != AF_UNIX ||
	    AGAIN(waker_call->number) == CALL_SHUTDOWN)
		return;
	sock = (void *)READ_NUMBER((struct unix_sock *)sock, peer);
	socket = sock ? (struct socket *)READ_NUMBER(sock, sk_socket) : NULL;
	stamp->object = socket_inode(socket);
	if (AGAIN(stamp->object))
		name_socket((__u64)socket, sock, AF_UNIX, AGAIN(stamp->object), where->cpu,
			    where->time);
	else /* The waker connects to a listener, or sends to an address. */
		stamp->object_kind = CLEW_OBJECT_NONE;
}

static __always_inline void ready_socket(const struct where *where, struct file *file,
					 struct clew_wake_stamp *stamp)
{
	__u64 socket = READ_NUMBER(file, private_data);
	struct sock *sock = (void *)READ_NUMBER((struct socket *)socket, sk);
	__u16 family = READ(sock, __sk_common.skc_family);

	stamp->object_kind = CLEW_OBJECT_SOCKET;
	stamp->object = READ(file, f_inode, i_ino);
	if (!sock)
		return;
	name_socket(socket, sock, family, AGAIN(stamp->object), where->cpu, where->time);
	if (family == AF_UNIX)
		stamp->device = unix_question(sock) ? CLEW_ASKED_UNKNOWN : 0;
	else
		stamp->device = asked_before((__u64)file, where->time);
	if (AGAIN(stamp->device) && away_behind((__u64)file))
		stamp->flags |= CLEW_WAKE_AWAY;
}

/* Describes what became ready if it is no socket. `descriptor`: that of the sleeper's epoll
 * instance, -1. */
__noinline int ready_file(__u64 file, struct clew_task_state *state, __u64 time, __s64 number,
			  __s32 descriptor)
{
	struct found found = {};

	if (!state || is_tunnel((struct file *)file))
		return 0;
	describe_file(file, &found, bpf_get_smp_processor_id(), time, 0);
	/* A task that writes to a file wakes pollers that watch it through
	 * another descriptor, unless the file is a message queue. */
	if (found.kind == CLEW_OBJECT_FILE && descriptor < 0 && number != CALL_MQ_SEND &&
	    number != CALL_MQ_RECEIVE)
		return 0;
	state->wake.object_kind = found.kind;
	state->wake.object = found.object;
	state->wake.device = found.device;
	state->wake.descriptor = descriptor;
	return 0;
}

/* Records what became ready for a poller: the newest entry of an epoll
 * instance's ready list, or for poll and select what the waker's call is on. */
static __always_inline void describe_ready(struct where *where, struct task_struct *sleeper,
					   struct task_struct *waker, struct wake_calls *calls,
					   __u8 sleeper_class, bool may_be_backlog,
					   struct clew_task_state *state)
{
	struct clew_wake_stamp *stamp = &state->wake;
	struct file *file = NULL, *epoll_file;
	__s32 descriptor = -1;
	bool listed = false;

	if (sleeper_class == CLEW_CALL_EPOLL) {
		epoll_file = epoll_of(sleeper, &calls->sleeper, state);
		if (epoll_file)
			file = epoll_ready(epoll_file, false, &descriptor);
		if (file && READ_NUMBER(file, f_op) == READ_NUMBER(epoll_file, f_op))
			file = (struct file *)epoll_ready_below((__u64)file, &descriptor);
		if (epoll_file && AGAIN(stamp->context) == CLEW_WAKE_TASK)
			file = ready_by(waker, &calls->waker, file, &descriptor);
		listed = file;
	}
	/* A poller of the same instance passes on that something is ready; it
	 * has not made it ready. */
	if (AGAIN(stamp->context) == CLEW_WAKE_TASK) {
		if (AGAIN(calls->waker.class) == CLEW_CALL_EPOLL)
			return;
		if (!file) {
			descriptor = -1;
			file = file_of_call(waker, &calls->waker);
		}
	}
	if (!file)
		return;
	if (type_of(file) != S_IFSOCK) {
		ready_file((__u64)file, state, where->time, AGAIN(calls->waker.number), descriptor);
		return;
	}
	if (may_be_backlog && takes_packets(file) &&
	    stamp_backlog(socket_backlogged((__u64)file), state, AGAIN(calls->waker.number),
			  true) &&
	    !listed)
		return;
	if (!listed) {
		ready_peer(where, file, &calls->waker, stamp);
		return;
	}
	ready_socket(where, file, stamp);
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
 * that this adds; `call` is its call if that was read. */
static __always_inline __u8 stamp_waker(struct task_struct *waker, struct clew_task_state *state,
					__u8 flags, struct call *call)
{
	struct clew_wake_stamp *stamp = &state->wake;

	if (unlikely(waker->flags & PF_EXITING))
		flags |=
			waker->exit_state ? CLEW_WAKE_EXITING | CLEW_WAKE_ENDED : CLEW_WAKE_EXITING;
	if (unlikely(waker->flags & PF_KTHREAD))
		stamp_completion(waker, state, stamp);
	if (unlikely(state->flags & CLEW_TASK_STATE_REFUSED) && file_lock_released(waker, state))
		stamp->operation = CLEW_FILE_UNLOCK;
	/* The waker's call matters to sleepers on futexes and in polls, and
	 * where the sleep is not known yet. */
	if ((!state->slept || state->class >= CLEW_CALL_FUTEX) &&
	    !(waker->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)))
		read_call(waker, call);
	if (AGAIN(call->class) == CLEW_CALL_FUTEX) {
		stamp->operation = futex_wake_operation(call);
		if (call->argument[1] & FUTEX_PRIVATE_FLAG) {
			flags |= CLEW_WAKE_PRIVATE;
		} else {
			stamp->object_kind = CLEW_OBJECT_FUTEX;
			stamp->object = call->argument[0];
		}
	}
	if (AGAIN(call->compat))
		flags |= CLEW_WAKE_COMPAT;
	return flags;
}

/* Fills in what became ready for a sleeper in a call, and corrects the context
 * of a wake that its waker made in the name of another task. */
static __always_inline void stamp_sleeper(struct where *where, struct task_struct *sleeper,
					  struct task_struct *waker, struct wake_calls *calls,
					  __u32 sleeper_state, struct clew_task_state *state)
{
	struct clew_wake_stamp *stamp = &state->wake;
	bool in_task = AGAIN(stamp->context) == CLEW_WAKE_TASK, slept = AGAIN(state->slept);
	/* In such a call it may also sleep for memory or for the socket's lock,
	 * but then no signal interrupts it. */
	bool may_be_backlog = in_task && (sleeper_state & TASK_INTERRUPTIBLE);
	__u8 class;

	/* Before it is switched out, its registers say what its state does not say yet. Its
	 * switch may be under way on its CPU, and sets `slept` last. */
	keep_order();
	class = AGAIN(state->class);
	if (unlikely(!slept)) {
		if (sleeper->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
			return;
		read_call(sleeper, &calls->sleeper);
		class = AGAIN(calls->sleeper.class);
	}
	/* It waits for several futexes: the waker's address is in the same process. */
	if (unlikely(class == CLEW_CALL_FUTEX_VECTOR) && stamp->flags & CLEW_WAKE_PRIVATE) {
		stamp->object_kind = CLEW_OBJECT_FUTEX;
		stamp->object = calls->waker.argument[0];
	}
	if (unlikely(class == CLEW_CALL_EPOLL || class == CLEW_CALL_POLL ||
		     class == CLEW_CALL_IO_URING)) {
		describe_ready(where, sleeper, waker, calls, class, may_be_backlog, state);
	} else if (may_be_backlog && (class == CLEW_CALL_DESCRIPTOR || class == CLEW_CALL_SPLICE)) {
		if (unlikely(!slept))
			stamp_backlog(
				socket_backlogged((__u64)file_of_call(sleeper, &calls->sleeper)),
				state, AGAIN(calls->sleeper.number), false);
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
	struct clew_task_state *state;
	struct clew_wake_stamp *stamp;
	struct wake_calls *calls;
	__u8 flags = always_zero;
	__u32 sleeper_state, zero = 0;

	where.cpu_state = this_cpu_state(where.cpu);
	calls = bpf_map_lookup_elem(&clew_wake_calls, &zero);
	if (!where.cpu_state || !calls)
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
	calls->waker.number = -1;
	calls->waker.class = CLEW_CALL_PLAIN;
	calls->waker.compat = false;
	if (likely(AGAIN(stamp->context) == CLEW_WAKE_TASK))
		flags = stamp_waker(waker, state, flags, &calls->waker);
	stamp->call = AGAIN(calls->waker.number) >= 0 ? AGAIN(calls->waker.number) : CLEW_NO_CALL;
	stamp->flags = flags;
	if (!born && !(AGAIN(stamp->flags) & CLEW_WAKE_SIGNAL))
		stamp_sleeper(&where, sleeper, waker, calls, sleeper_state, state);
	return state;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends a record of each message of the threads that are chosen: all that are
 * recorded in detail, or of these a command and its children.
 *
 * A message belongs to a connection: a socket without a peer takes what many
 * send, and says nothing of who asks whom.
 */
#ifndef CLEW_BPF_MESSAGE_H
#define CLEW_BPF_MESSAGE_H

#include "filter.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "question.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define MSG_PEEK     0x2
#define MSG_ERRQUEUE 0x2000
#define USEC	     1000 /* ns */

/* The state of the current task if its messages are recorded, else NULL. */
static __always_inline struct clew_task_state *sender_here(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state = task_state(task);
	__u16 wanted = CLEW_TASK_STATE_DETAIL | (messages_of ? CLEW_TASK_STATE_MESSAGES : 0);

	if (!state || (state->flags & (wanted | CLEW_TASK_STATE_SELF)) != wanted ||
	    (filter_cgroup && !cgroup_wanted(task)))
		return NULL;
	return state;
}

static __always_inline bool is_connected(struct sock *sock, __u16 family)
{
	if (family == AF_UNIX)
		return READ_NUMBER((struct unix_sock *)sock, peer);
	return (family == AF_INET || family == AF_INET6) && READ(sock, __sk_common.skc_dport);
}

/* When the last bytes left that were sent; 0: some are still here. */
static __always_inline __u64 departed(struct tcp_sock *tcp, __u64 now)
{
	__u64 left = READ(tcp, tcp_wstamp_ns);

	return READ(tcp, write_seq) == READ(tcp, snd_nxt) && left && left <= now ? left : 0;
}

/* True if bytes that nobody has taken came before those that left at `left`, after which nothing
 * came. */
static __always_inline bool crossed(struct tcp_sock *tcp, __u64 left)
{
	return left && READ(tcp, rcv_nxt) != READ(tcp, copied_seq) &&
	       READ(tcp, tcp_mstamp) <= left / USEC;
}

static __always_inline void message_emit(struct sock *sock, __u32 bytes, __u8 flags)
{
	__u16 family = READ(sock, __sk_common.skc_family);
	struct clew_task_state *state = sender_here();
	struct clew_message_record *record;
	struct tcp_sock *tcp;
	struct socket *socket;
	struct where where;
	__u64 inode, at = 0;

	if (!state || !is_connected(sock, family) || !where_here(&where))
		return;
	socket = (void *)READ_NUMBER(sock, sk_socket);
	inode = socket_inode(socket);
	if (!inode)
		return;
	tcp = tcp_of(sock);
	if (tcp && flags & CLEW_MESSAGE_RECEIVED) {
		at = READ(tcp, tcp_mstamp) * USEC;
	} else if (tcp) {
		at = departed(tcp, where.time);
		flags |= crossed(tcp, at) ? CLEW_MESSAGE_CROSSED : 0;
	}
	at = CLEW_CLOCK(at);
	if (at && at <= where.time)
		flags |= CLEW_MESSAGE_TIMED;
	send_socket((__u64)socket, inode, where.cpu, where.time);
	record = record_reserve(where.cpu_state, where.cpu, CLEW_KIND_MESSAGE, where.time,
				sizeof(*record));
	if (!record)
		return;
	record->header.flags = flags;
	record->socket = inode;
	record->at = flags & CLEW_MESSAGE_TIMED ? at : 0;
	record->task = state->serial;
	record->bytes = bytes;
	record_submit(record);
}

/* Global, see identity.h. */
__noinline int message_sent(__u64 sock_address, __u32 bytes)
{
	message_emit((struct sock *)sock_address, bytes, 0);
	return 0;
}

__noinline int message_received(__u64 sock_address, __u32 bytes)
{
	message_emit((struct sock *)sock_address, bytes, CLEW_MESSAGE_RECEIVED);
	return 0;
}

#endif

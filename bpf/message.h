/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends a record of each message of the threads that are chosen: all that are
 * recorded in detail, or of these a command and its children. Messages to and
 * from other hosts are recorded of all that are recorded in detail.
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
#include "outside.h"
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

/* Fixed at load: whether messages of chosen threads are recorded. */
const volatile bool messages;

/* The state of the current task if such messages of it are recorded, else NULL. `placed`: of a
 * connection that is recorded whoever is chosen. */
static __always_inline struct clew_task_state *sender_here(bool placed)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state = task_state(task);
	__u16 wanted =
		CLEW_TASK_STATE_DETAIL | (messages_of && !placed ? CLEW_TASK_STATE_MESSAGES : 0);

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

/* Where the bytes of a message are in their direction of the connection; what TCP measured. */
static __always_inline void message_place(struct tcp_sock *tcp, struct clew_message_record *record)
{
	__u32 least = READ(tcp, rtt_min.s[0].v);

	if (record->header.flags & CLEW_MESSAGE_RECEIVED)
		record->position = READ(tcp, bytes_received) -
				   (READ(tcp, rcv_nxt) - READ(tcp, copied_seq)) - record->bytes;
	else
		record->position = READ(tcp, bytes_acked) +
				   (READ(tcp, write_seq) - READ(tcp, snd_una)) - record->bytes -
				   (side_of((struct sock *)tcp, AF_INET) == CLEW_SOCKET_CONNECTED);
	record->round_trip = least == NO_ROUND_TRIP ? 0 : least;
	record->resent = READ(tcp, total_retrans);
}

/* The time of a message, which adds to its flags. */
static __always_inline __u64 message_time(struct tcp_sock *tcp, __u64 now, __u32 bytes, __u8 *flags)
{
	__u64 at;

	if (*flags & CLEW_MESSAGE_RECEIVED) {
		at = take_arrival_of(tcp, bytes) * USEC;
	} else {
		at = departed(tcp, now);
		*flags |= crossed(tcp, at) ? CLEW_MESSAGE_CROSSED : 0;
		if (READ(tcp, write_seq) - READ(tcp, snd_una) > READ(tcp, snd_wnd))
			*flags |= CLEW_MESSAGE_WINDOW;
	}
	at = CLEW_CLOCK(at);
	if (!at || at > now)
		return 0;
	*flags |= CLEW_MESSAGE_TIMED;
	return at;
}

/* True if messages of a connection are recorded whoever sends them. */
static __always_inline bool is_placed(struct tcp_sock *tcp, bool outside)
{
	return network == CLEW_NETWORK_ALL ? tcp != NULL : outside;
}

static __always_inline void message_emit(struct sock *sock, __u32 bytes, __u8 flags)
{
	__u16 family = READ(sock, __sk_common.skc_family);
	struct clew_message_record *record;
	struct clew_task_state *state;
	struct tcp_sock *tcp;
	struct socket *socket;
	struct where where;
	__u64 inode, at = 0, asks = 0;
	bool outside;

	if (!is_connected(sock, family))
		return;
	tcp = tcp_of(sock);
	outside = network && family != AF_UNIX && is_outside(sock);
	if (!is_placed(tcp, outside) && !messages)
		return;
	state = sender_here(is_placed(tcp, outside));
	if (!state || !where_here(&where))
		return;
	socket = (void *)READ_NUMBER(sock, sk_socket);
	inode = socket_inode(socket);
	if (!inode)
		return;
	if (outside)
		flags |= CLEW_MESSAGE_OUTSIDE;
	if (tcp)
		at = message_time(tcp, where.time, bytes, &flags);
	else if (family != AF_UNIX && !(flags & CLEW_MESSAGE_RECEIVED))
		asks = take_arrival(sock);
	send_socket((__u64)socket, inode, where.cpu, where.time);
	record = record_reserve(where.cpu_state, where.cpu, CLEW_KIND_MESSAGE, where.time,
				sizeof(*record));
	if (!record)
		return;
	record->socket = inode;
	record->at = at;
	record->task = state->serial;
	record->bytes = bytes;
	record->position = 0;
	record->round_trip = 0;
	record->resent = 0;
	record->header.flags = flags;
	if (tcp) {
		record->header.flags |= CLEW_MESSAGE_PLACED;
		message_place(tcp, record);
	} else if (asks) {
		record->header.flags |= CLEW_MESSAGE_QUERY;
		record->position = asks;
	}
	record_submit(record);
}

/* True if messages of a socket may be recorded. */
static __always_inline bool has_messages(struct sock *sock)
{
	return messages || network == CLEW_NETWORK_ALL || (network && is_outside(sock));
}

/*
 * True if messages of chosen threads are not recorded, and a socket plainly has no others: one of
 * a family that stays on the machine, or to a loopback address. Reading these costs nothing
 * compared with looking the socket up.
 */
static __always_inline bool plainly_within(struct sock *sock)
{
	const __u8 *to = (const void *)&sock->__sk_common.skc_v6_daddr;
	__u16 family = sock->__sk_common.skc_family;

	if (messages || network == CLEW_NETWORK_ALL)
		return false;
	if (family == AF_INET)
		return (sock->__sk_common.skc_daddr & 0xff) == 127;
	return family != AF_INET6 || loops_back(to);
}

/* Global, see identity.h. */
__noinline int message_taken(__u64 sock_address)
{
	struct sock *sock = (struct sock *)sock_address;

	if (has_messages(sock))
		note_arrival(sock);
	return 0;
}

/* The bytes stay: whoever takes them later may take others with them. */
__noinline int message_looked_at(__u64 sock_address)
{
	struct sock *sock = (struct sock *)sock_address;

	if (has_messages(sock) && tcp_of(sock))
		take_arrival(sock);
	return 0;
}

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

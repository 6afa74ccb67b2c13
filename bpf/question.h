/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The question that a client has open at a connection: bytes left the socket since the last one
 * arrived. Only waits for sockets, and wakes of pollers by one, come here.
 *
 * TCP counts what was written. The counts at the socket's last wait are in a table that is
 * indexed by a hash of the address; two sockets may take a slot from each other, and then the
 * times of the last bytes that left and arrived decide, which have the kernel's ticks.
 */
#ifndef CLEW_BPF_QUESTION_H
#define CLEW_BPF_QUESTION_H

#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define QUESTION_SLOT_BITS 15
/* ns: what left the socket as late as this before the wake was no question, but the
 * acknowledgement of the answer. */
#define ACKNOWLEDGED 20000

struct question_slot {
	__u64 sock;
	__u64 written; /* the number of the next byte to be written, as of its last wait */
	__u64 mark;    /* of the socket that the next field is of; see outside.h */
	/* TCP: when the last packet had come, as the bytes were taken, us; UDP: the hash of the
	   name that is asked for; 0 unknown */
	__u64 arrived;
	__u64 taken; /* TCP: the number behind those bytes */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << QUESTION_SLOT_BITS);
	__type(key, __u32);
	__type(value, struct question_slot);
} clew_questions SEC(".maps");

static __always_inline struct question_slot *question_slot(__u64 sock)
{
	__u32 index = (__u32)(sock * 0x9e3779b97f4a7c15ULL >> (64 - QUESTION_SLOT_BITS));

	return bpf_map_lookup_elem(&clew_questions, &index);
}

/* True if the last thing that a socket did was to send: for one that has no slot. */
static __always_inline bool sent_last(struct tcp_sock *tcp)
{
	struct inet_connection_sock *connection = (void *)tcp;
	__u32 received = READ(connection, icsk_ack.lrcvtime);

	if (!READ(tcp, bytes_received))
		return READ(tcp, bytes_sent) != 0;
	return (__s32)(READ(tcp, lsndtime) - received) > 0;
}

/* A client of a Unix socket has a question open if its peer has not taken it yet. */
static __always_inline __u64 unix_question(struct sock *sock)
{
	struct sock *peer = (void *)READ_NUMBER((struct unix_sock *)sock, peer);

	return peer && READ(peer, sk_receive_queue.qlen) ? CLEW_ASKED_SOMETIME : 0;
}

/* The socket behind a file, if its protocol is TCP; NULL: it has another one. */
static __always_inline struct tcp_sock *tcp_of(struct sock *sock)
{
	__u16 family = READ(sock, __sk_common.skc_family);

	return (family == AF_INET || family == AF_INET6) && READ(sock, sk_protocol) == IPPROTO_TCP
		       ? (void *)sock
		       : NULL;
}

/* When the last bytes left a socket. */
static __always_inline __u64 left_at(struct tcp_sock *tcp, __u64 now)
{
	__u64 left = READ(tcp, tcp_wstamp_ns);

	return left && left + ACKNOWLEDGED < now ? left : CLEW_ASKED_SOMETIME;
}

/*
 * When the question left that is open at the connection behind a file; CLEW_ASKED_SOMETIME: it is
 * not known when; 0: none is open, or it is not known. Global, see identity.h.
 */
__noinline __u64 open_question(__u64 file_address, __u64 now)
{
	struct socket *socket = READ((struct file *)file_address, private_data);
	struct sock *sock = (void *)READ_NUMBER(socket, sk);
	struct question_slot *slot;
	struct tcp_sock *tcp;
	__u64 written;
	bool asked;

	if (!sock)
		return 0;
	if (READ(sock, __sk_common.skc_family) == AF_UNIX)
		return unix_question(sock);
	tcp = tcp_of(sock);
	if (!tcp)
		return 0;
	slot = question_slot((__u64)sock);
	if (!slot)
		return 0;
	written = READ(tcp, write_seq);
	asked = slot->sock == (__u64)sock ? slot->written != written : sent_last(tcp);
	slot->sock = (__u64)sock;
	slot->written = written;
	return asked ? left_at(tcp, now) : 0;
}

/* The same of a wait that is under way, for which the table may have counted already: nothing came
 * since it began. */
__noinline __u64 question_under_way(__u64 file_address, __u64 now)
{
	struct socket *socket = READ((struct file *)file_address, private_data);
	struct sock *sock = (void *)READ_NUMBER(socket, sk);
	struct tcp_sock *tcp;

	if (!sock)
		return 0;
	if (READ(sock, __sk_common.skc_family) == AF_UNIX)
		return unix_question(sock);
	tcp = tcp_of(sock);
	return tcp && sent_last(tcp) ? left_at(tcp, now) : 0;
}

#endif

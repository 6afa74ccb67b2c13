/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets whose other side is on another host.
 *
 * A packet of one that leaves by a device, or comes from one, that does not stay on this machine
 * shows that: a container's packets leave it by a device that stays, but their answers do not come
 * by such a one alone. The mark is in the slot that questions have for a socket. Two sockets of one
 * slot take the mark from each other, until the next packet.
 */
#ifndef CLEW_BPF_OUTSIDE_H
#define CLEW_BPF_OUTSIDE_H

#include "kernel.h"
#include "kernel_io.h"
#include "question.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: CLEW_NETWORK_*. */
const volatile __u8 network;
/* Fixed at load: names of devices behind which other hosts are, although they exist in software
 * alone. */
const volatile __u64 outside_names[CLEW_OUTSIDE_MOST][2];
const volatile __u32 outside_count;

static __always_inline bool is_named_outside(struct net_device *device)
{
	__u64 name[2] = {};
	__u32 i;

	bpf_core_read(name, sizeof(name), &device->name);
	for (i = 0; i < CLEW_OUTSIDE_MOST && i < outside_count; i++)
		if (name[0] == outside_names[i][0] && name[1] == outside_names[i][1])
			return true;
	return false;
}

/* A device that exists in software alone has link operations and no parent
 * device: both ends of its packets are on this machine. */
static __always_inline bool stays_here(struct net_device *device)
{
	if (!device)
		return false;
	if (READ(device, flags) & IFF_LOOPBACK)
		return true;
	return READ_NUMBER(device, rtnl_link_ops) && !READ_NUMBER(device, dev.parent) &&
	       !(outside_count && is_named_outside(device));
}

#define MARK_OUTSIDE  1ULL
#define NO_ROUND_TRIP (~0U) /* in rtt_min: none was measured */

/* A number that distinguishes sockets, also those at one address. The lowest bit is free. */
static __always_inline __u64 socket_mark(struct sock *sock)
{
	__u64 ports = READ(sock, __sk_common.skc_dport) | (__u64)READ(sock, __sk_common.skc_num)
								  << 16;

	return ((__u64)sock ^ ports * 0x9e3779b97f4a7c15ULL) & ~MARK_OUTSIDE;
}

/* The slot of a socket, which has it from then on; NULL: there is none. */
static __always_inline struct question_slot *marked_slot(struct sock *sock)
{
	struct question_slot *slot = question_slot((__u64)sock);
	__u64 mark = socket_mark(sock);

	if (!slot)
		return NULL;
	if ((slot->mark & ~MARK_OUTSIDE) != mark) {
		slot->mark = mark;
		slot->arrived = 0;
	}
	return slot;
}

/* Global, see identity.h. */
__noinline int mark_outside(__u64 sock_address)
{
	struct question_slot *slot = marked_slot((struct sock *)sock_address);

	if (slot && !(slot->mark & MARK_OUTSIDE))
		slot->mark |= MARK_OUTSIDE;
	return 0;
}

static __always_inline bool is_outside(struct sock *sock)
{
	struct question_slot *slot = question_slot((__u64)sock);

	return slot && slot->mark == (socket_mark(sock) | MARK_OUTSIDE);
}

/* True for ::1, and for an address of IPv4 that begins with 127. */
static __always_inline bool loops_back(const __u8 *to)
{
	if (to[0] | to[1] | to[2] | to[3] | to[4] | to[5] | to[6] | to[7] | to[8] | to[9])
		return false;
	return to[10] == 0xff ? to[12] == 127 : !to[10] && !to[12] && to[15] == 1;
}

/* True if a socket's other end has a loopback address. */
static __always_inline bool to_loopback(struct sock *sock, __u16 family)
{
	__u8 to[16] = {};

	if (family == AF_INET)
		return (READ(sock, __sk_common.skc_daddr) & 0xff) == 127;
	bpf_core_read(to, sizeof(to), &sock->__sk_common.skc_v6_daddr);
	return loops_back(to);
}

/* True if the device that a socket's packets leave by leads out of this machine. */
static __always_inline bool leads_outside(struct sock *sock)
{
	struct dst_entry *route = (void *)READ_NUMBER(sock, sk_dst_cache);
	struct net_device *device = route ? (void *)READ_NUMBER(route, dev) : NULL;

	return device && !stays_here(device);
}

/* As clew_wait.away, of the connection behind a file. Global, see identity.h. */
__noinline __u32 away_behind(__u64 file_address)
{
	struct socket *socket = READ((struct file *)file_address, private_data);
	struct sock *sock = (void *)READ_NUMBER(socket, sk);
	__u16 family = sock ? READ(sock, __sk_common.skc_family) : 0;
	struct tcp_sock *tcp;
	__u32 trip;

	if (!network || (family != AF_INET && family != AF_INET6) || to_loopback(sock, family) ||
	    (!is_outside(sock) && !leads_outside(sock)))
		return 0;
	tcp = tcp_of(sock);
	trip = tcp ? READ(tcp, rtt_min.s[0].v) : NO_ROUND_TRIP;
	return trip == NO_ROUND_TRIP ? 1 : trip + 1;
}

/* Notes when the last packet had come, as the first bytes since then are taken. */
static __always_inline void note_arrival(struct sock *sock)
{
	struct question_slot *slot = marked_slot(sock);

	if (!slot || slot->arrived)
		return;
	slot->arrived = READ((struct tcp_sock *)sock, tcp_mstamp);
	slot->taken = READ((struct tcp_sock *)sock, copied_seq);
}

/* When that was, us; of UDP the name that it asks for (query.h); 0 unknown. It is not known any
 * more then. */
static __always_inline __u64 take_arrival(struct sock *sock)
{
	struct question_slot *slot = marked_slot(sock);
	__u64 arrived = slot ? slot->arrived : 0;

	if (arrived)
		slot->arrived = 0;
	return arrived;
}

/* The same for the last `bytes` that were taken. Splice takes bytes without a message: the time
 * that was noted of them is that of no later ones. */
static __always_inline __u64 take_arrival_of(struct tcp_sock *tcp, __u32 bytes)
{
	struct question_slot *slot = marked_slot((struct sock *)tcp);
	__u32 begin = READ(tcp, copied_seq) - bytes, taken = slot ? slot->taken : 0;
	__u64 arrived = take_arrival((struct sock *)tcp);

	return taken - begin - 1 < bytes ? arrived : 0;
}

#endif

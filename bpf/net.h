/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of senders: which task has sent the packet that is being received.
 * Loopback, veth and bridges pass on the same packet, so its address joins both
 * ends. A forwarded packet keeps its first sender at each hop, and the parts
 * into which a packet is cut have the packet's sender.
 *
 * The table is indexed by a hash of the address, without a hash map: a packet
 * costs two stores and a load. A slot's checksum does not match if two CPUs
 * wrote the slot at the same time.
 */
#ifndef CLEW_BPF_NET_H
#define CLEW_BPF_NET_H

#include "kernel.h"
#include "read.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/*
 * In sender.who, instead of tasks: the packet came from outside, by the
 * interrupt with this number; sender.time is the address of the interrupt's
 * action.
 */
#define FROM_OUTSIDE (1ULL << 63)
/*
 * In sender.who, with tasks, bits 60 to 62. For data that a softirq sent, which another task
 * may have written: CLEW_PACKET_*. For an acknowledgement:
 * CLEW_PACKET_DELAYED if it was put off. The time of data that is sent again is that at which
 * it was written.
 */
#define WAITED_SHIFT 60
#define WAITED_MASK  (7ULL << WAITED_SHIFT)
#define WAITED	     ((__u64)CLEW_PACKET_WAITED << WAITED_SHIFT)
/*
 * In the number that distinguishes packets: the packet carries an
 * acknowledgement and no data. The data that follows may have the same sequence
 * number and the same address.
 */
#define ACKNOWLEDGES (1ULL << 63)

#define SENDER_SLOTS 65536
#define SLAB_SHIFT   14 /* a slab of packets has about 2^14 bytes */
#define PACKET_SHIFT 8	/* and a packet 2^8 or more */

struct sender {
	__u64 key; /* address of a packet or of a socket */
	__u64 time;
	__u64 who; /* the sender's task; upper half: the task by whose act it left, which differs if
		      a softirq sent it */
	__u64 sum; /* of the fields above, and of what distinguishes packets or sockets at that
		      address */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENDER_SLOTS);
	__type(key, __u32);
	__type(value, struct sender);
} clew_senders SEC(".maps");

static __always_inline struct sender *sender_slot(__u64 key)
{
	/* Packets of one slab are mostly made one after the other: their slots
	 * share cache lines and pages. */
	__u32 index = (__u32)((key >> SLAB_SHIFT) * 0x9e3779b97f4a7c15ULL >> 40)
			      << (SLAB_SHIFT - PACKET_SHIFT) |
		      ((key >> PACKET_SHIFT) & ((1u << (SLAB_SHIFT - PACKET_SHIFT)) - 1));

	index &= SENDER_SLOTS - 1;
	return bpf_map_lookup_elem(&clew_senders, &index);
}

/* A number that distinguishes sockets at one address: their ports. */
static __always_inline __u64 socket_number(struct sock *sock)
{
	return sock ? (__u64)READ(sock, __sk_common.skc_dport) << 16 |
			       READ(sock, __sk_common.skc_num)
		    : 0;
}

static __always_inline __u64 sender_of(__u32 task, __u32 actor)
{
	return task | (__u64)actor << 32;
}

static __always_inline void sender_put(__u64 key, __u64 what, __u64 time, __u64 who)
{
	volatile struct sender *slot = sender_slot(key);

	if (!slot)
		return;
	slot->key = key;
	slot->time = time;
	slot->who = who;
	slot->sum = key ^ what ^ time ^ who;
}

static __always_inline bool sender_get(__u64 key, __u64 what, __u64 *ret_time, __u64 *ret_who)
{
	volatile struct sender *slot = sender_slot(key);
	__u64 time, who;

	if (!slot || slot->key != key)
		return false;
	time = slot->time;
	who = slot->who;
	if (slot->sum != (key ^ what ^ time ^ who))
		return false;
	*ret_time = time;
	*ret_who = who;
	return true;
}

/* The task that sent it, 0 none. */
static __always_inline __u32 sender_task(__u64 who)
{
	return who & FROM_OUTSIDE ? 0 : (__u32)who;
}

static __always_inline __u32 sender_actor(__u64 who)
{
	return who & FROM_OUTSIDE ? 0 : (__u32)((who & ~WAITED_MASK) >> 32);
}

/* CLEW_PACKET_*, 0: it did not wait. */
static __always_inline __u8 sender_waited(__u64 who)
{
	return who & FROM_OUTSIDE ? 0 : (who & WAITED_MASK) >> WAITED_SHIFT;
}

/*
 * A number that distinguishes packets at one address, such as copies or parts
 * of one packet: with TCP the sequence number, else the length, and with IPv4
 * also the identification. Routers and NAT leave these unchanged. `header`: of
 * the network layer.
 */
static __always_inline __u64 packet_number(const void *header)
{
	__u32 words[12] = {};

	if (can_cast) {
		__u64 at = (__u64)header, pair = read_number(at);

		words[0] = pair;
		words[1] = pair >> 32;
		words[2] = read_number(at + 8);
		words[6] = read_number(at + 24);
		words[11] = read_number(at + 40) >> 32;
	} else {
		bpf_probe_read_kernel(words, sizeof(words), header);
	}
	switch (words[0] & 0xf0) {
	case 0x40:
		/* With IP options other words are read, but the same ones at
		 * both ends. */
		return (words[2] >> 8 & 0xff) == IPPROTO_TCP
			       ? (__u64)words[6] << 16 | (words[1] & 0xffff)
			       : (__u64)(words[0] & 0xffff0000) << 16 | (words[1] & 0xffff);
	case 0x60:
		return (words[1] >> 16 & 0xff) == IPPROTO_TCP ? words[11] : words[1] & 0xffff;
	}
	return 0;
}

/* The ports and the sequence number of a TCP packet, 0 if it is none. With IP
 * options other words are read, but the same ones each time. */
static __always_inline __u64 packet_segment(const void *header)
{
	__u64 at = (__u64)header, first = read_number(at);

	switch (first & 0xf0) {
	case 0x40:
		return (read_number(at + 8) >> 8 & 0xff) == IPPROTO_TCP ? read_number(at + 20) : 0;
	case 0x60:
		return (first >> 48 & 0xff) == IPPROTO_TCP ? read_number(at + 40) : 0;
	}
	return 0;
}

/* The sequence number of a packet_segment(). */
static __always_inline __u32 segment_sequence(__u64 segment)
{
	return bpf_ntohl(segment >> 32);
}

/*
 * Segments that a filter of this machine refused are in the same table, by a
 * number that is no address in the kernel.
 */
static __always_inline __u64 refused_key(__u64 segment)
{
	return segment & ~FROM_OUTSIDE;
}

/* Remembers when that was first; `who`: the task that sent it, 0 unknown. */
static __always_inline void segment_refuse(__u64 segment, __u64 now, __u64 who)
{
	__u64 time, before;

	if (!sender_get(refused_key(segment), segment, &time, &before))
		sender_put(refused_key(segment), segment, now, who);
}

static __always_inline bool segment_refused(__u64 segment, __u64 *ret_time, __u64 *ret_who)
{
	return sender_get(refused_key(segment), segment, ret_time, ret_who);
}

#endif

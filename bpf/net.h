/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that stay on this machine: who sent the one that is being received.
 * Loopback and veth hand on the same packet, so its address joins both ends.
 *
 * Senders are kept in tables indexed by a hash of the address, not in a hash map:
 * a packet costs two stores and a load. A slot's sum tells a slot that two CPUs
 * wrote at once from a whole one.
 */
#ifndef CLEW_NET_H
#define CLEW_NET_H

#include "block.h"

#define SENDER_SLOTS 65536

struct sender {
	__u64 key; /* address of a packet or of a socket */
	__u64 time;
	__u64 task;
	__u64 sum;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENDER_SLOTS);
	__type(key, __u32);
	__type(value, struct sender);
} clew_senders SEC(".maps");

static __always_inline struct sender *sender_slot(__u64 key)
{
	__u32 index = (__u32)((key * 0x9e3779b97f4a7c15ULL) >> 40) & (SENDER_SLOTS - 1);

	return bpf_map_lookup_elem(&clew_senders, &index);
}

static __always_inline void sender_put(__u64 key, __u64 time, __u32 task)
{
	volatile struct sender *slot = sender_slot(key);

	if (!slot)
		return;
	slot->key = key;
	slot->time = time;
	slot->task = task;
	slot->sum = key ^ time ^ task;
}

static __always_inline bool sender_get(__u64 key, __u64 *ret_time, __u32 *ret_task)
{
	volatile struct sender *slot = sender_slot(key);
	__u64 time, task;

	if (!slot || slot->key != key)
		return false;
	time = slot->time;
	task = slot->task;
	if (slot->sum != (key ^ time ^ task))
		return false;
	*ret_time = time;
	*ret_task = task;
	return true;
}

/* Devices of software alone have link operations, and no hardware between the two ends. */
static __always_inline bool stays_here(struct net_device *device)
{
	return device && ((device->flags & IFF_LOOPBACK) || device->rtnl_link_ops);
}

/* As number_of(), without a call: packets are sent and received with softirqs off, so that no other program comes between. */
static __always_inline __u64 number_of_packet(struct clew_cpu_state *cpu_state, void *pointer)
{
	volatile struct clew_cpu_state *state = cpu_state;

	state->packet = (__u64)pointer;
	return state->packet;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(clew_net_dev_queue, struct sk_buff *packet)
{
	struct place place;
	__u64 now, socket, before;
	__u32 task = 0, last;

	if (!enabled || !stays_here(packet->dev) || !place_here(&place))
		return 0;
	now = bpf_ktime_get_ns();
	socket = number_of_packet(place.cpu_state, packet->sk);
	if (place.level == LEVEL_TASK) {
		task = serial_of_current(place.cpu_state, place.task);
		if (socket && (!sender_get(socket, &before, &last) || last != task))
			sender_put(socket, now, task);
	} else if (socket) {
		/* What waited for an acknowledgement goes out now: its sender is who wrote to the socket last. */
		if (!sender_get(socket, &before, &task))
			task = 0;
	}
	sender_put(number_of_packet(place.cpu_state, packet), now, task);
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(clew_netif_receive_skb, struct sk_buff *packet)
{
	struct clew_level *here;
	struct place place;
	__u64 time;
	__u32 task;

	if (!enabled || !place_here(&place) || place.level != LEVEL_SOFT)
		return 0;
	here = &place.cpu_state->levels[LEVEL_SOFT];
	here->inner.kind = 0;
	if (!stays_here(packet->dev)) {
		/* From outside: its interface's interrupt is the last this CPU had. */
		if (place.cpu_state->last_action) {
			here->inner.kind = CLEW_CAUSE_IRQ;
			here->inner.object = place.cpu_state->last_interrupt;
			here->inner.time = place.cpu_state->last_action;
			here->inner.expires = 0;
			here->inner.task = 0;
		}
		return 0;
	}
	if (!sender_get(number_of_packet(place.cpu_state, packet), &time, &task) || !task)
		return 0;
	here->inner.kind = CLEW_CAUSE_PACKET;
	here->inner.object = (__u64)packet;
	here->inner.time = time;
	here->inner.expires = 0;
	here->inner.task = task;
	place.cpu_state->interrupted = 1;
	return 0;
}

#endif

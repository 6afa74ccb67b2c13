/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets: who sent the one that is being received, and which interrupt brought it
 * in. Loopback, veth and bridges hand on the same packet, so its address joins both
 * ends; what is forwarded is its first sender's at each hop, and what a packet is cut
 * into, as it is larger than its device takes, is of that packet's sender.
 *
 * A softirq sends in others' names: data is that of who wrote to the socket last. An
 * acknowledgement without data is the act of whoever made room for what it answers,
 * and nobody's where that was not held up.
 *
 * Senders are kept in tables indexed by a hash of the address, not in a hash map:
 * a packet costs two stores and a load. A slot's sum tells a slot that two CPUs
 * wrote at once from a whole one.
 */
#ifndef CLEW_NET_H
#define CLEW_NET_H

#include "block.h"

#define SENDER_SLOTS 65536
#define SLAB_SHIFT   14 /* a slab of packets has about that many bytes */
#define PACKET_SHIFT 8	/* and a packet so many, or more */

#define IPPROTO_TCP	6
#define TCP_RESET	4
#define PACKET_LOOPBACK 5
/* Of an acknowledgement that carries no data. */
#define ACKNOWLEDGEMENT_TRUESIZE 2
/* In `who`, instead of tasks: it came from outside, by the interrupt with this number; `time` is
 * what handled it. */
#define FROM_OUTSIDE (1ULL << 63)
/* With tasks: data that a softirq sent. Some other task may have written it. */
#define WAITED (1ULL << 61)
/*
 * In what tells a packet: it acknowledges. Data that comes after it has its number, and maybe its
 * memory or, where the kernel puts both into one, its packet; what is asked of data finds nothing
 * of an acknowledgement.
 */
#define ACKNOWLEDGES (1ULL << 63)

struct sender {
	__u64 key; /* address of a packet or of a socket */
	__u64 time;
	__u64 who; /* the sender's task; in the upper half the task by whose act it left, for one in
		      a softirq another */
	__u64 sum; /* of those, and of what tells the packet or socket from another one at that
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
	/* Packets are made in slabs, and those of one slab mostly come one after the other: their
	 * slots share lines and pages. */
	__u32 index = (__u32)((key >> SLAB_SHIFT) * 0x9e3779b97f4a7c15ULL >> 40)
			      << (SLAB_SHIFT - PACKET_SHIFT) |
		      ((key >> PACKET_SHIFT) & ((1u << (SLAB_SHIFT - PACKET_SHIFT)) - 1));

	index &= SENDER_SLOTS - 1;
	return bpf_map_lookup_elem(&clew_senders, &index);
}

static __always_inline __u64 who_sent(__u32 task, __u32 actor)
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
	return who & FROM_OUTSIDE ? 0 : (__u32)((who & ~WAITED) >> 32);
}

/* Devices of software alone have link operations, and no hardware between the two ends. */
static __always_inline bool stays_here(struct net_device *device)
{
	return device && ((device->flags & IFF_LOOPBACK) ||
			  (READ_NUMBER(device, rtnl_link_ops) && !READ_NUMBER(device, dev.parent)));
}

/*
 * What tells a packet from another at its address, as where one is cut up or copied on its way: of
 * TCP the sequence number, else the length, and of IPv4 the identification. Routers and NAT leave
 * these alone. `header`: of its network layer.
 */
static __always_inline __u64 what_packet(const void *header)
{
	__u32 words[12] = {};

	if (can_look) {
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
		/* With options the wrong words are read, and the same ones at both ends. */
		return (words[2] >> 8 & 0xff) == IPPROTO_TCP
			       ? (__u64)words[6] << 16 | (words[1] & 0xffff)
			       : (__u64)(words[0] & 0xffff0000) << 16 | (words[1] & 0xffff);
	case 0x60:
		return (words[1] >> 16 & 0xff) == IPPROTO_TCP ? words[11] : words[1] & 0xffff;
	}
	return 0;
}

/* The same of a socket: its ports. */
static __always_inline __u64 what_socket(struct sock *sock)
{
	return sock ? (__u64)sock->__sk_common.skc_dport << 16 | sock->__sk_common.skc_num : 0;
}

/* Whether it resets a TCP connection. With options of IP another byte is looked at, which seldom
 * says so. */
static __always_inline bool is_reset(const void *header)
{
	__u64 at = (__u64)header, first = read_number(at);

	switch (first & 0xf0) {
	case 0x40:
		return (read_number(at + 8) >> 8 & 0xff) == IPPROTO_TCP &&
		       read_number(at + 32) >> 8 & TCP_RESET;
	case 0x60:
		return (first >> 48 & 0xff) == IPPROTO_TCP &&
		       read_number(at + 48) >> 40 & TCP_RESET;
	}
	return false;
}

/* Packets are sent and received with softirqs off, so that no other program comes between. */
static __always_inline __u64 number_of_packet(struct clew_cpu_state *cpu_state, void *pointer)
{
	return number_through(&cpu_state->packet, pointer);
}

/*
 * Whether a task sends what others have written to a socket: it receives, and as it lets go of the
 * socket it takes in what came meanwhile, which may have made room. The kernel's own sockets, which
 * have no file, send for whoever asks it for something.
 */
static __always_inline bool makes_room(const struct place *place, __u64 socket)
{
	return receives((__s64)place_call(place) - 1) &&
	       READ((struct sock *)socket, sk_socket, file);
}

/*
 * A reset is how the kernel answers what comes for a connection that is over: nobody's act, though
 * a task may take that in, by a socket of the kernel's own or (from 6.13 on) the connection's. But
 * who closes a socket resets its connection itself.
 */
static __always_inline bool is_nobodys(const struct place *place, __u64 socket, const void *header)
{
	if (!is_reset(header))
		return false;
	if (place->level != LEVEL_TASK)
		return socket;
	return !socket || receives((__s64)place_call(place) - 1) ||
	       !READ((struct sock *)socket, sk_socket, file);
}

/* In whose name a softirq sends a packet, and since when it is under way; one without a socket is a
 * copy of what is received. */
static __always_inline __u64 sender_in_softirq(struct clew_cpu_state *cpu_state, __u64 socket,
					       __u64 what, bool acknowledges, __u64 *time)
{
	struct clew_cause *received = &cpu_state->levels[LEVEL_SOFT].inner;
	__u32 actor = cpu_state->packet_actor;
	__u64 before, who;
	__u8 state;

	if (!socket && received->kind == CLEW_CAUSE_IRQ) {
		*time = received->time;
		return FROM_OUTSIDE | received->object;
	}
	if (!socket && received->kind == CLEW_CAUSE_PACKET) {
		*time = received->time;
		return who_sent(received->task, actor) |
		       (received->object == CLEW_PACKET_WAITED ? WAITED : 0);
	}
	if (acknowledges)
		return who_sent(
			received->kind == CLEW_CAUSE_PACKET && received->task == actor ? 0 : actor,
			actor);
	/* What waited for an acknowledgement goes out now: its sender is who wrote to the socket
	 * last. */
	if (socket && sender_get(socket, what, &before, &who))
		return who_sent(sender_task(who), actor) | WAITED;
	/* Nobody writes an answer to a connect, but a task has asked for it. */
	state = socket ? READ((struct sock *)socket, __sk_common.skc_state) : 0;
	return state == TCP_LISTEN || state == TCP_NEW_SYN_RECV ? who_sent(0, actor) : 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(clew_net_dev_queue, struct sk_buff *packet)
{
	struct place place;
	__u64 now, socket, what, who, key, before, last;
	const void *header;
	bool acknowledges;

	if (!enabled || !stays_here(packet->dev) || !place_here(&place))
		return 0;
	place.cpu_state->packet_sent = 0;
	now = clock_ns();
	socket = READ_NUMBER(packet, sk);
	what = what_socket(READ_TRUSTED(packet, sk));
	key = number_of_packet(place.cpu_state, packet);
	acknowledges = packet->truesize == ACKNOWLEDGEMENT_TRUESIZE;
	header = packet->head + packet->network_header;
	/* A hop of what is known already; another kind of packet is a new one where that was. */
	if (place.level != LEVEL_TASK && key == place.cpu_state->packet_received &&
	    acknowledges == place.cpu_state->packet_acknowledges)
		return 0;
	if (!acknowledges && is_nobodys(&place, socket, header)) {
		who = 0;
	} else if (place.level == LEVEL_TASK && socket && !acknowledges &&
		   makes_room(&place, socket)) {
		who = sender_get(socket, what, &before, &last)
			      ? who_sent(sender_task(last), 0) | WAITED
			      : 0;
	} else if (place.level == LEVEL_TASK) {
		__u32 task = serial_of_current(place.cpu_state, place.task);

		who = who_sent(task, task);
		/* Who reads acknowledges, and has written nothing. */
		if (socket && !acknowledges &&
		    (!sender_get(socket, what, &before, &last) || last != who))
			sender_put(socket, what, now, who);
	} else {
		who = sender_in_softirq(place.cpu_state, socket, what, acknowledges, &now);
	}
	what = what_packet(header) | (acknowledges ? ACKNOWLEDGES : 0);
	sender_put(key, what, now, who);
	if (socket && !acknowledges) {
		place.cpu_state->packet_sent = key;
		place.cpu_state->packet_sent_what = what;
		place.cpu_state->packet_sent_socket = socket;
	}
	return 0;
}

/*
 * A device is handed a packet: the one that was queued, or one of those that it was cut into
 * meanwhile, on the same CPU, which keep its socket. A packet that waited in a queue is known
 * already.
 */
SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(clew_net_dev_start_xmit, struct sk_buff *packet, struct net_device *device)
{
	struct clew_cpu_state *cpu_state;
	__u64 key, what, time, who;

	if (!enabled)
		return 0;
	cpu_state = this_cpu_state(bpf_get_smp_processor_id());
	if (!cpu_state || !cpu_state->packet_sent || !stays_here(device))
		return 0;
	key = number_of_packet(cpu_state, packet);
	if (key == cpu_state->packet_sent ||
	    READ_NUMBER(packet, sk) != cpu_state->packet_sent_socket)
		return 0;
	what = what_packet(packet->head + packet->network_header);
	if (!sender_get(key, what, &time, &who) &&
	    sender_get(cpu_state->packet_sent, cpu_state->packet_sent_what, &time, &who))
		sender_put(key, what, time, who);
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(clew_netif_receive_skb, struct sk_buff *packet)
{
	struct clew_cause *received;
	struct place place;
	__u64 time, who, key, what;
	__u32 interrupt;

	if (!enabled || !place_here(&place) || place.level != LEVEL_SOFT)
		return 0;
	received = &place.cpu_state->levels[LEVEL_SOFT].inner;
	received->kind = 0;
	place.cpu_state->packet_actor = 0;
	key = number_of_packet(place.cpu_state, packet);
	place.cpu_state->packet_received = key;
	place.cpu_state->packet_acknowledges = packet->truesize == ACKNOWLEDGEMENT_TRUESIZE;
	what = what_packet(packet->data) |
	       (place.cpu_state->packet_acknowledges ? ACKNOWLEDGES : 0);
	if (!stays_here(packet->dev)) {
		/* A copy of what was sent to many. */
		if (BPF_CORE_READ_BITFIELD(packet, pkt_type) == PACKET_LOOPBACK)
			return 0;
		/* A bridge may take it in once more. */
		interrupt = napi_interrupt(place.cpu_state, packet, &time);
		who = time ? FROM_OUTSIDE | interrupt : 0;
		sender_put(key, what, time, who);
	} else if (!sender_get(key, what, &time, &who)) {
		return 0;
	}
	if (who & FROM_OUTSIDE) {
		received->kind = CLEW_CAUSE_IRQ;
		received->object = (__u32)who;
		received->task = 0;
	} else {
		place.cpu_state->packet_actor = sender_actor(who);
		received->task = sender_task(who);
		if (!received->task)
			return 0;
		received->kind = CLEW_CAUSE_PACKET;
		received->object = who & WAITED ? CLEW_PACKET_WAITED : 0;
		place.cpu_state->interrupted = 1;
	}
	received->time = time;
	received->expires = 0;
	return 0;
}

/* A device's turn is over: what its next packets wake, and room that the next device makes, is not
 * of the last one. */
SEC("tp_btf/napi_poll")
int BPF_PROG(clew_napi_poll)
{
	struct clew_cpu_state *cpu_state;

	if (!enabled)
		return 0;
	cpu_state = this_cpu_state(bpf_get_smp_processor_id());
	if (!cpu_state)
		return 0;
	cpu_state->levels[LEVEL_SOFT].inner.kind = 0;
	packet_over(cpu_state);
	return 0;
}

#endif

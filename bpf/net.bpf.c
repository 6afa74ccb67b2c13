/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at packets that are sent and received.
 *
 * A softirq sends in the name of others: data belongs to the task that wrote to
 * the socket last. An acknowledgement without data is the act of the task that
 * made room for what it answers, and of no task if nothing was held up.
 */
#include "net.h"
#include "call.h"
#include "context.h"
#include "held.h"
#include "kernel.h"
#include "kernel_io.h"
#include "napi.h"
#include "outside.h"
#include "query.h"
#include "read.h"
#include "refused.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define TCP_RESET	4
#define PACKET_LOOPBACK 5
/* truesize of an acknowledgement that carries no data. */
#define ACKNOWLEDGEMENT_TRUESIZE 2

/* True if a packet resets a TCP connection. With IP options another byte is
 * tested, which rarely looks like a reset. */
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

/* A packet's address as a number. Packets are sent and received with softirqs
 * off, so that no other program uses the field meanwhile. */
static __always_inline __u64 number_of_packet(struct clew_cpu_state *cpu_state, void *pointer)
{
	return number_through(&cpu_state->packet, pointer);
}

/*
 * True if a task that receives from a socket sends what other tasks wrote to
 * it. When it unlocks the socket it processes what has arrived meanwhile, and
 * this may have made room to send. The kernel's own sockets, which have no
 * file, send for the task that asks for it.
 */
static __always_inline bool sends_for_writer(const struct context *context, __u64 socket)
{
	return receives((__s64)context_call(context) - 1) &&
	       READ((struct sock *)socket, sk_socket, file);
}

/*
 * True if a packet is a reset that no task caused. The kernel sends one if a
 * packet arrives for a connection that is over, by a socket of its own or (from
 * 6.13 on) by that of the connection; a task may be receiving that packet. A
 * task that closes a socket, however, resets its connection itself.
 */
static __always_inline bool is_unowned(const struct context *context, __u64 socket,
				       const void *header)
{
	if (!is_reset(header))
		return false;
	if (context->level != LEVEL_TASK)
		return socket;
	return !socket || receives((__s64)context_call(context) - 1) ||
	       !READ((struct sock *)socket, sk_socket, file);
}

/*
 * CLEW_PACKET_RESENT, _FILTERED or _REFUSED if TCP sends data again, 0 if not.
 * Data that a filter refused at the output was never sent for TCP, which tries
 * again by a timer or as something arrives: *who sent it at *time, as far as that
 * is known.
 */
static __always_inline __u8 sent_again(struct sock *sock, struct sk_buff *packet, __u64 *time,
				       __u64 *who)
{
	__u64 segment, refused, refused_who;
	__s32 ahead;

	if (READ(sock, sk_protocol) != IPPROTO_TCP)
		return 0;
	segment = packet_segment(packet->head + packet->network_header);
	ahead = segment_sequence(segment) - READ((struct tcp_sock *)sock, snd_nxt);
	if (!segment_refused(segment, &refused, &refused_who))
		return ahead < 0 ? CLEW_PACKET_RESENT : 0;
	if (ahead < 0)
		return CLEW_PACKET_FILTERED;
	*time = refused;
	if (refused_who)
		*who = refused_who;
	return CLEW_PACKET_REFUSED;
}

/* The sender of a packet that a softirq sends. A packet without a socket is a
 * forwarded one: `time` becomes the time at which it was first sent. */
static __always_inline __u64 sender_in_softirq(struct clew_cpu_state *cpu_state,
					       struct sk_buff *packet, __u64 socket, __u64 what,
					       bool acknowledges, __u64 *time)
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
		return sender_of(received->task, actor) | received->object << WAITED_SHIFT;
	}
	if (acknowledges)
		return sender_of(received->kind == CLEW_CAUSE_PACKET && received->task == actor
					 ? 0
					 : actor,
				 actor) |
		       (acknowledges_late(received) ? (__u64)CLEW_PACKET_DELAYED << WAITED_SHIFT
						    : 0);
	/* Data that waited for an acknowledgement is sent now: its sender is
	 * the last task that wrote to the socket. */
	if (socket && sender_get(socket, what, &before, &who)) {
		__u8 held = sent_again((struct sock *)socket, packet, &before, &who);

		if (held)
			*time = before;
		else
			held = held_by((struct sock *)socket, packet, cpu_state->packet_late);
		return sender_of(sender_task(who), actor) | (__u64)held << WAITED_SHIFT;
	}
	/* No task writes the answer to a connect, but the task that connects
	 * causes it. */
	state = socket ? READ((struct sock *)socket, __sk_common.skc_state) : 0;
	return state == TCP_LISTEN || state == TCP_NEW_SYN_RECV ? sender_of(0, actor) : 0;
}

/* A packet of a socket leaves this machine. It is remembered who asks for a connection, in case
 * nothing answers. */
static __always_inline void leaves(__u64 socket, struct sock *sock)
{
	struct context context;

	if (!socket)
		return;
	if (network)
		mark_outside(socket);
	if (READ(sock, __sk_common.skc_state) == TCP_SYN_SENT && context_here(&context) &&
	    context.level == LEVEL_TASK) {
		__u32 task = serial_of_current(context.cpu_state, context.task);

		sender_put(socket, socket_number(sock), clock_ns(), sender_of(task, task));
	}
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(clew_net_dev_queue, struct sk_buff *packet)
{
	struct context context;
	__u64 now, socket, what, who, key, before, last;
	const void *header;
	bool acknowledges;

	if (!enabled)
		return 0;
	if (network && asks_for_names(READ_TRUSTED(packet, sk)))
		note_query(READ_NUMBER(packet, head) + packet->network_header,
			   READ_NUMBER(packet, sk), clock_ns());
	if (!stays_here(packet->dev)) {
		leaves(READ_NUMBER(packet, sk), READ_TRUSTED(packet, sk));
		return 0;
	}
	if (!context_here(&context))
		return 0;
	context.cpu_state->packet_sent = 0;
	now = clock_ns();
	socket = READ_NUMBER(packet, sk);
	what = socket_number(READ_TRUSTED(packet, sk));
	key = number_of_packet(context.cpu_state, packet);
	acknowledges = packet->truesize == ACKNOWLEDGEMENT_TRUESIZE;
	header = packet->head + packet->network_header;
	/* A hop of a packet that is known already. One of the other kind, with
	 * or without data, is a new packet at the same address. */
	if (context.level != LEVEL_TASK && key == context.cpu_state->packet_received &&
	    acknowledges == context.cpu_state->packet_acknowledges)
		return 0;
	if (!acknowledges && is_unowned(&context, socket, header)) {
		who = 0;
	} else if (context.level == LEVEL_TASK && socket && !acknowledges &&
		   sends_for_writer(&context, socket)) {
		who = sender_get(socket, what, &before, &last)
			      ? sender_of(sender_task(last), 0) | WAITED
			      : 0;
	} else if (context.level == LEVEL_TASK) {
		__u32 task = serial_of_current(context.cpu_state, context.task);

		who = sender_of(task, task);
		/* An acknowledgement is sent by a reader, which has written
		 * nothing. */
		if (socket && !acknowledges)
			sender_put(socket, what, now, who);
	} else {
		who = sender_in_softirq(context.cpu_state, packet, socket, what, acknowledges,
					&now);
	}
	what = packet_number(header) | (acknowledges ? ACKNOWLEDGES : 0);
	sender_put(key, what, now, who);
	if (socket && !acknowledges) {
		context.cpu_state->packet_sent = key;
		context.cpu_state->packet_sent_what = what;
		context.cpu_state->packet_sent_socket = socket;
	}
	return 0;
}

/*
 * A device gets a packet: the one that was queued, or one of the parts into
 * which it was cut meanwhile on the same CPU. Parts keep the packet's socket. A
 * packet that waited in a queue is in the table already.
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
	what = packet_number(packet->head + packet->network_header);
	if (!sender_get(key, what, &time, &who) &&
	    sender_get(cpu_state->packet_sent, cpu_state->packet_sent_what, &time, &who))
		sender_put(key, what, time, who);
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(clew_netif_receive_skb, struct sk_buff *packet)
{
	struct clew_cause *received;
	struct context context;
	__u64 time, who, key, what;
	__u32 interrupt;

	if (!enabled || !context_here(&context) || context.level != LEVEL_SOFT)
		return 0;
	received = &context.cpu_state->levels[LEVEL_SOFT].inner;
	received->kind = 0;
	context.cpu_state->packet_actor = 0;
	context.cpu_state->packet_late = 0;
	context.cpu_state->packet_outside = 0;
	key = number_of_packet(context.cpu_state, packet);
	context.cpu_state->packet_received = key;
	context.cpu_state->packet_acknowledges = packet->truesize == ACKNOWLEDGEMENT_TRUESIZE;
	what = packet_number(packet->data) |
	       (context.cpu_state->packet_acknowledges ? ACKNOWLEDGES : 0);
	if (!stays_here(packet->dev)) {
		/* A copy of a packet that was sent to many. */
		if (BPF_CORE_READ_BITFIELD(packet, pkt_type) == PACKET_LOOPBACK)
			return 0;
		/* A bridge may receive the packet once more. */
		interrupt = napi_interrupt(context.cpu_state, packet, &time);
		who = FROM_OUTSIDE | (time ? interrupt : 0);
		sender_put(key, what, time, who);
	} else if (!sender_get(key, what, &time, &who)) {
		return 0;
	}
	if (who & FROM_OUTSIDE) {
		context.cpu_state->packet_outside = 1;
		/* It is not known by which interrupt. */
		if (!time)
			return 0;
		received->kind = CLEW_CAUSE_IRQ;
		received->object = (__u32)who;
		received->task = 0;
	} else {
		context.cpu_state->packet_actor = sender_actor(who);
		context.cpu_state->packet_late = context.cpu_state->packet_acknowledges &&
						 sender_waited(who) == CLEW_PACKET_DELAYED;
		received->task = sender_task(who);
		/* A wait for an acknowledgement that was put off is for no task. */
		if (!received->task && !context.cpu_state->packet_late)
			return 0;
		received->kind = CLEW_CAUSE_PACKET;
		received->object = sender_waited(who);
		context.cpu_state->interrupted = 1;
	}
	received->time = time;
	received->expires = 0;
	return 0;
}

/* A device's turn is over: the next device's packets, and the room that they
 * make, have nothing to do with its last packet. */
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
	packet_end(cpu_state);
	return 0;
}

/* The reason of packets that a filter refuses, 0 unknown. */
#define REFUSED_BY_FILTER                                                                          \
	(bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_NETFILTER_DROP)          \
		 ? bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_NETFILTER_DROP)       \
		 : 0)

/* A packet is dropped. TCP will send it again if it is one of this machine's. */
SEC("?tp_btf/kfree_skb")
int BPF_PROG(clew_kfree_skb, struct sk_buff *packet, void *location, int reason)
{
	__u64 segment, time, who = 0;
	struct context context;
	const void *header;

	if (enabled && begins_connection((__u64)location))
		connect_refused();
	if (!enabled || !reason || (__u64)reason != REFUSED_BY_FILTER || !context_here(&context))
		return 0;
	header = packet->head + packet->network_header;
	segment = packet_segment(header);
	if (!segment)
		return 0;
	if (READ_NUMBER(packet, sk)) {
		if (context.level == LEVEL_TASK)
			who = sender_of(serial_of_current(context.cpu_state, context.task), 0);
	} else if (!sender_get(number_of(packet), packet_number(header), &time, &who)) {
		return 0;
	}
	segment_refuse(segment, clock_ns(), who);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why TCP held back data that it sends at last. All that is asked is asked as
 * the packet leaves, in the softirq that has received what lets it go: then the
 * connection's state still says what it waited for.
 */
#ifndef CLEW_BPF_HELD_H
#define CLEW_BPF_HELD_H

#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: the timer of acknowledgements that are put off; 0 unknown. */
const volatile __u64 timer_acknowledge;

#define TCP_CHRONO_RWND_LIMITED 2
#define TCP_NAGLE_OFF		1
#define TCP_NAGLE_CORK		2

/* True if the softirq here runs that timer, which sends the acknowledgement. */
static __always_inline bool acknowledges_late(const struct clew_cause *cause)
{
	return timer_acknowledge && cause->kind == CLEW_CAUSE_TIMER &&
	       cause->object == timer_acknowledge;
}

/*
 * Why data had to wait: CLEW_PACKET_*. The window: the last attempt to send
 * ended at it. Nagle's rule: the data is less than a segment, and all that
 * was sent has just been acknowledged, of which the last was such a part too.
 */
static __always_inline __u8 held_by(struct sock *sock, struct sk_buff *packet, bool late)
{
	struct tcp_sock *tcp = (void *)sock;
	__u8 rule;

	if (READ(sock, sk_protocol) != IPPROTO_TCP)
		return CLEW_PACKET_WAITED;
	if (BPF_CORE_READ_BITFIELD_PROBED(tcp, chrono_type) == TCP_CHRONO_RWND_LIMITED)
		return CLEW_PACKET_WINDOW;
	if (late)
		return CLEW_PACKET_DELAYED;
	rule = BPF_CORE_READ_BITFIELD_PROBED(tcp, nonagle);
	if (!(rule & (TCP_NAGLE_OFF | TCP_NAGLE_CORK)) && packet->len < READ(tcp, mss_cache) &&
	    !READ(tcp, packets_out) && READ(tcp, snd_sml) == READ(tcp, snd_una))
		return CLEW_PACKET_NAGLE;
	return CLEW_PACKET_WAITED;
}

#endif

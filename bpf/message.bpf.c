/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at what threads send and receive. The
 * tracepoints come at the end of the call, in the thread that made it. They see
 * bytes that splice and sendfile send, but none that splice takes.
 */
#include "message.h"
#include "context.h"
#include "kernel.h"
#include "outside.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/records.h>

SEC("?tp_btf/sock_send_length")
int BPF_PROG(clew_sock_send_length, struct sock *sock, int result)
{
	if (enabled && result > 0 && sock && !plainly_within(sock))
		message_sent(number_of(sock), result);
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(clew_sock_recv_length, struct sock *sock, int result, int flags)
{
	if (!enabled || result <= 0 || !sock || flags & MSG_ERRQUEUE || plainly_within(sock))
		return 0;
	if (flags & MSG_PEEK)
		message_looked_at(number_of(sock));
	else
		message_received(number_of(sock), result);
	return 0;
}

/* A segment comes to an established socket: from another host, or from this one. */
SEC("?tp_btf/tcp_probe")
int BPF_PROG(clew_tcp_probe, struct sock *sock)
{
	struct clew_cpu_state *cpu_state;

	if (!enabled || !sock || plainly_within(sock))
		return 0;
	cpu_state = this_cpu_state(bpf_get_smp_processor_id());
	if (cpu_state && cpu_state->packet_outside && level_of(cpu_state) == LEVEL_SOFT)
		mark_outside(number_of(sock));
	return 0;
}

/* Bytes of a TCP socket are taken, which is locked. Behind this, TCP notes the time of that in the
 * place of the time when they came. */
SEC("?tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(clew_tcp_rcv_space_adjust, struct sock *sock)
{
	if (enabled && sock && !plainly_within(sock))
		message_taken(number_of(sock));
	return 0;
}

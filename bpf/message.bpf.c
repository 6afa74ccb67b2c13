/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at what threads send and receive, loaded only if it is asked for. The
 * tracepoints come at the end of the call, in the thread that made it. They see
 * bytes that splice and sendfile send, but none that splice takes.
 */
#include "message.h"
#include "kernel.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/records.h>

SEC("?tp_btf/sock_send_length")
int BPF_PROG(clew_sock_send_length, struct sock *sock, int result)
{
	if (enabled && result > 0 && sock)
		message_sent(number_of(sock), result);
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(clew_sock_recv_length, struct sock *sock, int result, int flags)
{
	if (enabled && result > 0 && sock && !(flags & (MSG_PEEK | MSG_ERRQUEUE)))
		message_received(number_of(sock), result);
	return 0;
}

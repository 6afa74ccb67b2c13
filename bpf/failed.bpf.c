/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at attempts to connect by TCP that fail, or that nothing answers: a
 * reset comes, or the first packet goes again. A listener whose accept queue is
 * full drops that packet without a word; so the queue is looked at.
 */
#include "failed.h"
#include "identity.h"
#include "kernel.h"
#include "listener.h"
#include "net.h"
#include "outside.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

static __always_inline __u64 inode_of(struct sock *sock)
{
	struct socket *socket = (struct socket *)READ_NUMBER(sock, sk_socket);

	return socket ? socket_inode(socket) : 0;
}

/* The task that connects: it was the last one that sent there. */
static __always_inline __u32 connects(struct sock *sock)
{
	__u64 time, who;

	return sender_get((__u64)sock, socket_number(sock), &time, &who) ? sender_task(who) : 0;
}

/* Global, see identity.h. */
__noinline int failed_connect(__u64 sock_address, bool answered)
{
	struct sock *sock = (struct sock *)sock_address, *listener;
	struct clew_failed tried = {.call = CLEW_NO_CALL};
	__u32 queued;

	tried.task = connects(sock);
	tried.object = inode_of(sock);
	if (!tried.task || !tried.object)
		return 0;
	/* Where it connects to: no wait may ever name this socket. */
	send_socket(READ_NUMBER(sock, sk_socket), tried.object, bpf_get_smp_processor_id(),
		    clock_ns());
	/* A listener of this host with that address is another one. */
	listener =
		answered || leads_outside(sock) ? NULL : (struct sock *)find_listener(sock_address);
	if (listener) {
		queued = READ(listener, sk_ack_backlog);
		tried.listener = inode_of(listener);
		if (queued > READ(listener, sk_max_ack_backlog))
			tried.queued = queued;
	}
	failed_emit(answered ? CLEW_FAILED_CONNECT : CLEW_FAILED_ANSWER, &tried);
	return 0;
}

SEC("?tp_btf/tcp_retransmit_skb")
int BPF_PROG(clew_tcp_retransmit_skb, struct sock *sock)
{
	if (enabled && sock && sock->__sk_common.skc_state == TCP_SYN_SENT)
		failed_connect(number_of(sock), false);
	return 0;
}

SEC("?tp_btf/tcp_receive_reset")
int BPF_PROG(clew_tcp_receive_reset, struct sock *sock)
{
	if (enabled && sock && sock->__sk_common.skc_state == TCP_SYN_SENT)
		failed_connect(number_of(sock), true);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program at packets that have been used, of which one began a connection in vain. */
#include "refused.h"
#include "kernel_io.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

SEC("?tp_btf/consume_skb")
int BPF_PROG(clew_consume_skb, struct sk_buff *packet, void *location)
{
	if (begins_connection((__u64)location) && enabled)
		connect_refused();
	return 0;
}

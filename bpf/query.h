/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names that queries for DNS ask for, read as a packet leaves: the message that is recorded at
 * the end of the call refers to the name by its hash. A query that is not all in the packet's first
 * piece of memory, or that has characters which no host's name has, is without one.
 */
#ifndef CLEW_BPF_QUERY_H
#define CLEW_BPF_QUERY_H

#include "identity.h"
#include "kernel.h"
#include "outside.h"
#include "question.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define DNS_PORT   53
#define DNS_HEADER 12
#define DNS_ANSWER 0x80 /* in its third byte */
#define UDP_HEADER 8
#define LABEL_MOST 63

/* One name at a time on a CPU: packets are sent with softirqs off. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct text_bytes);
} clew_query_name SEC(".maps");

struct query_walk {
	__u8 *name;
	__u32 left; /* characters of the label */
	__u32 size;
	bool ended, wrong;
};

/* Labels have their length before them; a point takes its place. Behind the name come zeros. */
static long query_step(__u32 at, struct query_walk *walk)
{
	__u8 *byte;

	if (at >= CLEW_TEXT_SIZE)
		return 1;
	byte = walk->name + at;
	if (walk->ended) {
		*byte = 0;
	} else if (walk->left) {
		walk->left--;
		walk->wrong |= *byte <= ' ' || *byte > '~';
	} else if (!*byte) {
		walk->ended = true;
		walk->size = at;
	} else {
		walk->left = *byte;
		walk->wrong |= *byte > LABEL_MOST;
		*byte = '.';
	}
	return 0;
}

/* Global, see identity.h. `header`: of the network layer. */
__noinline int note_query(__u64 header, __u64 sock_address, __u64 time)
{
	__u8 first = read_number(header), start[DNS_HEADER + 1] = {};
	__u64 dns = header + ((first & 0xf0) == 0x40 ? (first & 0xf) * 4 : 40) + UDP_HEADER;
	struct question_slot *slot;
	struct text_bytes *text;
	struct query_walk walk = {};
	__u32 zero = 0;

	text = bpf_map_lookup_elem(&clew_query_name, &zero);
	slot = marked_slot((struct sock *)sock_address);
	if (!text || !slot || bpf_probe_read_kernel(start, sizeof(start), (void *)dns))
		return 0;
	slot->arrived = 0;
	walk.name = (__u8 *)text;
	walk.left = start[DNS_HEADER];
	if (start[2] & DNS_ANSWER || !walk.left || walk.left > LABEL_MOST ||
	    bpf_probe_read_kernel(text, CLEW_TEXT_SIZE, (void *)(dns + sizeof(start))))
		return 0;
	bpf_loop(CLEW_TEXT_SIZE, query_step, &walk, 0);
	if (walk.ended && !walk.wrong)
		slot->arrived = put_text(text, walk.size, bpf_get_smp_processor_id(), time);
	return 0;
}

/* True if a socket's packets go to a server of names. */
static __always_inline bool asks_for_names(struct sock *sock)
{
	return sock && READ(sock, __sk_common.skc_dport) == bpf_htons(DNS_PORT) &&
	       READ(sock, sk_protocol) == IPPROTO_UDP;
}

#endif

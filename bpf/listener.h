/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The TCP socket that listens where another one connects to, in the same network
 * namespace. It is looked up in the kernel's own table, by the kernel's hash.
 */
#ifndef CLEW_BPF_LISTENER_H
#define CLEW_BPF_LISTENER_H

#include "end.h"
#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/types.h>
#include <stdbool.h>

#define JHASH_INITIAL  0xdeadbeef
#define LISTENERS_MOST 64 /* sockets of one hash that are looked at */

static __always_inline __u32 rotated(__u32 word, unsigned by)
{
	return word << by | word >> (32 - by);
}

/* The end of the kernel's jhash. */
static __always_inline __u32 hash_end(__u32 a, __u32 b, __u32 c)
{
	c = (c ^ b) - rotated(b, 14);
	a = (a ^ c) - rotated(c, 11);
	b = (b ^ a) - rotated(a, 25);
	c = (c ^ b) - rotated(b, 16);
	a = (a ^ c) - rotated(c, 4);
	b = (b ^ a) - rotated(a, 14);
	return (c ^ b) - rotated(b, 24);
}

/* The kernel's jhash_1word(). */
static __always_inline __u32 hash_word(__u32 word, __u32 initial)
{
	initial += JHASH_INITIAL + (1 << 2);
	return hash_end(initial + word, initial, initial);
}

/* The kernel's jhash2() of the four words of an address. */
static __always_inline __u32 hash_address(const __u32 *words, __u32 initial)
{
	__u32 a, b, c;

	initial += JHASH_INITIAL + (4 << 2);
	a = initial + words[0];
	b = initial + words[1];
	c = initial + words[2];
	a = (a - c) ^ rotated(c, 4);
	c += b;
	b = (b - a) ^ rotated(a, 6);
	a += c;
	c = (c - b) ^ rotated(b, 8);
	b += a;
	a = (a - c) ^ rotated(c, 16);
	c += b;
	b = (b - a) ^ rotated(a, 19);
	a += c;
	c = (c - b) ^ rotated(b, 4);
	b += a;
	return hash_end(a + words[3], b, c);
}

struct listener_walk {
	struct connection connection; /* of the socket that connects */
	__u64 net;
	__u64 at;    /* a node of the list */
	__u64 found; /* the address of a sock, 0 none */
	bool several;
};

/* True if a listener takes what is sent to an address. */
static __always_inline bool listens_at(const struct connection *own, const struct in6_addr *address)
{
	const __u64 *local = (const __u64 *)&own->local, *wanted = (const __u64 *)address;
	const __u32 *words = (const __u32 *)&own->local;
	bool any = !local[0] && (!local[1] || (is_mapped(&own->local) && !words[3]));

	return any || (local[0] == wanted[0] && local[1] == wanted[1]);
}

static long listener_step(__u32 turn, struct listener_walk *walk)
{
	struct hlist_nulls_node *node = (void *)walk->at;
	struct connection own = {};
	struct sock *sock;

	if (!walk->at || walk->at & 1)
		return 1;
	sock = (void *)node - bpf_core_field_offset(struct sock, __sk_common.skc_nulls_node);
	walk->at = READ_NUMBER(node, next);
	if (READ(sock, __sk_common.skc_state) != TCP_LISTEN ||
	    (__u32)READ(sock, __sk_common.skc_num) != walk->connection.remote_port ||
	    net_of(sock) != walk->net)
		return 0;
	read_connection(sock, READ(sock, __sk_common.skc_family), &own);
	if (listens_at(&own, &walk->connection.remote)) {
		walk->several |= walk->found && walk->found != (__u64)sock;
		walk->found = (__u64)sock;
	}
	return 0;
}

/* Looks at the listeners whose address and port have a hash. */
static __always_inline void walk_listeners(struct listener_walk *walk, struct inet_hashinfo *table,
					   __u32 hash)
{
	__u32 slot = (hash ^ walk->connection.remote_port) & READ(table, lhash2_mask);

	walk->at = READ_NUMBER(table, lhash2) +
		   (__u64)slot * bpf_core_type_size(struct inet_listen_hashbucket) +
		   bpf_core_field_offset(struct inet_listen_hashbucket, nulls_head);
	walk->at = read_number(walk->at);
	bpf_loop(LISTENERS_MOST, listener_step, walk, 0);
}

/* The address of the only socket that listens where the connection goes to, 0:
 * there is none or more than one, or it is in another namespace. */
__noinline __u64 find_listener(__u64 sock_address)
{
	struct sock *sock = (struct sock *)sock_address;
	struct listener_walk walk = {};
	struct inet_hashinfo *table;
	struct net *net;
	__u32 initial;
	const __u32 *words = (const __u32 *)&walk.connection.remote;

	read_connection(sock, READ(sock, __sk_common.skc_family), &walk.connection);
	walk.net = net_of(sock);
	net = (struct net *)walk.net;
	table = (struct inet_hashinfo *)READ_NUMBER(net, ipv4.tcp_death_row.hashinfo);
	if (!table)
		return 0;
	initial = READ(net, hash_mix);
	/* Not a loop: 6.1 refuses one whose end falls through to its first instruction. */
	walk_listeners(&walk, table,
		       is_mapped(&walk.connection.remote) ? hash_word(words[3], initial)
							  : hash_address(words, initial));
	walk_listeners(&walk, table, hash_word(0, initial));
	return walk.several ? 0 : walk.found;
}

#endif

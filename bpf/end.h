/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two ends of what tasks wait for: which number the other end of an open
 * file has, and which one the file itself is.
 *
 * Invariant: other_end() of one end is own_end() of the other. The numbers are
 * addresses in the kernel or hashes of them: they say nothing but which is
 * which, and only within one pass.
 */
#ifndef CLEW_BPF_END_H
#define CLEW_BPF_END_H

#include "kernel.h"
#include "kernel_fs.h"
#include "mix.h"
#include "object.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define FMODE_READ	 0x1
#define FMODE_WRITE	 0x2
#define FUSE_SUPER_MAGIC 0x65735546
#define FUSE_DEVICE	 (10u << 20 | 229)
#define SOCK_STREAM	 1
#define SOCK_SEQPACKET	 5
#define NO_TIMEOUT	 __LONG_MAX__ /* MAX_SCHEDULE_TIMEOUT */

/* The connection of two sockets, as one of them has it. IPv4 is written as in
 * IPv6, as a server may take both. */
struct connection {
	struct in6_addr local, remote;
	__u64 net; /* of the loopback device's addresses, which each namespace has; else 0 */
	__u32 local_port, remote_port;
};

static __always_inline bool is_mapped(const struct in6_addr *address)
{
	const __u32 *words = (const __u32 *)address;

	return !words[0] && !words[1] && words[2] == bpf_htonl(0xffff);
}

static __always_inline bool is_loop_address(const struct in6_addr *address)
{
	const __u32 *words = (const __u32 *)address;

	return is_mapped(address) ? (bpf_ntohl(words[3]) >> 24) == 127
				  : !words[0] && !words[1] && !words[2] && words[3] == bpf_htonl(1);
}

static __always_inline void map_address(struct in6_addr *address, __u32 inet)
{
	__u32 *words = (__u32 *)address;

	words[0] = words[1] = 0;
	words[2] = bpf_htonl(0xffff);
	words[3] = inet;
}

/* The number of a TCP socket that listens at a port of a namespace. */
static __always_inline __u64 port_number(__u64 net, __u32 port)
{
	return mix(mix(1, net), port);
}

static __always_inline __u64 half_number(__u64 hash, const struct in6_addr *address, __u32 port)
{
	const __u64 *words = (const __u64 *)address;

	return mix(mix(mix(hash, words[0]), words[1]), port);
}

static __always_inline __u64 net_of(struct sock *sock)
{
	return READ_NUMBER(sock, __sk_common.skc_net.net);
}

static __always_inline void read_connection(struct sock *sock, __u16 family,
					    struct connection *ret_connection)
{
	ret_connection->local_port = READ(sock, __sk_common.skc_num);
	ret_connection->remote_port = bpf_ntohs(READ(sock, __sk_common.skc_dport));
	if (family == AF_INET6) {
		BPF_CORE_READ_INTO(&ret_connection->local, sock, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&ret_connection->remote, sock, __sk_common.skc_v6_daddr);
	} else {
		map_address(&ret_connection->local, READ(sock, __sk_common.skc_rcv_saddr));
		map_address(&ret_connection->remote, READ(sock, __sk_common.skc_daddr));
	}
	ret_connection->net = is_loop_address(&ret_connection->remote) ? net_of(sock) : 0;
}

/* The number of a connected TCP socket; `peer`: of its peer. */
static __always_inline __u64 connection_number(const struct connection *it, bool peer)
{
	__u64 hash = mix(2, it->net);

	hash = peer ? half_number(hash, &it->remote, it->remote_port)
		    : half_number(hash, &it->local, it->local_port);
	return peer ? half_number(hash, &it->local, it->local_port)
		    : half_number(hash, &it->remote, it->remote_port);
}

static __always_inline struct sock *sock_of(struct file *file)
{
	struct socket *socket = (struct socket *)READ_NUMBER(file, private_data);

	return socket ? (struct sock *)READ_NUMBER(socket, sk) : NULL;
}

/* The connection of an open /dev/fuse, NULL if it has none yet. */
static __always_inline struct fuse_conn *connection_of(struct fuse_dev *device)
{
	struct fuse_dev___chan *by_channel = (void *)device;

	if (bpf_core_field_exists(by_channel->chan))
		return BPF_CORE_READ(by_channel, chan, conn);
	return BPF_CORE_READ(device, fc);
}

/* The device of the file system that a FUSE daemon serves by this file, 0 none
 * yet. The types may be a module's. */
static __always_inline __u32 served_device(struct file *file)
{
	struct fuse_dev *device = (struct fuse_dev *)READ_NUMBER(file, private_data);
	struct fuse_conn *connection;

	if (!device || !bpf_core_type_exists(struct fuse_dev) ||
	    !bpf_core_type_exists(struct fuse_conn))
		return 0;
	connection = connection_of(device);
	return BPF_CORE_READ(connection, dev);
}

/* Anonymous inodes have no type before 6.15 or so, and are regular files since. */
static __always_inline bool is_anonymous(struct inode *inode, __u16 mode)
{
	return !(mode & S_IFMT) ||
	       ((mode & S_IFMT) == S_IFREG && READ(inode, i_sb, s_magic) == ANON_INODE_MAGIC);
}

/* True for a socket that takes data from its peer alone. */
static __always_inline bool is_stream(struct file *file)
{
	short type = READ((struct socket *)READ_NUMBER(file, private_data), type);

	return type == SOCK_STREAM || type == SOCK_SEQPACKET;
}

/* True if calls that move data at an open file have no timeout. */
static __always_inline bool moves_endlessly(struct file *file)
{
	struct inode *inode = READ(file, f_inode);
	__u16 mode = inode ? READ(inode, i_mode) : 0;
	struct sock *sock;

	if ((mode & S_IFMT) != S_IFSOCK)
		return (mode & S_IFMT) == S_IFIFO;
	sock = sock_of(file);
	return sock && bpf_core_field_exists(sock->sk_rcvtimeo) &&
	       bpf_core_field_exists(sock->sk_sndtimeo) && READ(sock, sk_rcvtimeo) == NO_TIMEOUT &&
	       READ(sock, sk_sndtimeo) == NO_TIMEOUT;
}

/*
 * The other end of a socket. Until it is accepted, a peer is at its listener:
 * a Unix socket of the same address, or the TCP socket at its port.
 */
static __always_inline void other_socket(struct file *file, struct clew_end *end)
{
	struct sock *sock = sock_of(file), *peer;
	struct connection connection = {};
	__u16 family;

	if (!sock)
		return;
	family = READ(sock, __sk_common.skc_family);
	if (family == AF_UNIX) {
		peer = (struct sock *)READ_NUMBER((struct unix_sock *)sock, peer);
		if (!peer)
			return;
		end->end = (__u64)peer;
		if (!READ_NUMBER(peer, sk_socket))
			end->listener = READ_NUMBER((struct unix_sock *)peer, addr);
		else if (is_stream(file))
			end->header.flags |= CLEW_END_PAIRED;
	} else if (family == AF_INET || family == AF_INET6) {
		if (READ(sock, __sk_common.skc_state) == TCP_LISTEN)
			return;
		read_connection(sock, family, &connection);
		if (!connection.remote_port)
			return;
		end->end = connection_number(&connection, true);
		end->listener = port_number(net_of(sock), connection.remote_port);
	}
}

/*
 * Describes the other end of an open file on which a task sleeps. `writes`: the
 * task is in a call that writes. Nothing is set if there is no other end.
 */
__noinline int other_end(__u64 file_address, struct clew_end *end, bool writes)
{
	struct file *file = (struct file *)file_address;
	struct inode *inode;
	__u32 mode;
	__u16 type;

	if (!end)
		return 0;
	inode = READ(file, f_inode);
	if (!inode)
		return 0;
	type = READ(inode, i_mode);
	end->object = READ(inode, i_ino);
	if ((type & S_IFMT) == S_IFIFO) {
		mode = READ(file, f_mode) & (FMODE_READ | FMODE_WRITE);
		end->object_kind = CLEW_OBJECT_PIPE;
		end->end = READ_NUMBER(file, private_data);
		/* Only a FIFO can be open for both. */
		if (mode == (FMODE_READ | FMODE_WRITE))
			mode = writes ? FMODE_WRITE : FMODE_READ;
		end->header.flags |= mode == FMODE_WRITE ? CLEW_END_READS : CLEW_END_WRITES;
	} else if ((type & S_IFMT) == S_IFSOCK) {
		end->object_kind = CLEW_OBJECT_SOCKET;
		other_socket(file, end);
	} else if (READ(inode, i_sb, s_magic) == FUSE_SUPER_MAGIC) {
		end->object_kind = CLEW_OBJECT_FILE;
		end->device = READ(inode, i_sb, s_dev);
		end->end = end->device;
	} else if (is_anonymous(inode, type) &&
		   anonymous_kind(file, &end->object) == CLEW_OBJECT_EVENTFD) {
		end->object_kind = CLEW_OBJECT_EVENTFD;
		end->end = READ_NUMBER(file, private_data);
	}
	return 0;
}

/* The end that a socket is. */
static __always_inline void own_socket(struct file *file, struct clew_end_key *key)
{
	struct sock *sock = sock_of(file);
	struct connection connection = {};
	bool listens;
	__u16 family;

	if (!sock)
		return;
	family = READ(sock, __sk_common.skc_family);
	listens = READ(sock, __sk_common.skc_state) == TCP_LISTEN;
	key->object_kind = CLEW_OBJECT_SOCKET;
	key->flags = listens ? CLEW_END_LISTENS : 0;
	if (family == AF_UNIX) {
		key->end = listens ? READ_NUMBER((struct unix_sock *)sock, addr) : (__u64)sock;
	} else if (family == AF_INET || family == AF_INET6) {
		read_connection(sock, family, &connection);
		if (listens)
			key->end = port_number(net_of(sock), connection.local_port);
		else if (connection.remote_port)
			key->end = connection_number(&connection, false);
	}
}

/*
 * The end that an open file is; key->end stays 0 if it is none. For a pipe that
 * is open for both, the flags have both.
 */
__noinline int own_end(__u64 file_address, struct clew_end_key *key)
{
	struct file *file = (struct file *)file_address;
	struct inode *inode;
	__u32 mode;
	__u16 type;

	if (!key)
		return 0;
	inode = READ(file, f_inode);
	if (!inode)
		return 0;
	type = READ(inode, i_mode);
	switch (type & S_IFMT) {
	case S_IFIFO:
		mode = READ(file, f_mode);
		key->object_kind = CLEW_OBJECT_PIPE;
		key->end = READ_NUMBER(file, private_data);
		key->flags = (mode & FMODE_READ ? CLEW_END_READS : 0) |
			     (mode & FMODE_WRITE ? CLEW_END_WRITES : 0);
		return 0;
	case S_IFSOCK:
		own_socket(file, key);
		return 0;
	case S_IFCHR:
		if (READ(inode, i_rdev) != FUSE_DEVICE)
			return 0;
		key->object_kind = CLEW_OBJECT_FILE;
		key->device = served_device(file);
		key->end = key->device;
		return 0;
	}
	if (is_anonymous(inode, type)) {
		/* Any other file's data is at another address. */
		key->object_kind = CLEW_OBJECT_EVENTFD;
		key->end = READ_NUMBER(file, private_data);
	}
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of things: paths of inodes and cgroups, addresses of sockets, texts.
 * Each is sent when first met, and again when its record was lost, its name has
 * changed, or the recording goes on in another file.
 *
 * Paths are walked from the last component to the first, without locks: a
 * concurrent rename can give a path that never existed, but no fault.
 */
#ifndef CLEW_BPF_IDENTITY_H
#define CLEW_BPF_IDENTITY_H

#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* The names that were sent: a direct-mapped cache. After a collision a name is
 * sent again. */
#define SENT_SLOTS 16384
struct sent {
	__u64 key;
	__u64 version;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS);
	__type(key, __u32);
	__type(value, struct sent);
} clew_sent SEC(".maps");

/* The slot for `key` if that version of it has to be sent with a record of that
 * time, else NULL. The caller sends it and marks the slot. */
static __always_inline struct sent *sent_slot(__u64 key, __u64 version, __u64 time)
{
	__u32 index = (__u32)((key * 0x9e3779b97f4a7c15ULL) >> 40) & (SENT_SLOTS - 1);
	struct sent *slot = bpf_map_lookup_elem(&clew_sent, &index);

	if (!slot || (slot->key == key && slot->version == (version ^ file_at(time))))
		return NULL;
	return slot;
}

static __always_inline void sent_mark(struct sent *slot, __u64 key, __u64 version, __u64 time)
{
	slot->key = key;
	slot->version = version ^ file_at(time);
}

#define PATH_COMPONENTS	    128
#define PATH_COMPONENT_SIZE 256 /* NAME_MAX and its end */
#define PATH_MARK	    4	/* what user space puts before a path that was cut */
#define PATH_WATCHED	    16
#define GENERATION_MASK	    0xffffff /* generations are random: more bits would only take space */

/* A path may be CLEW_PATH_SIZE long. Its first component is read before it is
 * known whether it still fits. */
struct path_record {
	struct clew_file_record file;
	char path[CLEW_PATH_SIZE + PATH_COMPONENT_SIZE];
};

struct cgroup_path_record {
	struct clew_cgroup_record cgroup;
	char path[CLEW_PATH_SIZE + PATH_COMPONENT_SIZE];
};

struct text_record {
	struct clew_text_record text;
	char bytes[CLEW_TEXT_SIZE];
};

/* Some functions below are global, so that the verifier checks each one once,
 * on its own. Their arguments are addresses as numbers for the same reason.
 * Before 6.8 it does so even if no caller reaches them: a type of a module is
 * asked for inside, not at the caller. */

/* The size of a walk that begins. The verifier must not know it, or it tries each next one. */
#define PATH_EMPTY (always_zero & (CLEW_PATH_SIZE - 1))

/* A walk from an entry to the root. Each step is a callback of bpf_loop(),
 * which the verifier checks once. */
struct path_walk {
	__u64 at;    /* dentry or kernfs node */
	__u64 mount; /* 0 none */
	char *path;  /* as in struct path_record */
	__u32 size;
	__u32 ended; /* at the root; else the path lacks its first components */
};

/* Appends a component. False: it does not fit. */
static __always_inline bool path_append(struct path_walk *walk, const void *name)
{
	__u32 size = walk->size & (CLEW_PATH_SIZE - 1);
	long got = bpf_probe_read_kernel_str(walk->path + size, PATH_COMPONENT_SIZE, name);

	if (got > 0 && size + (__u32)got > CLEW_PATH_SIZE - PATH_MARK)
		return false;
	if (got > 0)
		walk->size = (size + (__u32)got) & (CLEW_PATH_SIZE - 1);
	return true;
}

/* One variable serves all reads, as little is left of the stack. */
static long path_step(__u32 turn, struct path_walk *walk)
{
	struct dentry *dentry = (void *)walk->at;
	struct mount *mount = (void *)walk->mount;
	__u64 parent, read = 0;

	bpf_core_read(&parent, sizeof(parent), &dentry->d_parent);
	if (mount)
		bpf_core_read(&read, sizeof(read), &mount->mnt.mnt_root);
	if ((__u64)dentry != parent && (__u64)dentry != read) {
		bpf_core_read(&read, sizeof(read), &dentry->d_name.name);
		if (!path_append(walk, (void *)read))
			return 1;
		walk->at = parent;
		return 0;
	}
	read = 0;
	if (mount)
		bpf_core_read(&read, sizeof(read), &mount->mnt_parent);
	if (!read || read == walk->mount) {
		walk->ended = 1;
		return 1;
	}
	bpf_core_read(&walk->at, sizeof(walk->at), &mount->mnt_mountpoint);
	walk->mount = read;
	return 0;
}

#define MOUNTS_MOST 32

struct mount_walk {
	__u64 at; /* mount, or link in the list of mounts */
	__u64 end;
	__u64 root;
	__u64 found;
};

static long mount_step(__u32 turn, struct mount_walk *walk)
{
	struct mount *mount = (void *)walk->at;
	struct list_head *link = (void *)walk->at;

	if (!walk->at || walk->at == walk->end)
		return 1;
	if (bpf_core_field_exists(((struct super_block___chain *)0)->s_mounts)) {
		/* The newest mount comes first. */
		if (READ_NUMBER(mount, mnt.mnt_root) == walk->root)
			walk->found = (__u64)mount;
		walk->at = READ_NUMBER((struct mount___chain *)mount, mnt_next_for_sb);
		return 0;
	}
	mount = (void *)link - bpf_core_field_offset(struct mount___list, mnt_instance);
	walk->at = READ_NUMBER(link, next);
	if (READ_NUMBER(mount, mnt.mnt_root) != walk->root)
		return 0;
	walk->found = (__u64)mount;
	return 1;
}

/* The first mount of a whole file system, NULL if it is not found. */
static __always_inline struct mount *first_mount(struct super_block *file_system)
{
	struct super_block___chain *chain = (void *)file_system;
	struct super_block___list *list = (void *)file_system;
	struct mount_walk walk = {.root = READ_NUMBER(file_system, s_root)};

	if (bpf_core_field_exists(chain->s_mounts)) {
		walk.at = READ_NUMBER(chain, s_mounts);
	} else if (bpf_core_field_exists(list->s_mounts)) {
		walk.at = READ_NUMBER(list, s_mounts.next);
		walk.end = (__u64)list + bpf_core_field_offset(struct super_block___list, s_mounts);
	}
	bpf_loop(MOUNTS_MOST, mount_step, &walk, 0);
	return (struct mount *)walk.found;
}

struct name_walk {
	__u64 at; /* dentry */
	__u64 mixed;
};

/* Hashes a name and its directory. A dentry keeps its address when it is
 * renamed. */
static long name_step(__u32 turn, struct name_walk *walk)
{
	struct dentry *dentry = (void *)walk->at;
	__u64 parent = READ_NUMBER(dentry, d_parent);

	walk->mixed =
		(walk->mixed ^ parent ^ READ(dentry, d_name.hash_len)) * 0x9e3779b97f4a7c15ULL;
	if (parent == walk->at)
		return 1;
	walk->at = parent;
	return 0;
}

/* A number that changes with the path, except for mounts. */
static __always_inline __u64 names_hash(struct dentry *dentry)
{
	struct name_walk walk = {.at = (__u64)dentry};

	bpf_loop(PATH_WATCHED, name_step, &walk, 0);
	return walk.mixed;
}

/*
 * Sends the path of an inode once. Sends it again when the inode was deleted,
 * when its name or that of one of PATH_WATCHED directories above has changed,
 * and for another inode at the same address. `first`: as seen from the first
 * mount of the file system, instead of `mount`.
 */
static __always_inline void send_path(struct inode *inode, struct dentry *dentry,
				      struct mount *mount, bool first, __u32 cpu, __u64 time,
				      __u32 mount_namespace)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct path_record *record;
	struct path_walk walk;
	struct sent *slot;
	__u64 version;
	__u32 links, generation;
	__u16 type;

	if (!cpu_state)
		return;
	links = READ(inode, i_nlink);
	version = (READ(inode, i_ino) << 1 | (links == 0)) ^
		  (__u64)READ(inode, i_generation) << 32 ^ names_hash(dentry);
	/* The path by the first mount and the path by the mount of the task
	 * that opened the file are two entries of the cache. */
	slot = sent_slot((__u64)inode + first, version, time);
	if (!slot)
		return;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_FILE, time, sizeof(*record));
	if (!record)
		return;
	if (first)
		mount = first_mount(READ(inode, i_sb));

	record->file.inode = READ(inode, i_ino);
	record->file.device = READ(inode, i_sb, s_dev);
	generation = READ(inode, i_generation);
	record->file.generation =
		generation && !(generation & GENERATION_MASK) ? 1 : generation & GENERATION_MASK;
	record->file.mount_namespace = mount_namespace;
	record->file.reserved = 0;
	record->file.header.flags = links == 0 ? CLEW_FILE_DELETED : 0;
	type = READ(inode, i_mode) & S_IFMT;
	if (type == S_IFDIR)
		record->file.header.flags |= CLEW_FILE_DIRECTORY;
	if (type == S_IFCHR) {
		record->file.inode |= CLEW_CHARACTER_INODE;
		record->file.device = READ(inode, i_rdev);
	}

	walk = (struct path_walk){.at = (__u64)dentry,
				  .mount = (__u64)mount,
				  .path = record->path,
				  .size = PATH_EMPTY};
	bpf_loop(PATH_COMPONENTS, path_step, &walk, 0);
	if (!walk.ended)
		record->file.header.flags |= CLEW_FILE_TRUNCATED;
	record->file.path_size = walk.size;
	record_submit(record);
	sent_mark(slot, (__u64)inode + first, version, time);
}

__noinline int send_file(__u64 file_address, __u32 cpu, __u64 time, __u32 mount_namespace)
{
	struct file *file = (struct file *)file_address;
	struct vfsmount *vfsmount = (void *)READ_NUMBER(file, f_path.mnt);

	send_path((void *)READ_NUMBER(file, f_inode), (void *)READ_NUMBER(file, f_path.dentry),
		  (void *)vfsmount - bpf_core_field_offset(struct mount, mnt), false, cpu, time,
		  mount_namespace);
	return 0;
}

/* Sends a path for an inode that no task here has opened: one of its names, as
 * seen from the first mount of its file system. */
__noinline int send_inode(__u64 inode_address, __u32 cpu, __u64 time)
{
	struct inode *inode = (struct inode *)inode_address;
	void *name = (void *)READ_NUMBER(inode, i_dentry.first);
	struct dentry___alias *direct = NULL;

	/* A block device's inode has no name. */
	if (!name)
		return 0;
	name -= bpf_core_field_exists(direct->d_alias)
			? bpf_core_field_offset(struct dentry___alias, d_alias)
			: bpf_core_field_offset(struct dentry, d_u.d_alias);
	send_path(inode, name, NULL, true, cpu, time, 0);
	return 0;
}

static __always_inline __u32 mount_namespace_of(struct task_struct *task)
{
	return READ(task, nsproxy, mnt_ns, ns.inum);
}

static __always_inline struct kernfs_node *kernfs_parent(struct kernfs_node *node)
{
	struct kernfs_node___renamed *renamed = (void *)node;

	if (bpf_core_field_exists(renamed->__parent))
		return (void *)READ_NUMBER(renamed, __parent);
	return (void *)READ_NUMBER(node, parent);
}

static long cgroup_step(__u32 turn, struct path_walk *walk)
{
	struct kernfs_node *node = (void *)walk->at, *parent = kernfs_parent(node);

	if (!parent) {
		walk->ended = 1;
		return 1;
	}
	if (!path_append(walk, READ(node, name)))
		return 1;
	walk->at = (__u64)parent;
	return 0;
}

/* The state of a controller, by its number in the running kernel, for a task's
 * cgroup; NULL if there is none. */
static __always_inline struct cgroup_subsys_state *controller_state(struct task_struct *task,
								    __u32 controller)
{
	struct css_set *set = READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;

	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
				      controller * sizeof(state));
	return state;
}

/* The cgroup a task is in for a controller. */
static __always_inline struct cgroup *controller_cgroup(struct task_struct *task, __u32 controller)
{
	struct cgroup_subsys_state *state = controller_state(task, controller);

	return state ? (void *)READ_NUMBER(state, cgroup) : NULL;
}

/* The cgroup that is recorded for a task: that of the unified hierarchy, or
 * that of the CPU controller if the former is the root. */
static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	struct cgroup *cgroup = (void *)READ_NUMBER(READ(task, cgroups), dfl_cgrp), *other;

	if (READ(cgroup, level) > 0 ||
	    !bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return cgroup;
	other = controller_cgroup(task, bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id));
	return other ? other : cgroup;
}

/* Hierarchies of version 1 number their groups each for itself. */
#define HIERARCHY_SHIFT 48

/* A number that no two cgroups of the machine have at once; in version 2 it is the kernel's. */
static __always_inline __u64 cgroup_id(struct cgroup *cgroup)
{
	return READ(cgroup, kn, id) | (__u64)READ(cgroup, root, hierarchy_id) << HIERARCHY_SHIFT;
}

/* Sends a cgroup's path. Returns the cgroup's id. */
__noinline __u64 send_cgroup(__u64 cgroup_address, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct cgroup *cgroup = (struct cgroup *)cgroup_address;
	struct cgroup_path_record *record;
	struct path_walk walk = {.size = PATH_EMPTY};
	struct kernfs_node *node;
	struct sent *slot;
	__u64 id;

	if (!cpu_state)
		return 0;
	node = (void *)READ_NUMBER(cgroup, kn);
	if (!node)
		return 0;
	id = cgroup_id(cgroup);
	slot = sent_slot((__u64)node, id, time);
	if (!slot)
		return id;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_CGROUP, time, sizeof(*record));
	if (!record)
		return id;
	record->cgroup.id = id;
	record->cgroup.hierarchy = READ(cgroup, root, hierarchy_id);
	record->cgroup.reserved = 0;
	walk.at = (__u64)node;
	walk.path = record->path;
	bpf_loop(PATH_COMPONENTS, cgroup_step, &walk, 0);
	record->cgroup.header.flags = walk.ended ? 0 : CLEW_CGROUP_TRUNCATED;
	record->cgroup.path_size = walk.size;
	record_submit(record);
	sent_mark(slot, (__u64)node, id, time);
	return id;
}

struct text_bytes {
	__u64 words[CLEW_TEXT_SIZE / 8];
};

/*
 * One text at a time on a CPU: only sched_switch uses it, with interrupts off.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct text_bytes);
} clew_text SEC(".maps");

/* Sends a text of `size` bytes, with zeros behind it, unless it was sent before. Returns the hash
 * that refers to it. */
__noinline __u64 put_text(const struct text_bytes *text, __u32 size, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	__u64 hash = 14695981039346656037ULL;
	struct text_record *record;
	struct sent *slot;
	int i;

	if (!text || !cpu_state)
		return 0;
	for (i = 0; i < CLEW_TEXT_SIZE / 8; i++)
		hash = (hash ^ text->words[i]) * 1099511628211ULL;
	slot = sent_slot(hash, 1, time);
	if (!slot)
		return hash;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_TEXT, time, sizeof(*record));
	if (!record)
		return hash;
	__builtin_memcpy(record->bytes, text, CLEW_TEXT_SIZE);
	record->text.hash = hash;
	record->text.text_size = size;
	record->text.reserved = 0;
	record->text.reserved2 = 0;
	record_submit(record);
	sent_mark(slot, hash, 1, time);
	return hash;
}

/* Sends the string at a user address. Returns the hash that refers to it, 0 if
 * it cannot be read. */
__noinline __u64 send_text(__u64 address, __u32 cpu, __u64 time)
{
	struct text_bytes *text;
	__u32 zero = 0;
	long got;

	text = bpf_map_lookup_elem(&clew_text, &zero);
	if (!text)
		return 0;
	__builtin_memset(text, 0, CLEW_TEXT_SIZE);
	got = bpf_probe_read_user_str(text, CLEW_TEXT_SIZE, (void *)address);
	return got > 1 ? put_text(text, got - 1, cpu, time) : 0;
}

static __always_inline __u64 socket_inode(struct socket *socket)
{
	struct file *file = socket ? READ(socket, file) : NULL;

	return file ? READ(file, f_inode, i_ino) : 0;
}

/* A Unix socket's peer, NULL if it has none. */
static __always_inline struct socket *unix_peer(struct sock *sock)
{
	struct sock *peer = (void *)READ_NUMBER((struct unix_sock *)sock, peer);

	return peer ? (struct socket *)READ_NUMBER(peer, sk_socket) : NULL;
}

static __always_inline void read_unix_path(char *path, struct sock *sock)
{
	struct unix_address *address = READ((struct unix_sock *)sock, addr);
	__u32 length;

	if (!address)
		return;
	length = (__u32)READ(address, len) - (__u32)sizeof(unsigned short);
	/* An abstract name begins with NUL and is not terminated; unread bytes
	 * stay 0. */
	if (length == 0)
		return;
	/* A path that fills sun_path has its NUL after it. */
	if (length > CLEW_UNIX_PATH_SIZE)
		length = CLEW_UNIX_PATH_SIZE;
	bpf_probe_read_kernel(path, length,
			      (void *)address + bpf_core_field_offset(struct unix_address, name) +
				      sizeof(unsigned short));
	if (!path[0])
		path[0] = '@';
}

/*
 * The side that a TCP socket is on. One that was accepted has the room for connections that its
 * listener had; one that connects has none.
 */
static __always_inline __u8 side_of(struct sock *sock, __u16 family)
{
	if ((family != AF_INET && family != AF_INET6) || READ(sock, sk_protocol) != IPPROTO_TCP ||
	    !READ(sock, __sk_common.skc_dport))
		return 0;
	return READ(sock, sk_max_ack_backlog) ? CLEW_SOCKET_ACCEPTED : CLEW_SOCKET_CONNECTED;
}

/* The sequence numbers of the first bytes of a TCP connection, which stay the same. */
static __always_inline void first_bytes(struct sock *sock, __u8 side, __u32 *ret_sent,
					__u32 *ret_received)
{
	struct tcp_sock *tcp = (void *)sock;

	if (!side || READ(sock, __sk_common.skc_state) == TCP_SYN_SENT)
		return;
	*ret_received = READ(tcp, rcv_nxt) - (__u32)READ(tcp, bytes_received);
	/* The one that connects counts its first packet, which carries no byte. */
	*ret_sent = READ(tcp, snd_una) - (__u32)READ(tcp, bytes_acked) +
		    (side == CLEW_SOCKET_CONNECTED);
}

/* The entry of clew_sent for a socket's names if they have to be sent, else NULL. */
static __always_inline struct sent *socket_slot(struct sock *sock, __u16 family, __u64 inode_number,
						__u64 time, __u64 *ret_version)
{
	__u64 version = inode_number ^ ((__u64)READ(sock, __sk_common.skc_num) << 48);

	if (family == AF_UNIX)
		version ^= READ_NUMBER((struct unix_sock *)sock, peer);
	if (family == AF_INET || family == AF_INET6)
		version ^= ((__u64)READ(sock, __sk_common.skc_dport) << 32) ^
			   READ(sock, __sk_common.skc_daddr) ^
			   /* A connection's first bytes are known once it is there. */
			   (READ(sock, __sk_common.skc_state) == TCP_SYN_SENT);
	*ret_version = version;
	return sent_slot((__u64)sock, version, time);
}

__noinline int send_socket(__u64 socket_address, __u64 inode_number, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct socket *socket = (struct socket *)socket_address;
	struct clew_socket_record *record;
	struct sock *sock, *peer = NULL;
	struct sent *slot;
	__u32 sent_first = 0, received_first = 0;
	__u64 version;
	__u16 family;
	__u8 side;

	if (!cpu_state)
		return 0;
	sock = (void *)READ_NUMBER(socket, sk);
	if (!sock)
		return 0;
	family = READ(sock, __sk_common.skc_family);
	if (family == AF_UNIX)
		peer = (void *)READ_NUMBER((struct unix_sock *)sock, peer);
	slot = socket_slot(sock, family, inode_number, time, &version);
	if (!slot)
		return 0;
	side = side_of(sock, family);
	first_bytes(sock, side, &sent_first, &received_first);
	record = record_reserve(cpu_state, cpu, CLEW_KIND_SOCKET, time, sizeof(*record));
	if (!record)
		return 0;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->inode = inode_number;
	record->family = family;
	record->type = READ(socket, type);
	record->header.flags = side;
	record->sent_first = sent_first;
	record->received_first = received_first;
	if (family == AF_INET) {
		record->local_port = READ(sock, __sk_common.skc_num);
		record->peer_port = bpf_ntohs(READ(sock, __sk_common.skc_dport));
		BPF_CORE_READ_INTO((__u32 *)record->local, sock, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)record->remote, sock, __sk_common.skc_daddr);
	} else if (family == AF_INET6) {
		record->local_port = READ(sock, __sk_common.skc_num);
		record->peer_port = bpf_ntohs(READ(sock, __sk_common.skc_dport));
		BPF_CORE_READ_INTO((struct in6_addr *)record->local, sock,
				   __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)record->remote, sock,
				   __sk_common.skc_v6_daddr);
	} else if (family == AF_UNIX) {
		record->peer = socket_inode(unix_peer(sock));
		read_unix_path(record->local_path, sock);
		if (peer)
			read_unix_path(record->peer_path, peer);
	}
	record_submit(record);
	sent_mark(slot, (__u64)sock, version, time);
	return 0;
}

/* send_socket() without the call if the names were sent: they mostly were. `sock`: the socket's. */
static __always_inline void name_socket(__u64 socket_address, struct sock *sock, __u16 family,
					__u64 inode_number, __u32 cpu, __u64 time)
{
	__u64 version;

	if (unlikely(socket_slot(sock, family, inode_number, time, &version)))
		send_socket(socket_address, inode_number, cpu, time);
}

#endif

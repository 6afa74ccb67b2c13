/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What people call a thing: paths of inodes and cgroups, addresses of sockets,
 * texts. Each is sent once, when first met, and again after a loss.
 *
 * Paths are walked from the last component to the first, without locks: a
 * rename in between gives a path that was never true, but no fault.
 */
#ifndef CLEW_IDENTITY_H
#define CLEW_IDENTITY_H

#include "state.h"
#include <bpf/bpf_endian.h>

#define PATH_COMPONENTS	    32
#define PATH_COMPONENT_SIZE 128

struct path_record {
	struct clew_file_record file;
	char path[CLEW_PATH_SIZE];
};

struct cgroup_path_record {
	struct clew_cgroup_record cgroup;
	char path[CLEW_PATH_SIZE];
};

struct text_record {
	struct clew_text_record text;
	char bytes[CLEW_TEXT_SIZE];
};

/*
 * The functions below are global so that the verifier checks each by itself and
 * once; hence they take kernel addresses as numbers.
 */

/*
 * Appends one component; returns the new size, the same when it did not fit. The
 * mask gives every turn of a loop the same range, so that the verifier sees that
 * one turn is like the next.
 */
static __always_inline __u32 path_append(char *path, __u32 size, const void *name)
{
	long got;

	size &= CLEW_PATH_SIZE - 1;
	if (size > CLEW_PATH_SIZE - PATH_COMPONENT_SIZE)
		return size;
	got = bpf_probe_read_kernel_str(path + size, PATH_COMPONENT_SIZE, name);
	got = got < 0 ? 0 : got;
	size = (size + (__u32)got) & (CLEW_PATH_SIZE - 1);
	barrier_var(size);
	return size;
}

#define MOUNTS_MOST 32

/* The first place where all of a file system was mounted, NULL if it is not found. */
static __always_inline struct mount *first_mount(struct super_block *file_system)
{
	struct super_block___chain *chain = (void *)file_system;
	struct super_block___list *list = (void *)file_system;
	struct dentry *root = BPF_CORE_READ(file_system, s_root);
	struct mount *found = NULL;
	int i;

	if (bpf_core_field_exists(chain->s_mounts)) {
		/* The newest comes first. */
		struct mount___chain *mount = (void *)BPF_CORE_READ(chain, s_mounts);

		for (i = 0; i < MOUNTS_MOST && mount; i++) {
			if (BPF_CORE_READ((struct mount *)mount, mnt.mnt_root) == root)
				found = (void *)mount;
			mount = BPF_CORE_READ(mount, mnt_next_for_sb);
		}
	} else if (bpf_core_field_exists(list->s_mounts)) {
		struct list_head *at = BPF_CORE_READ(list, s_mounts.next);

		for (i = 0; i < MOUNTS_MOST && at && !found; i++) {
			struct mount *mount = (void *)at - bpf_core_field_offset(struct mount___list, mnt_instance);

			if (at == (void *)list + bpf_core_field_offset(struct super_block___list, s_mounts))
				break;
			if (BPF_CORE_READ(mount, mnt.mnt_root) == root)
				found = mount;
			at = BPF_CORE_READ(at, next);
		}
	}
	return found;
}

/* Sends the path of an inode once; again when its name, its directory or its being deleted has changed. `mount` NULL: where its file system
 * was mounted first. */
static __always_inline void send_path(struct inode *inode, struct dentry *dentry, struct mount *mount, __u32 cpu, __u64 time,
				      __u32 mount_namespace)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct dentry *parent, *root;
	struct path_record *record;
	struct mount *above;
	struct sent *slot;
	__u32 links, size = 0;
	__u64 version;
	int i;

	if (!cpu_state)
		return;
	links = BPF_CORE_READ(inode, i_nlink);
	version = (BPF_CORE_READ(inode, i_ino) << 1 | (links == 0)) ^ BPF_CORE_READ(dentry, d_name.hash_len) ^
		  (__u64)BPF_CORE_READ(dentry, d_parent);
	slot = sent_slot((__u64)inode, version);
	if (!slot)
		return;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_FILE, time, sizeof(*record));
	if (!record)
		return;
	if (!mount)
		mount = first_mount(BPF_CORE_READ(inode, i_sb));

	record->file.inode = BPF_CORE_READ(inode, i_ino);
	record->file.device = BPF_CORE_READ(inode, i_sb, s_dev);
	record->file.generation = BPF_CORE_READ(inode, i_generation);
	record->file.mount_namespace = mount_namespace;
	record->file.reserved = 0;
	record->file.header.flags = links == 0 ? CLEW_FILE_DELETED : 0;
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFDIR)
		record->file.header.flags |= CLEW_FILE_DIRECTORY;

	for (i = 0; i < PATH_COMPONENTS; i++) {
		root = mount ? BPF_CORE_READ(mount, mnt.mnt_root) : NULL;
		parent = BPF_CORE_READ(dentry, d_parent);
		if (dentry == root || dentry == parent) {
			above = mount ? BPF_CORE_READ(mount, mnt_parent) : NULL;
			if (!above || above == mount)
				break;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		size = path_append(record->path, size, BPF_CORE_READ(dentry, d_name.name));
		dentry = parent;
	}
	if (i == PATH_COMPONENTS)
		record->file.header.flags |= CLEW_FILE_TRUNCATED;
	record->file.path_size = size;
	record_submit(record);
	sent_mark(slot, (__u64)inode, version);
}

__noinline int send_file(__u64 file_address, __u32 cpu, __u64 time, __u32 mount_namespace)
{
	struct file *file = (struct file *)file_address;
	struct vfsmount *vfsmount = BPF_CORE_READ(file, f_path.mnt);

	send_path(BPF_CORE_READ(file, f_inode), BPF_CORE_READ(file, f_path.dentry),
		  (void *)vfsmount - bpf_core_field_offset(struct mount, mnt), cpu, time, mount_namespace);
	return 0;
}

/* The same of an inode that nobody has opened here: one of its names, as seen where its file system was mounted first. */
__noinline int send_inode(__u64 inode_address, __u32 cpu, __u64 time)
{
	struct inode *inode = (struct inode *)inode_address;
	struct hlist_node *name = BPF_CORE_READ(inode, i_dentry.first);

	/* A block device's inode has no name. */
	if (!name)
		return 0;
	send_path(inode, (void *)name - bpf_core_field_offset(struct dentry, d_u.d_alias), NULL, cpu, time, 0);
	return 0;
}

static __always_inline __u32 mount_namespace_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
}

static __always_inline struct kernfs_node *kernfs_parent(struct kernfs_node *node)
{
	struct kernfs_node___renamed *renamed = (void *)node;

	if (bpf_core_field_exists(renamed->__parent))
		return (void *)BPF_CORE_READ(renamed, __parent);
	return BPF_CORE_READ(node, parent);
}

/* The cgroup a task is in for a controller, by the controller's number in the running kernel. */
static __always_inline struct cgroup *controller_cgroup(struct task_struct *task, __u32 controller)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;

	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) + controller * sizeof(state));
	return state ? BPF_CORE_READ(state, cgroup) : NULL;
}

/*
 * The cgroup a task is told to be in: the unified hierarchy's unless that is the
 * root, else the CPU controller's.
 */
static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp), *other;

	if (BPF_CORE_READ(cgroup, level) > 0 || !bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return cgroup;
	other = controller_cgroup(task, bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id));
	return other ? other : cgroup;
}

static __always_inline struct cgroup *memory_cgroup_of(struct task_struct *task)
{
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	return controller_cgroup(task, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
}

/* Sends a cgroup's path; returns its id. */
__noinline __u64 send_cgroup(__u64 cgroup_address, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct cgroup *cgroup = (struct cgroup *)cgroup_address;
	struct cgroup_path_record *record;
	struct kernfs_node *node, *parent;
	struct sent *slot;
	__u32 size = 0;
	__u64 id;
	int i;

	if (!cpu_state)
		return 0;
	node = BPF_CORE_READ(cgroup, kn);
	if (!node)
		return 0;
	id = BPF_CORE_READ(node, id);
	slot = sent_slot((__u64)node, id);
	if (!slot)
		return id;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_CGROUP, time, sizeof(*record));
	if (!record)
		return id;
	record->cgroup.id = id;
	record->cgroup.hierarchy = BPF_CORE_READ(cgroup, root, hierarchy_id);
	record->cgroup.reserved = 0;
	for (i = 0; i < PATH_COMPONENTS; i++) {
		parent = kernfs_parent(node);
		if (!parent)
			break;
		size = path_append(record->path, size, BPF_CORE_READ(node, name));
		node = parent;
	}
	record->cgroup.path_size = size;
	record_submit(record);
	sent_mark(slot, (__u64)BPF_CORE_READ(cgroup, kn), id);
	return id;
}

/* One text at a time on a CPU: it is only used from sched_switch, with interrupts off. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, char[CLEW_TEXT_SIZE]);
} clew_text SEC(".maps");

/* Sends the path argument at a user address; returns what refers to it, 0 if it cannot be read. */
__noinline __u64 send_text(__u64 address, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	__u64 hash = 14695981039346656037ULL;
	struct text_record *record;
	struct sent *slot;
	__u32 zero = 0;
	char *text;
	long got;
	int i;

	text = bpf_map_lookup_elem(&clew_text, &zero);
	if (!text || !cpu_state)
		return 0;
	__builtin_memset(text, 0, CLEW_TEXT_SIZE);
	got = bpf_probe_read_user_str(text, CLEW_TEXT_SIZE, (void *)address);
	if (got <= 1)
		return 0;
	for (i = 0; i < CLEW_TEXT_SIZE / 8; i++)
		hash = (hash ^ ((__u64 *)text)[i]) * 1099511628211ULL;
	slot = sent_slot(hash, 1);
	if (!slot)
		return hash;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_TEXT, time, sizeof(*record));
	if (!record)
		return hash;
	__builtin_memcpy(record->bytes, text, CLEW_TEXT_SIZE);
	record->text.hash = hash;
	record->text.text_size = got - 1;
	record->text.reserved = 0;
	record->text.reserved2 = 0;
	record_submit(record);
	sent_mark(slot, hash, 1);
	return hash;
}

static __always_inline __u64 socket_inode(struct socket *socket)
{
	struct file *file = socket ? BPF_CORE_READ(socket, file) : NULL;

	return file ? BPF_CORE_READ(file, f_inode, i_ino) : 0;
}

/* The inode number of a Unix socket's peer, 0 if it has none. */
static __always_inline __u64 unix_peer_inode(struct sock *sock)
{
	struct sock *peer = BPF_CORE_READ((struct unix_sock *)sock, peer);

	return peer ? socket_inode(BPF_CORE_READ(peer, sk_socket)) : 0;
}

static __always_inline void read_unix_path(char *path, struct sock *sock)
{
	struct unix_address *address = BPF_CORE_READ((struct unix_sock *)sock, addr);
	__u32 length;

	if (!address)
		return;
	length = (__u32)BPF_CORE_READ(address, len) - (__u32)sizeof(unsigned short);
	/* An abstract name begins with NUL and is not ended by one: what is not read stays 0. */
	if (length == 0 || length > CLEW_UNIX_PATH_SIZE - 1)
		return;
	bpf_probe_read_kernel(path, length, (void *)address + bpf_core_field_offset(struct unix_address, name) + sizeof(unsigned short));
	if (!path[0])
		path[0] = '@';
}

__noinline int send_socket(__u64 socket_address, __u64 inode_number, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct socket *socket = (struct socket *)socket_address;
	struct clew_socket_record *record;
	struct sock *sock, *peer = NULL;
	struct sent *slot;
	__u64 version;
	__u16 family;

	if (!cpu_state)
		return 0;
	sock = BPF_CORE_READ(socket, sk);
	if (!sock)
		return 0;
	family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (family == AF_UNIX)
		peer = BPF_CORE_READ((struct unix_sock *)sock, peer);
	version = (__u64)peer ^ inode_number ^ ((__u64)BPF_CORE_READ(sock, __sk_common.skc_num) << 48);
	if (family == AF_INET || family == AF_INET6)
		version ^= ((__u64)BPF_CORE_READ(sock, __sk_common.skc_dport) << 32) ^ BPF_CORE_READ(sock, __sk_common.skc_daddr);
	slot = sent_slot((__u64)sock, version);
	if (!slot)
		return 0;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_SOCKET, time, sizeof(*record));
	if (!record)
		return 0;
	__builtin_memset((void *)record + sizeof(record->header), 0, sizeof(*record) - sizeof(record->header));
	record->inode = inode_number;
	record->family = family;
	record->type = BPF_CORE_READ(socket, type);
	if (family == AF_INET) {
		record->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
		record->peer_port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
		BPF_CORE_READ_INTO((__u32 *)record->local, sock, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)record->remote, sock, __sk_common.skc_daddr);
	} else if (family == AF_INET6) {
		record->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
		record->peer_port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
		BPF_CORE_READ_INTO((struct in6_addr *)record->local, sock, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)record->remote, sock, __sk_common.skc_v6_daddr);
	} else if (family == AF_UNIX) {
		record->peer = unix_peer_inode(sock);
		read_unix_path(record->local_path, sock);
		if (peer)
			read_unix_path(record->peer_path, peer);
	}
	record_submit(record);
	sent_mark(slot, (__u64)sock, version);
	return 0;
}

#endif

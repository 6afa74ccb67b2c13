/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects behind descriptors: the kind and number of an open file, and a
 * task's cache of the last one.
 *
 * All that is read through a pointer here is a hint until the builder has
 * checked it: other threads may change descriptors meanwhile.
 */
#ifndef CLEW_BPF_OBJECT_H
#define CLEW_BPF_OBJECT_H

#include "identity.h"
#include "kernel.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* The open file behind a descriptor of a task, or NULL. */
static __always_inline struct file *file_of(struct task_struct *task, __s32 descriptor)
{
	struct files_struct *files = READ_TRUSTED(task, files);
	struct fdtable *table;

	if (!files || descriptor < 0)
		return NULL;
	table = files->fdt;
	if (!table || (__u32)descriptor >= table->max_fds)
		return NULL;
	return (struct file *)read_number((__u64)((struct file **)table->fd + descriptor));
}

/* file_of() where it is rarely called: a global function, which is verified
 * once. Returns an address, 0 none. */
__noinline __u64 find_file(__u64 task_address, __s32 descriptor)
{
	struct task_struct *task = (struct task_struct *)task_address;
	struct fdtable *table = READ(task, files, fdt);

	if (!table || descriptor < 0 || (__u32)descriptor >= READ(table, max_fds))
		return 0;
	return read_number((__u64)(READ(table, fd) + descriptor));
}

/* Eight characters as the word that they are in memory. */
#define WORD(a, b, c, d, e, f, g, h)                                                               \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

/* Anonymous inodes share one inode. The first eight bytes of a name give the
 * kind. */
static __always_inline __u8 anonymous_kind(struct file *file, __u64 *ret_object)
{
	const unsigned char *name = READ(file, f_path.dentry, d_name.name);
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), name);
	*ret_object = (__u64)file;
	if (word == WORD('[', 'e', 'v', 'e', 'n', 't', 'f', 'd')) {
		struct eventfd_ctx *context = READ(file, private_data);

		*ret_object = (__u32)READ(context, id);
		return CLEW_OBJECT_EVENTFD;
	}
	if (word == WORD('[', 'e', 'v', 'e', 'n', 't', 'p', 'o'))
		return CLEW_OBJECT_EPOLL;
	if (word == WORD('[', 't', 'i', 'm', 'e', 'r', 'f', 'd'))
		return CLEW_OBJECT_TIMERFD;
	if (word == WORD('[', 's', 'i', 'g', 'n', 'a', 'l', 'f'))
		return CLEW_OBJECT_SIGNALFD;
	if (word == WORD('[', 'i', 'o', '_', 'u', 'r', 'i', 'n')) {
		/* The instance's address, which its submissions and completions
		 * have too. */
		*ret_object = READ_NUMBER(file, private_data);
		return CLEW_OBJECT_IO_URING;
	}
	if (word == WORD('[', 'p', 'i', 'd', 'f', 'd', ']', 0))
		return CLEW_OBJECT_PIDFD;
	if (word == WORD('i', 'n', 'o', 't', 'i', 'f', 'y', 0))
		return CLEW_OBJECT_INOTIFY;
	return CLEW_OBJECT_ANONYMOUS;
}

#define TTY_MAJOR_FIRST	 4
#define TTY_MAJOR_AUX	 5
#define PTY_MAJOR_FIRST	 136
#define PTY_MAJOR_LAST	 143
#define PID_FS_MAGIC	 0x50494446
#define ANON_INODE_MAGIC 0x09041934

struct found {
	__u64 object;
	__u32 device;
	__u8 kind;
};

static __always_inline __u32 mount_namespace_at(__u64 task_address)
{
	return task_address ? mount_namespace_of((struct task_struct *)task_address) : 0;
}

/*
 * The kind and number of an open file. Sends its name, as the task at
 * `task_address` sees it, unless it was sent before; 0: as no task in
 * particular does.
 */
__noinline int describe_file(__u64 file_address, struct found *ret_found, __u32 cpu, __u64 time,
			     __u64 task_address)
{
	struct file *file = (struct file *)file_address;
	struct inode *inode;
	__u16 mode;

	if (!ret_found)
		return 0;
	ret_found->object = 0;
	ret_found->device = 0;
	ret_found->kind = CLEW_OBJECT_NONE;
	inode = READ(file, f_inode);
	if (!inode)
		return 0;
	mode = READ(inode, i_mode);
	ret_found->object = READ(inode, i_ino);
	switch (mode & S_IFMT) {
	case S_IFIFO:
		ret_found->kind = CLEW_OBJECT_PIPE;
		return 0;
	case S_IFSOCK:
		ret_found->kind = CLEW_OBJECT_SOCKET;
		send_socket(READ_NUMBER(file, private_data), ret_found->object, cpu, time);
		return 0;
	case S_IFCHR: {
		__u32 device = READ(inode, i_rdev);
		__u32 major = CLEW_DEVICE_MAJOR(device);

		ret_found->object |= CLEW_CHARACTER_INODE;
		ret_found->device = device;
		ret_found->kind =
			major == TTY_MAJOR_FIRST || major == TTY_MAJOR_AUX ||
					(major >= PTY_MAJOR_FIRST && major <= PTY_MAJOR_LAST)
				? CLEW_OBJECT_TTY
				: CLEW_OBJECT_DEVICE;
		send_file(file_address, cpu, time, mount_namespace_at(task_address));
		return 0;
	}
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK: {
		__u64 magic = READ(inode, i_sb, s_magic);

		if (magic == PID_FS_MAGIC) {
			ret_found->kind = CLEW_OBJECT_PIDFD;
			return 0;
		}
		if (magic == ANON_INODE_MAGIC)
			break;
		ret_found->kind = CLEW_OBJECT_FILE;
		ret_found->device = READ(inode, i_sb, s_dev);
		send_file(file_address, cpu, time, mount_namespace_at(task_address));
		return 0;
	}
	}
	ret_found->kind = anonymous_kind(file, &ret_found->object);
	return 0;
}

/* In clew_task_state.object_kind: a socket of IPv4 or IPv6. */
#define OBJECT_INET 0x80

static __always_inline bool takes_packets(struct file *file)
{
	struct socket *socket = READ(file, private_data);
	__u16 family = READ(socket, sk, __sk_common.skc_family);

	return family == AF_INET || family == AF_INET6;
}

/* True if the inode's number distinguishes objects of this kind. */
static __always_inline bool is_numbered(__u8 kind)
{
	return kind == CLEW_OBJECT_PIPE || (kind & ~OBJECT_INET) == CLEW_OBJECT_SOCKET;
}

/* Directories above a file are assumed to keep their names for 2^23 ns. */
#define NAME_AGE_BITS 23

/* A number that changes with a file that has a name: with its inode, its
 * deletion, its name and directory, and with time for the directories above. */
static __always_inline __u64 named_file_version(struct file *file, __u64 time)
{
	struct inode *inode = READ(file, f_inode);
	struct dentry *dentry = READ(file, f_path.dentry);
	__u64 what = READ_NUMBER(file, f_inode) ^ (time >> NAME_AGE_BITS << 1) ^
		     (READ(inode, i_nlink) == 0);

	what = (what * 0x9e3779b97f4a7c15ULL) ^ READ(inode, i_ino);
	return (what * 0x9e3779b97f4a7c15ULL) ^ READ_NUMBER(dentry, d_parent) ^
	       READ(dentry, d_name.hash_len);
}

/*
 * Distinguishes a file from the next one at its address, which after a close is
 * usually the next file that is opened. Anonymous kinds that
 * describe_descriptor() does not leave out are identified by that address.
 */
static __always_inline __u64 file_version(struct file *file, __u8 kind, __u64 time)
{
	if (kind == CLEW_OBJECT_FILE)
		return named_file_version(file, time);
	return is_numbered(kind) ? READ(file, f_inode, i_ino) : READ_NUMBER(file, f_op);
}

/*
 * file_version() of a file that was not the task's last, as a global function.
 */
__noinline __u64 other_file_version(__u64 file_address, __u8 kind, __u64 time)
{
	return file_version((struct file *)file_address, kind, time);
}

/* describe_file() with the task's cache of its last file: a loop on one
 * descriptor pays once. */
static __always_inline void describe_descriptor(__u32 cpu, __u64 time, struct task_struct *task,
						struct clew_task_state *state, __s32 descriptor,
						struct found *ret_found)
{
	struct file *file = file_of(task, descriptor);

	ret_found->kind = CLEW_OBJECT_NONE;
	if (!file)
		return;
	if (state->file == (__u64)file &&
	    state->what == file_version(file, state->object_kind, time)) {
		ret_found->object = state->object;
		ret_found->device = state->device;
		ret_found->kind = state->object_kind & ~OBJECT_INET;
		return;
	}
	describe_file((__u64)file, ret_found, cpu, time, number_of(task));
	switch (ret_found->kind) {
	case CLEW_OBJECT_TTY: /* can be renamed, and is rarely waited for */
	case CLEW_OBJECT_DEVICE:
	case CLEW_OBJECT_EVENTFD: /* only private_data distinguishes these */
	case CLEW_OBJECT_IO_URING:
	case CLEW_OBJECT_PIDFD:
		state->file = 0;
		return;
	}
	state->file = (__u64)file;
	state->what = is_numbered(ret_found->kind)
			      ? ret_found->object
			      : other_file_version((__u64)file, ret_found->kind, time);
	state->object = ret_found->object;
	state->device = ret_found->device;
	state->object_kind = ret_found->kind;
	if (ret_found->kind == CLEW_OBJECT_SOCKET && takes_packets(file))
		state->object_kind |= OBJECT_INET;
}

/* The newest entry of an epoll instance's ready list, which the last wakeup
 * added. `alone`: only if there is no other. */
static __always_inline struct file *epoll_ready(struct file *epoll_file, bool alone,
						__s32 *ret_descriptor)
{
	struct eventpoll *epoll = READ(epoll_file, private_data);
	struct list_head *list, *last;
	struct epitem *item;

	if (!epoll)
		return NULL;
	list = (void *)epoll + bpf_core_field_offset(struct eventpoll, rdllist);
	last = READ(list, prev);
	if (!last || last == list || (alone && READ(last, prev) != list))
		return NULL;
	item = (void *)last - bpf_core_field_offset(struct epitem, rdllink);
	*ret_descriptor = READ(item, ffd.fd);
	return (void *)READ_NUMBER(item, ffd.file);
}

static __always_inline struct pipe_inode_info *pipe_behind(__u64 task_address, __s32 descriptor)
{
	struct file *file = (struct file *)find_file(task_address, descriptor);

	if (!file || (READ(file, f_inode, i_mode) & S_IFMT) != S_IFIFO)
		return NULL;
	return (struct pipe_inode_info *)READ_NUMBER(file, private_data);
}

/* True if a splice waits for input. One of its ends is a pipe: the task waits
 * for what the pipe lacks, data or room, or else for the other end. */
__noinline int awaits_input(__u64 task_address, __s32 from, __s32 to)
{
	struct pipe_inode_info *pipe = pipe_behind(task_address, from);

	if (pipe)
		return READ(pipe, head) == READ(pipe, tail);
	pipe = pipe_behind(task_address, to);
	return pipe && READ(pipe, head) - READ(pipe, tail) < READ(pipe, max_usage);
}

#endif

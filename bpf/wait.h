/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a task is about to wait for, told at its switch-out from its saved user
 * registers: the system call, its arguments, and the object they name. No system
 * call is traced for this.
 *
 * Everything read through a pointer here is a hint until the builder has checked
 * it: other threads may change descriptors and memory meanwhile.
 */
#ifndef CLEW_WAIT_H
#define CLEW_WAIT_H

#include "context.h"

#define FUTEX_CMD_MASK	   0x7f
#define FUTEX_PRIVATE_FLAG 0x80
#define FUTEX_WAIT	   0
#define FUTEX_WAKE	   1
#define FUTEX_LOCK_PI	   6
#define FUTEX_UNLOCK_PI	   7
#define FUTEX_WAIT_BITSET  9
#define FUTEX_WAKE_BITSET  10
#define FUTEX_LOCK_PI2	   13
#define FUTEX_TID_MASK	   0x3fffffff
#define FUTEX_WAITERS	   0x80000000u
#define CLONE_VFORK	   0x00004000
#define CALL_READ	   0
#define CALL_CLOSE	   3
#define CALL_POLL	   7
#define CALL_READV	   19
#define CALL_SCHED_YIELD   24
#define CALL_SENDFILE	   40
#define CALL_RECVFROM	   45
#define CALL_RECVMSG	   47
#define CALL_FCNTL	   72
#define CALL_FLOCK	   73
#define CALL_EXIT_GROUP	   231
#define CALL_PPOLL	   271
#define CALL_MQ_SEND	   242
#define CALL_MQ_RECEIVE	   243
#define CALL_TEE	   276
#define CALL_RECVMMSG	   299

#define GLIBC_MUTEX_ROBUST 0x10
#define GLIBC_MUTEX_SHARED 0x80
/* Type 0-3, robust, PI, protect, pshared, elision: the bits a glibc mutex kind may have. */
#define GLIBC_MUTEX_BITS 0x3f3
/* The highest tid that the kernel ever gives (PID_MAX_LIMIT). */
#define TID_LIMIT 4194304

/* The saved user registers, as the call's arguments. */
struct call {
	__u64 argument[4];
	__s64 number; /* 64-bit number; < 0 none, or none of that name */
	bool compat;
	bool outside; /* in no system call */
};

static __always_inline void read_call(struct task_struct *task, struct call *ret_call)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__s64 number = regs->orig_ax;

	ret_call->compat = task->thread_info.status & TS_COMPAT;
	if (unlikely(ret_call->compat)) {
		ret_call->argument[0] = (__u32)regs->bx;
		ret_call->argument[1] = (__u32)regs->cx;
		ret_call->argument[2] = (__u32)regs->dx;
		ret_call->argument[3] = (__u32)regs->si;
		number = (__s32)number;
		ret_call->outside = number < 0;
		if (number >= 0)
			number = number < CLEW_CALL_COUNT
					 ? (__s64)compat_call[number & (CLEW_CALL_COUNT - 1)]
					 : CLEW_NO_CALL;
		if (number == CLEW_NO_CALL)
			number = -1;
	} else {
		ret_call->outside = number < 0;
		ret_call->argument[0] = regs->di;
		ret_call->argument[1] = regs->si;
		ret_call->argument[2] = regs->dx;
		ret_call->argument[3] = regs->r10;
	}
	/* Killed in a call, it is in that no more, though its registers say so. */
	if (unlikely(task->flags & PF_EXITING))
		number = CALL_EXIT_GROUP;
	ret_call->number = number;
}

/* Which one the task here is in, as clew_bio.call. */
static __always_inline __u32 place_call(const struct place *place)
{
	struct call call;

	if (place->level != LEVEL_TASK || place->task->flags & PF_KTHREAD)
		return 0;
	read_call(place->task, &call);
	return call.number + 1;
}

/* Calls that take what comes: who sleeps in one found nothing there, and who is in one sends no
 * data of its own. */
static __always_inline bool receives(__s64 number)
{
	switch (number) {
	case CALL_READ:
	case CALL_READV:
	case CALL_RECVFROM:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
		return true;
	}
	return false;
}

static __always_inline __u8 class_of(const struct call *call)
{
	if (call->number < 0 || call->number >= CLEW_CALL_COUNT)
		return CLEW_CALL_PLAIN;
	return call_class[call->number & (CLEW_CALL_COUNT - 1)];
}

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

/* The same where it is rarely asked: a global function that the verifier checks once. An address, 0
 * none. */
__noinline __u64 find_file(__u64 task_address, __s32 descriptor)
{
	struct task_struct *task = (struct task_struct *)task_address;
	struct fdtable *table = READ(task, files, fdt);

	if (!table || descriptor < 0 || (__u32)descriptor >= READ(table, max_fds))
		return 0;
	return read_number((__u64)(READ(table, fd) + descriptor));
}

/* Eight characters as the word they are in memory. */
#define WORD(a, b, c, d, e, f, g, h)                                                               \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

/* Anonymous inodes share one inode: the first eight bytes of their names tell them apart. */
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
		/* The instance, as its submissions and completions tell it. */
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

/* What kind of object an open file is, and its identity, which is sent if it never was: as
 * `task_address` sees it, 0 nobody. */
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

/* In a task's memory of its last file: a socket of a family that packets come for. */
#define OBJECT_INET 0x80

static __always_inline bool takes_packets(struct file *file)
{
	struct socket *socket = READ(file, private_data);
	__u16 family = READ(socket, sk, __sk_common.skc_family);

	return family == AF_INET || family == AF_INET6;
}

/* Whether its object, the inode's number, is what tells it from others. */
static __always_inline bool is_numbered(__u8 kind)
{
	return kind == CLEW_OBJECT_PIPE || (kind & ~OBJECT_INET) == CLEW_OBJECT_SOCKET;
}

#define NAME_AGE_BITS                                                                              \
	23 /* of ns: for so long the directories above a file are taken to have the names that     \
	      they had */

/* Of a file with a name: its inode, whether it was deleted, its own name and directory; and the
 * time, for those above. */
static __always_inline __u64 what_is_named(struct file *file, __u64 time)
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
 * What tells a file from the next one at its address, which after a close is mostly the next open.
 * Of other anonymous kinds than are left out below the object is that address.
 */
static __always_inline __u64 what_is(struct file *file, __u8 kind, __u64 time)
{
	if (kind == CLEW_OBJECT_FILE)
		return what_is_named(file, time);
	return is_numbered(kind) ? READ(file, f_inode, i_ino) : READ_NUMBER(file, f_op);
}

/* what_is() of a file that was not the task's last. */
__noinline __u64 what_is_another(__u64 file_address, __u8 kind, __u64 time)
{
	return what_is((struct file *)file_address, kind, time);
}

/* describe_file through the task's memory of its last file: a loop on one descriptor pays once. */
static __always_inline void describe_descriptor(struct where *where, struct task_struct *task,
						struct clew_task_state *state, __s32 descriptor,
						struct found *ret_found)
{
	struct file *file = file_of(task, descriptor);

	ret_found->kind = CLEW_OBJECT_NONE;
	if (!file)
		return;
	if (state->file == (__u64)file &&
	    state->what == what_is(file, state->object_kind, where->time)) {
		ret_found->object = state->object;
		ret_found->device = state->device;
		ret_found->kind = state->object_kind & ~OBJECT_INET;
		return;
	}
	describe_file((__u64)file, ret_found, where->cpu, where->time, number_of(task));
	switch (ret_found->kind) {
	case CLEW_OBJECT_TTY: /* may be renamed, too, and is waited for seldom */
	case CLEW_OBJECT_DEVICE:
	case CLEW_OBJECT_EVENTFD: /* nothing but what it points to tells one from another */
	case CLEW_OBJECT_IO_URING:
	case CLEW_OBJECT_PIDFD:
		state->file = 0;
		return;
	}
	state->file = (__u64)file;
	state->what = is_numbered(ret_found->kind)
			      ? ret_found->object
			      : what_is_another((__u64)file, ret_found->kind, where->time);
	state->object = ret_found->object;
	state->device = ret_found->device;
	state->object_kind = ret_found->kind;
	if (ret_found->kind == CLEW_OBJECT_SOCKET && takes_packets(file))
		state->object_kind |= OBJECT_INET;
}

/* The newest entry of an epoll instance's ready list: what the last wake-up made ready. `alone`:
 * only if there is no other. */
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

/* What futex_waitv takes several of. */
struct futex_entry {
	__u64 value;
	__u64 address;
	__u32 flags;
	__u32 reserved;
};

struct glibc_mutex {
	__u32 lock;
	__u32 count;
	__u32 owner;
	__u32 users;
	__u32 kind;
};

/*
 * What the memory around a futex word looks like, for a FUTEX_WAIT that expects
 * `wait->argument`. glibc's plain mutex waits for the value 2, its rwlock for 3;
 * condition variables, semaphores, joins and barriers wait for other values or
 * fail the test of the neighbouring words.
 */
static __always_inline void classify_futex(struct clew_wait *wait, const struct glibc_mutex *mutex)
{
	__u32 operation = wait->futex_operation & FUTEX_CMD_MASK;
	bool shared = !(wait->futex_operation & FUTEX_PRIVATE_FLAG);
	__u32 expected = wait->argument;

	if ((mutex->kind & ~GLIBC_MUTEX_BITS) == 0 &&
	    !!(mutex->kind & GLIBC_MUTEX_SHARED) == shared) {
		if (expected == 2 && mutex->owner && mutex->owner <= TID_LIMIT && mutex->users &&
		    mutex->users < TID_LIMIT) {
			wait->futex_class = CLEW_FUTEX_CLASS_MUTEX;
			wait->owner = mutex->owner;
			return;
		}
		if ((expected & FUTEX_WAITERS) && (mutex->kind & GLIBC_MUTEX_ROBUST)) {
			wait->futex_class = CLEW_FUTEX_CLASS_ROBUST;
			wait->owner = mutex->lock & FUTEX_TID_MASK;
			return;
		}
		if (expected == 2 && operation == FUTEX_WAIT && !mutex->owner && !mutex->count) {
			wait->futex_class = CLEW_FUTEX_CLASS_BUSY;
			return;
		}
	}
	if (expected != 3 || (wait->flags & CLEW_WAIT_FLAG_COMPAT))
		return;
	/* __wrphase_futex has two zero words and __cur_writer behind it at 8, 12, 16;
	 * __writers_futex at 4, 8, 12. */
	if (!mutex->owner && !mutex->users && mutex->kind && mutex->kind <= TID_LIMIT)
		wait->owner = mutex->kind;
	else if (!mutex->count && !mutex->owner && mutex->users && mutex->users <= TID_LIMIT)
		wait->owner = mutex->users;
	if (wait->owner)
		wait->futex_class = CLEW_FUTEX_CLASS_RWLOCK;
}

static __always_inline bool futex_memory_matters(const struct clew_wait *wait,
						 const struct call *call)
{
	__u32 operation = wait->futex_operation & FUTEX_CMD_MASK;

	/* For a mutex glibc waits so only if it is to give up some day. Rust's and others' look
	 * alike, but keep no owner. */
	if (operation == FUTEX_WAIT_BITSET && wait->argument != 3 && !call->argument[3])
		return false;
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
	       operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

static __always_inline void classify_futex_any(struct clew_wait *wait, struct glibc_mutex *mutex)
{
	__u32 operation = wait->futex_operation & FUTEX_CMD_MASK;

	/* In 32-bit programs the kind comes before the users; their rwlock is another one still,
	 * and is left alone. */
	if (wait->flags & CLEW_WAIT_FLAG_COMPAT) {
		__u32 kind = mutex->users;

		mutex->users = mutex->kind;
		mutex->kind = kind;
	}

	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2) {
		wait->futex_class = CLEW_FUTEX_CLASS_PI;
		wait->owner = mutex->lock & FUTEX_TID_MASK;
	} else {
		classify_futex(wait, mutex);
	}
}

static __always_inline __s32 spliced_to(const struct call *call)
{
	return call->number == CALL_TEE ? call->argument[1] : call->argument[2];
}

static __always_inline struct pipe_inode_info *pipe_behind(__u64 task_address, __s32 descriptor)
{
	struct file *file = (struct file *)find_file(task_address, descriptor);

	if (!file || (READ(file, f_inode, i_mode) & S_IFMT) != S_IFIFO)
		return NULL;
	return (struct pipe_inode_info *)READ_NUMBER(file, private_data);
}

/* One end of a splice is a pipe: who sleeps there waits for what the pipe lacks, data or room, or
 * else for the other end. */
__noinline int awaits_input(__u64 task_address, __s32 from, __s32 to)
{
	struct pipe_inode_info *pipe = pipe_behind(task_address, from);

	if (pipe)
		return READ(pipe, head) == READ(pipe, tail);
	pipe = pipe_behind(task_address, to);
	return pipe && READ(pipe, head) - READ(pipe, tail) < READ(pipe, max_usage);
}

struct poll_entry {
	__s32 descriptor;
	__u16 events, ready;
};

#define SELECT_MOST 256 /* descriptors: of more, more than one is likely to be waited for */

/* Of 64 descriptors of a set of the current task's those that count; all of them, which are not
 * alone, if it cannot be read. */
__noinline __u64 selected_word(__u64 set, __u64 index, __u64 count)
{
	__u64 word = 0;

	if (set && bpf_probe_read_user(&word, sizeof(word), (void *)(set + index * sizeof(word))))
		return ~0ULL;
	return count < (index + 1) * 64 ? word & ((1ULL << (count & 63)) - 1) : word;
}

/* The number of the lowest bit that is set, without a branch: each would be followed by itself when
 * the program is loaded. */
static __always_inline int lowest_bit(__u64 word)
{
	__u64 count = (word & -word) - 1;

	count -= count >> 1 & 0x5555555555555555ULL;
	count = (count & 0x3333333333333333ULL) + (count >> 2 & 0x3333333333333333ULL);
	count = (count + (count >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (int)(count * 0x0101010101010101ULL >> 56);
}

/* The one descriptor that is in any of these sets of the current task's, -1 if there are more. */
__noinline int selected_alone(__u64 count, __u64 reads, __u64 writes, __u64 exceptions)
{
	int found = -1;
	__u64 i;

	if (count > SELECT_MOST)
		return -1;
	for (i = 0; i < SELECT_MOST / 64 && i * 64 < count; i++) {
		__u64 word = selected_word(reads, i, count) | selected_word(writes, i, count) |
			     selected_word(exceptions, i, count);

		if (!word)
			continue;
		if (found >= 0 || word & (word - 1))
			return -1;
		found = (int)i * 64 + lowest_bit(word);
	}
	return found;
}

static __always_inline bool polls_entries(const struct call *call)
{
	return call->number == CALL_POLL || call->number == CALL_PPOLL;
}

/* The descriptor that the current task polls, if it is one alone, else -1. */
static __always_inline __s32 polled_alone(const struct call *call)
{
	struct poll_entry entry;

	if (!polls_entries(call))
		return selected_alone(call->argument[0], call->argument[1], call->argument[2],
				      call->argument[3]);
	if (call->argument[1] != 1 ||
	    bpf_probe_read_user(&entry, sizeof(entry), (void *)call->argument[0]))
		return -1;
	return entry.descriptor;
}

/* What the call alone tells: no memory of the task is read here. */
static __always_inline __u8 describe_call(struct task_struct *task, __u32 state,
					  const struct call *call, struct clew_wait *wait)
{
	__u8 class = class_of(call);

	wait->call = call->number >= 0 ? call->number : CLEW_NO_CALL;
	wait->descriptor = -1;
	if (call->compat)
		wait->flags |= CLEW_WAIT_FLAG_COMPAT;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		wait->flags |= CLEW_WAIT_FLAG_IOWAIT;
	/* Who is stopped or frozen there, or waits for a core dump, has no fault. */
	if (call->outside && !(task->flags & PF_EXITING) &&
	    !(state & (TASK_STOPPED | TASK_TRACED | TASK_FREEZABLE | TASK_FROZEN)))
		wait->flags |= CLEW_WAIT_FLAG_FAULT;
	switch (class) {
	case CLEW_CALL_FUTEX:
		wait->object_kind = CLEW_OBJECT_FUTEX;
		wait->object = call->argument[0];
		wait->futex_operation = call->argument[1];
		wait->argument = (__u32)call->argument[2];
		break;
	case CLEW_CALL_CHILD:
		wait->object_kind = CLEW_OBJECT_CHILD;
		wait->object = (__s64)(__s32)call->argument[0];
		break;
	case CLEW_CALL_CHILD_ID:
		wait->object_kind = CLEW_OBJECT_CHILD;
		wait->object = call->argument[0] == 1 ? (__s64)(__s32)call->argument[1] : -1;
		break;
	case CLEW_CALL_IPC:
		wait->object_kind = CLEW_OBJECT_IPC;
		wait->object = (__u32)call->argument[0];
		break;
	case CLEW_CALL_VFORK:
		wait->flags |= CLEW_WAIT_FLAG_VFORK;
		break;
	case CLEW_CALL_CLONE:
		if (call->argument[0] & CLONE_VFORK)
			wait->flags |= CLEW_WAIT_FLAG_VFORK;
		break;
	case CLEW_CALL_DESCRIPTOR:
	case CLEW_CALL_EPOLL:
	case CLEW_CALL_IO_URING:
		wait->descriptor = call->argument[0];
		/* Only a file's data is waited for as I/O: that which is sent. */
		if (unlikely(wait->flags & CLEW_WAIT_FLAG_IOWAIT) && call->number == CALL_SENDFILE)
			wait->descriptor = call->argument[1];
		break;
	case CLEW_CALL_SPLICE:
		wait->descriptor = call->argument[0];
		if (!awaits_input(number_of(task), call->argument[0], spliced_to(call))) {
			wait->descriptor = spliced_to(call);
			wait->futex_operation = CLEW_SPLICE_OUT;
		}
		break;
	}
	return class;
}

/* The low bits of an owner's address are flags; of a semaphore the lowest says that readers have
 * it. */
#define OWNER_FLAGS  7UL
#define OWNER_READER 1UL

/* The global tid of who has a kernel lock, 0 where it keeps none. */
static __always_inline __u32 lock_owner(__u64 lock, __u32 type)
{
	__u64 owner = 0;

	if (type & CLEW_LOCK_MUTEX)
		owner = READ((struct mutex *)lock, owner.counter);
	else if (type & CLEW_LOCK_RT)
		owner = READ_NUMBER((struct rt_mutex_base *)lock, owner);
	else if (type & (CLEW_LOCK_READ | CLEW_LOCK_WRITE) &&
		 !(type & (CLEW_LOCK_SPIN | CLEW_LOCK_PERCPU))) {
		owner = READ((struct rw_semaphore *)lock, owner.counter);
		if (owner & OWNER_READER)
			return 0;
	}
	owner &= ~OWNER_FLAGS;
	return owner ? READ((struct task_struct *)owner, pid) : 0;
}

/* No kernel stack is larger. */
#define KERNEL_STACK_SIZE 32768
#define FAULT_DEPTH	  40
#define WAITING_DEPTH	  16

/* One stack at a time on a CPU, as for texts. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[FAULT_DEPTH]);
} clew_stack SEC(".maps");

/*
 * Both go through the stack that this CPU keeps, of which `size` bytes are filled. They are global
 * functions, as a loop that is inlined behind many branches takes the verifier long.
 */
__noinline int find_fault(long size)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&clew_stack, &zero);
	int i;

	for (i = 0; stack && i < FAULT_DEPTH && (i + 1) * (long)sizeof(*stack) <= size; i++)
		if (stack[i] >= fault_entry && stack[i] < fault_entry_end)
			return 1;
	return 0;
}

__noinline __u64 find_waiting(long size)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&clew_stack, &zero);
	bool inside = false;
	int i;

	for (i = 0; stack && i < WAITING_DEPTH && (i + 1) * (long)sizeof(*stack) <= size; i++) {
		bool sched = stack[i] >= sched_text && stack[i] < sched_text_end;

		if (inside && !sched && (stack[i] < wait_woken || stack[i] >= wait_woken_end))
			return stack[i];
		inside |= sched;
	}
	return 0;
}

/*
 * Whether the wait is inside a page fault that the kernel took on this task's
 * stack while in a call. A stack is walked only if a fault was taken that may go
 * on still: none is over since, as the last thing that a fault does is to be
 * counted; we are below its registers, and the first of them is intact.
 */
static __always_inline bool in_kernel_fault(void *context, struct task_struct *task,
					    struct clew_task_state *state)
{
	struct pt_regs *regs = (void *)state->fault_frame;
	__u32 zero = 0;
	__u64 *stack;

	if (likely(!regs))
		return false;
	state->fault_frame = 0;
	if (faults_over(task) != state->fault_number || (__u64)context > (__u64)regs ||
	    (__u64)regs - KERNEL_STACK_SIZE > (__u64)context || READ(regs, ip) != state->fault_ip)
		return false;
	stack = bpf_map_lookup_elem(&clew_stack, &zero);
	if (!stack || !fault_entry)
		return false;
	if (!find_fault(bpf_get_stack(context, stack, FAULT_DEPTH * sizeof(*stack), 0)))
		return false;
	state->fault_frame = (__u64)regs;
	return true;
}

/* The function that called into the scheduler, as /proc/PID/wchan tells it; 0 unknown. */
static __always_inline __u64 waiting_function(void *context)
{
	__u32 zero = 0;
	__u64 *stack;

	stack = bpf_map_lookup_elem(&clew_stack, &zero);
	if (!stack || !sched_text)
		return 0;
	return find_waiting(bpf_get_stack(context, stack, WAITING_DEPTH * sizeof(*stack), 0));
}

static __always_inline bool locks_files(__s64 number)
{
	return number == CALL_FLOCK || number == CALL_FCNTL;
}

/* Whether it waits for the lock on a file that it was refused. */
static __always_inline bool describe_file_lock(const struct clew_task_state *state,
					       __u32 task_state_bits, struct clew_wait *wait)
{
	if (!(state->flags & CLEW_TASK_STATE_REFUSED) || !locks_files(wait->call) ||
	    !(task_state_bits & TASK_INTERRUPTIBLE))
		return false;
	wait->reason = CLEW_REASON_FILE_LOCK;
	wait->argument = state->file_lock_range;
	wait->owner = state->file_lock_holder;
	return true;
}

/* What describe_reason() says where there is one. A function of its own, as it is rare and has many
 * ways through it. */
__noinline int describe_known_reason(struct clew_task_state *state, __u32 task_state_bits,
				     struct clew_wait *wait)
{
	if (!state || !wait)
		return false;
	if (state->lock) {
		state->lock_slept = 1;
		wait->reason = CLEW_REASON_LOCK;
		wait->object_kind = CLEW_OBJECT_LOCK;
		wait->object = state->lock;
		wait->argument = state->lock_type;
		wait->owner = lock_owner(state->lock, state->lock_type);
		wait->device = 0;
		wait->futex_class = CLEW_FUTEX_CLASS_NONE;
		return true;
	}
	if (state->flags & CLEW_TASK_STATE_PAUSED) {
		/* It was told to sleep a moment ago. In a call that must not wait it does not: then
		 * the next sleep is another. */
		bool paused = (task_state_bits & TASK_KILLABLE) == TASK_KILLABLE &&
			      (wait->flags & CLEW_WAIT_FLAG_IOWAIT);

		wait->argument = paused ? state->pause : wait->argument;
		state->flags &= ~CLEW_TASK_STATE_PAUSED;
		if (paused) {
			wait->reason = CLEW_REASON_DIRTY;
			wait->object_kind = CLEW_OBJECT_DEVICE;
			wait->object = 0;
			wait->device = state->pause_device;
			return true;
		}
	}
	if (describe_file_lock(state, task_state_bits, wait))
		return true;
	if (state->reason) {
		wait->reason = state->reason;
		if (state->reclaim) {
			wait->object_kind = CLEW_OBJECT_CGROUP;
			wait->object = state->reclaim;
			wait->device = 0;
		}
		return true;
	}
	return false;
}

/* Why the kernel lets it wait, where it said so before: a lock, memory. True: there is no more to
 * find out. */
static __always_inline bool describe_reason(struct clew_task_state *state, __u32 task_state_bits,
					    struct clew_wait *wait)
{
	if (likely(!state->lock && !state->reason &&
		   !(state->flags & (CLEW_TASK_STATE_PAUSED | CLEW_TASK_STATE_REFUSED))))
		return false;
	return describe_known_reason(state, task_state_bits, wait);
}

static __always_inline __u16 call_after(const struct clew_wait *wait)
{
	return wait->call == CLEW_NO_CALL ? CLEW_NO_CALL : wait->call + 1;
}

/* So that a restart or another wait in the same call is known as such. Calls on descriptors are
 * never begun again. */
static __always_inline void remember_wait(struct clew_task_state *state,
					  const struct clew_wait *wait, __u8 class)
{
	state->call_after = call_after(wait);
	if (class != CLEW_CALL_DESCRIPTOR && class != CLEW_CALL_SPLICE && class != CLEW_CALL_EPOLL)
		state->wait = *wait;
}

static __always_inline void describe_kernel_thread(void *context, struct task_struct *task,
						   __u32 task_state_bits,
						   struct clew_task_state *state, bool detail,
						   struct clew_wait *wait)
{
	state->class = CLEW_CALL_PLAIN;
	wait->call = CLEW_NO_CALL;
	wait->descriptor = -1;
	wait->flags = CLEW_WAIT_FLAG_KTHREAD;
	/* Asleep for work, its name says enough; otherwise only the function does. */
	if (detail && (task_state_bits & TASK_UNINTERRUPTIBLE) &&
	    !(task_state_bits & TASK_NOLOAD)) {
		wait->flags |= CLEW_WAIT_FLAG_DETAIL;
		wait->object = waiting_function(context);
		if (wait->object)
			wait->object_kind = CLEW_OBJECT_FUNCTION;
	}
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		wait->flags |= CLEW_WAIT_FLAG_IOWAIT;
	describe_reason(state, task_state_bits, wait);
}

/*
 * Fills in the wait that `task`, which is current and leaves the CPU, begins.
 * `detail`: look up the object too; locks are for all.
 */
static __always_inline void describe_wait(void *context, struct where *where,
					  struct task_struct *task, __u32 task_state_bits,
					  struct clew_task_state *state, bool detail,
					  struct clew_wait *wait)
{
	struct found found = {};
	struct call call;
	__u8 class;

	__builtin_memset(wait, 0, sizeof(*wait));
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) {
		describe_kernel_thread(context, task, task_state_bits, state, detail, wait);
		return;
	}

	read_call(task, &call);
	class = class_of(&call);
	if (likely(class != CLEW_CALL_RESTART))
		state->class = class;
	if (unlikely(class == CLEW_CALL_RESTART && state->call_after) &&
	    state->wait.call == state->call_after - 1) {
		*wait = state->wait;
		wait->flags |= CLEW_WAIT_FLAG_RESTARTED;
		wait->flags &= ~CLEW_WAIT_FLAG_SAME_CALL;
		if (notify_resume_mask && (task->thread_info.flags & notify_resume_mask))
			wait->flags |= CLEW_WAIT_FLAG_SAME_CALL;
		return;
	}
	describe_call(task, task_state_bits, &call, wait);
	if (in_kernel_fault(context, task, state))
		wait->flags |= CLEW_WAIT_FLAG_FAULT;
	if (state->call_after == call_after(wait) && state->call_after &&
	    state->first_argument == call.argument[0] &&
	    state->second_argument == call.argument[1] && READ_TRUSTED(task, rseq) &&
	    (task->thread_info.flags & notify_resume_mask))
		wait->flags |= CLEW_WAIT_FLAG_SAME_CALL;
	state->first_argument = call.argument[0];
	state->second_argument = call.argument[1];

	if (class == CLEW_CALL_CLONE3) {
		__u64 flags = 0;

		bpf_probe_read_user(&flags, sizeof(flags), (void *)call.argument[0]);
		if (flags & CLONE_VFORK)
			wait->flags |= CLEW_WAIT_FLAG_VFORK;
	}
	/* Who held a lock is read off the waits of all who queued for it, whomever the filter
	 * chose. */
	if (class == CLEW_CALL_FUTEX && futex_memory_matters(wait, &call)) {
		struct glibc_mutex mutex = {};

		if (!bpf_probe_read_user(&mutex, sizeof(mutex), (void *)call.argument[0]) ||
		    !bpf_probe_read_user(&mutex.lock, sizeof(mutex.lock), (void *)call.argument[0]))
			classify_futex_any(wait, &mutex);
	}
	if (detail) {
		wait->flags |= CLEW_WAIT_FLAG_DETAIL;
		if (class == CLEW_CALL_FUTEX_VECTOR) {
			struct futex_entry entry = {};

			/* Of several it is not known yet which will be woken. */
			if (call.argument[1] == 1 &&
			    !bpf_probe_read_user(&entry, sizeof(entry), (void *)call.argument[0])) {
				wait->object_kind = CLEW_OBJECT_FUTEX;
				wait->object = entry.address;
				wait->futex_operation = entry.flags & FUTEX_PRIVATE_FLAG;
			}
		} else if (class == CLEW_CALL_PATH || class == CLEW_CALL_PATH_AT) {
			wait->object = send_text(class == CLEW_CALL_PATH ? call.argument[0]
									 : call.argument[1],
						 where->cpu, where->time);
			if (wait->object)
				wait->object_kind = CLEW_OBJECT_PATH;
		} else if (class == CLEW_CALL_POLL) {
			wait->descriptor = polled_alone(&call);
		}
		if (wait->descriptor >= 0) {
			describe_descriptor(where, task, state, wait->descriptor, &found);
			wait->object_kind = found.kind;
			wait->object = found.object;
			wait->device = found.device;
		}
	}
	/* Asleep out of a signal's reach and not for a disk, or as a descriptor is gone already:
	 * the function says for what. */
	if (!describe_reason(state, task_state_bits, wait) && detail &&
	    unlikely(((task_state_bits & TASK_UNINTERRUPTIBLE) &&
		      !(task_state_bits & TASK_NOLOAD) &&
		      !(wait->flags & (CLEW_WAIT_FLAG_IOWAIT | CLEW_WAIT_FLAG_VFORK))) ||
		     wait->call == CALL_CLOSE) &&
	    !wait->argument) {
		wait->argument = waiting_function(context);
		if (wait->argument)
			wait->reason = CLEW_REASON_FUNCTION;
	}
	remember_wait(state, wait, class);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kind of wait that a wait record proves: by the sleeper's state first, then by what
 * the kernel says (a lock, memory, a quota, the function it is in), then by a fault,
 * then by the object waited for, then by the system call alone. A wait with no proof is
 * `other` if it has a name (its call, its kernel function), else `unknown`.
 */
#include "builder/build.h"
#include <clew/kernel/call_numbers.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* The kernel's task states, as clew_switch.prev_state has them. */
enum {
	STATE_INTERRUPTIBLE = 0x0001,
	STATE_STOPPED = 0x0004,
	STATE_TRACED = 0x0008,
	STATE_PARKED = 0x0040,
	STATE_NOLOAD = 0x0400,
	STATE_FREEZABLE = 0x2000,
	STATE_FROZEN = 0x8000,
};

/* The kind of thing that a call waits for by itself, and how it uses a file. */
enum call_trait {
	TRAIT_NONE = 0,
	TRAIT_READ,  /* moves data from its descriptor */
	TRAIT_WRITE, /* moves data to its descriptor */
	TRAIT_FSYNC,
	TRAIT_FILE, /* a file-system call, whatever its object */
	TRAIT_SOCKET,
	TRAIT_FUTEX,
	TRAIT_POLL,
	TRAIT_SLEEP,
	TRAIT_SIGNAL,
	TRAIT_CHILD,
	TRAIT_VFORK,
	TRAIT_IPC,
	TRAIT_IO_URING,
};

static const unsigned char traits[512] = {
	[CLEW_NR_read] = TRAIT_READ,
	[CLEW_NR_pread64] = TRAIT_READ,
	[CLEW_NR_readv] = TRAIT_READ,
	[CLEW_NR_preadv] = TRAIT_READ,
	[CLEW_NR_preadv2] = TRAIT_READ,
	[CLEW_NR_readahead] = TRAIT_READ,
	[CLEW_NR_splice] = TRAIT_READ,
	[CLEW_NR_tee] = TRAIT_READ,
	[CLEW_NR_copy_file_range] = TRAIT_READ,

	[CLEW_NR_write] = TRAIT_WRITE,
	[CLEW_NR_pwrite64] = TRAIT_WRITE,
	[CLEW_NR_writev] = TRAIT_WRITE,
	[CLEW_NR_pwritev] = TRAIT_WRITE,
	[CLEW_NR_pwritev2] = TRAIT_WRITE,
	[CLEW_NR_sendfile] = TRAIT_WRITE,
	[CLEW_NR_vmsplice] = TRAIT_WRITE,

	[CLEW_NR_fsync] = TRAIT_FSYNC,
	[CLEW_NR_fdatasync] = TRAIT_FSYNC,
	[CLEW_NR_sync_file_range] = TRAIT_FSYNC,
	[CLEW_NR_msync] = TRAIT_FSYNC,
	[CLEW_NR_sync] = TRAIT_FSYNC,
	[CLEW_NR_syncfs] = TRAIT_FSYNC,

	[CLEW_NR_open] = TRAIT_FILE,
	[CLEW_NR_openat] = TRAIT_FILE,
	[CLEW_NR_openat2] = TRAIT_FILE,
	[CLEW_NR_open_by_handle_at] = TRAIT_FILE,
	[CLEW_NR_name_to_handle_at] = TRAIT_FILE,
	[CLEW_NR_creat] = TRAIT_FILE,
	[CLEW_NR_stat] = TRAIT_FILE,
	[CLEW_NR_lstat] = TRAIT_FILE,
	[CLEW_NR_fstat] = TRAIT_FILE,
	[CLEW_NR_newfstatat] = TRAIT_FILE,
	[CLEW_NR_statx] = TRAIT_FILE,
	[CLEW_NR_statfs] = TRAIT_FILE,
	[CLEW_NR_fstatfs] = TRAIT_FILE,
	[CLEW_NR_access] = TRAIT_FILE,
	[CLEW_NR_faccessat] = TRAIT_FILE,
	[CLEW_NR_faccessat2] = TRAIT_FILE,
	[CLEW_NR_unlink] = TRAIT_FILE,
	[CLEW_NR_unlinkat] = TRAIT_FILE,
	[CLEW_NR_rename] = TRAIT_FILE,
	[CLEW_NR_renameat] = TRAIT_FILE,
	[CLEW_NR_renameat2] = TRAIT_FILE,
	[CLEW_NR_mkdir] = TRAIT_FILE,
	[CLEW_NR_mkdirat] = TRAIT_FILE,
	[CLEW_NR_rmdir] = TRAIT_FILE,
	[CLEW_NR_mknod] = TRAIT_FILE,
	[CLEW_NR_mknodat] = TRAIT_FILE,
	[CLEW_NR_link] = TRAIT_FILE,
	[CLEW_NR_linkat] = TRAIT_FILE,
	[CLEW_NR_symlink] = TRAIT_FILE,
	[CLEW_NR_symlinkat] = TRAIT_FILE,
	[CLEW_NR_readlink] = TRAIT_FILE,
	[CLEW_NR_readlinkat] = TRAIT_FILE,
	[CLEW_NR_chmod] = TRAIT_FILE,
	[CLEW_NR_fchmod] = TRAIT_FILE,
	[CLEW_NR_fchmodat] = TRAIT_FILE,
	[CLEW_NR_chown] = TRAIT_FILE,
	[CLEW_NR_fchown] = TRAIT_FILE,
	[CLEW_NR_lchown] = TRAIT_FILE,
	[CLEW_NR_fchownat] = TRAIT_FILE,
	[CLEW_NR_truncate] = TRAIT_FILE,
	[CLEW_NR_ftruncate] = TRAIT_FILE,
	[CLEW_NR_fallocate] = TRAIT_FILE,
	[CLEW_NR_fadvise64] = TRAIT_FILE,
	[CLEW_NR_getdents] = TRAIT_FILE,
	[CLEW_NR_getdents64] = TRAIT_FILE,
	[CLEW_NR_getcwd] = TRAIT_FILE,
	[CLEW_NR_chdir] = TRAIT_FILE,
	[CLEW_NR_fchdir] = TRAIT_FILE,
	[CLEW_NR_chroot] = TRAIT_FILE,
	[CLEW_NR_flock] = TRAIT_FILE,
	[CLEW_NR_utime] = TRAIT_FILE,
	[CLEW_NR_utimes] = TRAIT_FILE,
	[CLEW_NR_utimensat] = TRAIT_FILE,
	[CLEW_NR_futimesat] = TRAIT_FILE,
	[CLEW_NR_getxattr] = TRAIT_FILE,
	[CLEW_NR_lgetxattr] = TRAIT_FILE,
	[CLEW_NR_fgetxattr] = TRAIT_FILE,
	[CLEW_NR_setxattr] = TRAIT_FILE,
	[CLEW_NR_lsetxattr] = TRAIT_FILE,
	[CLEW_NR_fsetxattr] = TRAIT_FILE,
	[CLEW_NR_listxattr] = TRAIT_FILE,
	[CLEW_NR_llistxattr] = TRAIT_FILE,
	[CLEW_NR_flistxattr] = TRAIT_FILE,
	[CLEW_NR_removexattr] = TRAIT_FILE,
	[CLEW_NR_lremovexattr] = TRAIT_FILE,
	[CLEW_NR_fremovexattr] = TRAIT_FILE,
	[CLEW_NR_execve] = TRAIT_FILE,
	[CLEW_NR_execveat] = TRAIT_FILE,
	[CLEW_NR_mount] = TRAIT_FILE,
	[CLEW_NR_umount2] = TRAIT_FILE,
	[CLEW_NR_pivot_root] = TRAIT_FILE,
	[CLEW_NR_inotify_add_watch] = TRAIT_FILE,

	[CLEW_NR_accept] = TRAIT_SOCKET,
	[CLEW_NR_accept4] = TRAIT_SOCKET,
	[CLEW_NR_connect] = TRAIT_SOCKET,
	[CLEW_NR_sendto] = TRAIT_SOCKET,
	[CLEW_NR_sendmsg] = TRAIT_SOCKET,
	[CLEW_NR_sendmmsg] = TRAIT_SOCKET,
	[CLEW_NR_recvfrom] = TRAIT_SOCKET,
	[CLEW_NR_recvmsg] = TRAIT_SOCKET,
	[CLEW_NR_recvmmsg] = TRAIT_SOCKET,
	[CLEW_NR_shutdown] = TRAIT_SOCKET,
	[CLEW_NR_bind] = TRAIT_SOCKET,
	[CLEW_NR_listen] = TRAIT_SOCKET,
	[CLEW_NR_setsockopt] = TRAIT_SOCKET,
	[CLEW_NR_getsockopt] = TRAIT_SOCKET,
	[CLEW_NR_getsockname] = TRAIT_SOCKET,
	[CLEW_NR_getpeername] = TRAIT_SOCKET,
	[CLEW_NR_socket] = TRAIT_SOCKET,
	[CLEW_NR_socketpair] = TRAIT_SOCKET,

	[CLEW_NR_futex] = TRAIT_FUTEX,
	[449] = TRAIT_FUTEX, /* futex_waitv */
	[454] = TRAIT_FUTEX, /* futex_wake */
	[455] = TRAIT_FUTEX, /* futex_wait */
	[456] = TRAIT_FUTEX, /* futex_requeue */

	[CLEW_NR_poll] = TRAIT_POLL,
	[CLEW_NR_ppoll] = TRAIT_POLL,
	[CLEW_NR_select] = TRAIT_POLL,
	[CLEW_NR_pselect6] = TRAIT_POLL,
	[CLEW_NR_epoll_wait] = TRAIT_POLL,
	[CLEW_NR_epoll_pwait] = TRAIT_POLL,
	[441] = TRAIT_POLL, /* epoll_pwait2 */

	[CLEW_NR_nanosleep] = TRAIT_SLEEP,
	[CLEW_NR_clock_nanosleep] = TRAIT_SLEEP,

	[CLEW_NR_pause] = TRAIT_SIGNAL,
	[CLEW_NR_rt_sigsuspend] = TRAIT_SIGNAL,
	[CLEW_NR_rt_sigtimedwait] = TRAIT_SIGNAL,

	[CLEW_NR_wait4] = TRAIT_CHILD,
	[CLEW_NR_waitid] = TRAIT_CHILD,

	[CLEW_NR_vfork] = TRAIT_VFORK,

	[CLEW_NR_msgrcv] = TRAIT_IPC,
	[CLEW_NR_msgsnd] = TRAIT_IPC,
	[CLEW_NR_semop] = TRAIT_IPC,
	[CLEW_NR_semtimedop] = TRAIT_IPC,
	[CLEW_NR_mq_open] = TRAIT_IPC,
	[CLEW_NR_mq_unlink] = TRAIT_IPC,
	[CLEW_NR_mq_timedsend] = TRAIT_IPC,
	[CLEW_NR_mq_timedreceive] = TRAIT_IPC,
	[CLEW_NR_mq_notify] = TRAIT_IPC,
	[CLEW_NR_mq_getsetattr] = TRAIT_IPC,

	[CLEW_NR_io_uring_enter] = TRAIT_IO_URING,
	[CLEW_NR_io_getevents] = TRAIT_IO_URING,
	[CLEW_NR_io_pgetevents] = TRAIT_IO_URING,
};

static enum call_trait trait_of(unsigned call)
{
	return call < sizeof(traits) ? traits[call] : TRAIT_NONE;
}

static enum clew_wait_kind classify_kernel_thread(const struct clew_wait *wait, unsigned state)
{
	if (wait->flags & CLEW_WAIT_FLAG_IOWAIT)
		return CLEW_WAIT_IO;
	/* Where the function was recorded, the sleep may be in the middle of a request. */
	if (state & (STATE_INTERRUPTIBLE | STATE_NOLOAD | STATE_PARKED) &&
	    wait->object_kind != CLEW_OBJECT_FUNCTION)
		return CLEW_WAIT_IDLE;
	return CLEW_WAIT_OTHER;
}

/* Calls whose kind of wait does not depend on the object. */
static int classify_by_call(enum call_trait trait)
{
	switch (trait) {
	case TRAIT_FUTEX:
		return CLEW_WAIT_FUTEX;
	case TRAIT_POLL:
		return CLEW_WAIT_POLL;
	case TRAIT_SLEEP:
		return CLEW_WAIT_SLEEP;
	case TRAIT_SIGNAL:
		return CLEW_WAIT_SIGNAL;
	case TRAIT_CHILD:
		return CLEW_WAIT_CHILD;
	case TRAIT_VFORK:
		return CLEW_WAIT_VFORK;
	case TRAIT_IPC:
		return CLEW_WAIT_IPC;
	case TRAIT_IO_URING:
		return CLEW_WAIT_IO_URING;
	case TRAIT_FSYNC:
		return CLEW_WAIT_FSYNC;
	default:
		return -1;
	}
}

static int classify_by_object(unsigned object, enum call_trait trait)
{
	switch (object) {
	case CLEW_OBJECT_PIPE:
		return CLEW_WAIT_PIPE;
	case CLEW_OBJECT_SOCKET:
		return CLEW_WAIT_SOCKET;
	case CLEW_OBJECT_EVENTFD:
		return CLEW_WAIT_EVENTFD;
	case CLEW_OBJECT_TTY:
		return CLEW_WAIT_TTY;
	case CLEW_OBJECT_IPC:
		return CLEW_WAIT_IPC;
	case CLEW_OBJECT_TIMERFD:
		return trait == TRAIT_READ ? CLEW_WAIT_SLEEP : CLEW_WAIT_OTHER;
	case CLEW_OBJECT_FILE:
	case CLEW_OBJECT_DEVICE:
		if (trait == TRAIT_READ)
			return CLEW_WAIT_READ;
		if (trait == TRAIT_WRITE)
			return CLEW_WAIT_WRITE;
		return CLEW_WAIT_FILE;
	case CLEW_OBJECT_PATH:
		return CLEW_WAIT_FILE;
	case CLEW_OBJECT_NONE:
	case CLEW_OBJECT_FUNCTION:
	case CLEW_OBJECT_CGROUP:
		return -1;
	default:
		return CLEW_WAIT_OTHER;
	}
}

/* Names up to a "+offset" or a compiler's ".suffix". */
static const struct {
	const char *pattern;
	enum clew_wait_kind kind;
} functions[] = {
	{"jbd2_log_wait_commit", CLEW_WAIT_JOURNAL},
	{"jbd2_journal_wait_updates", CLEW_WAIT_JOURNAL},
	{"jbd2_log_do_checkpoint", CLEW_WAIT_JOURNAL},
	{"jbd2_journal_lock_updates", CLEW_WAIT_JOURNAL},
	{"__jbd2_log_wait_for_space", CLEW_WAIT_JOURNAL},
	{"jbd2_fc_begin_commit", CLEW_WAIT_JOURNAL},
	{"wait_transaction_locked", CLEW_WAIT_JOURNAL},
	{"wait_transaction_switching", CLEW_WAIT_JOURNAL},
	{"add_transaction_credits", CLEW_WAIT_JOURNAL},
	{"start_this_handle", CLEW_WAIT_JOURNAL},
	{"do_get_write_access", CLEW_WAIT_JOURNAL},
	{"xlog_wait_on_iclog", CLEW_WAIT_JOURNAL},
	{"xlog_grant_head_wait", CLEW_WAIT_JOURNAL},
	{"xlog_cil_force_seq", CLEW_WAIT_JOURNAL},
	{"xlog_cil_push_work", CLEW_WAIT_JOURNAL},
	{"xlog_state_get_iclog_space", CLEW_WAIT_JOURNAL},
	{"xlog_wait", CLEW_WAIT_JOURNAL},
	{"xfs_log_force*", CLEW_WAIT_JOURNAL},
	{"xfs_ail_push_all_sync", CLEW_WAIT_JOURNAL},
	{"btrfs_commit_transaction*", CLEW_WAIT_JOURNAL},
	{"btrfs_wait_for_commit", CLEW_WAIT_JOURNAL},
	{"wait_for_commit", CLEW_WAIT_JOURNAL},
	{"wait_current_trans", CLEW_WAIT_JOURNAL},
	{"wait_log_commit", CLEW_WAIT_JOURNAL},
	{"__lock_sock", CLEW_WAIT_LOCK}, /* another call on the same socket holds it, and wakes the
					    next waiter */
	{"lock_sock_nested", CLEW_WAIT_LOCK},
	{"sk_stream_wait_close", CLEW_WAIT_SOCKET}, /* a close that lingers until all is sent */
	{"synchronize_rcu*", CLEW_WAIT_RCU},
	{"synchronize_srcu*", CLEW_WAIT_RCU},
	{"__synchronize_srcu*", CLEW_WAIT_RCU},
	{"rcu_barrier*", CLEW_WAIT_RCU},
	{"srcu_barrier*", CLEW_WAIT_RCU},
	{"*wait_rcu_gp*", CLEW_WAIT_RCU},
	{"*rcu_gp*", CLEW_WAIT_RCU},
	{"cond_synchronize_rcu*", CLEW_WAIT_RCU},
	{"__flush_work*", CLEW_WAIT_WORK},
	{"flush_work*", CLEW_WAIT_WORK},
	{"__flush_workqueue", CLEW_WAIT_WORK},
	{"flush_delayed_work", CLEW_WAIT_WORK},
	{"drain_workqueue", CLEW_WAIT_WORK},
	{"__cancel_work*", CLEW_WAIT_WORK},
	{"cancel_work_sync", CLEW_WAIT_WORK},
	{"cancel_delayed_work_sync", CLEW_WAIT_WORK},
	{"wait_for_completion*", CLEW_WAIT_WORK},
	{"io_wq_worker", CLEW_WAIT_IDLE}, /* for requests of io_uring */
	{"io_sq_thread", CLEW_WAIT_IDLE},
	{"__wait_for_common", CLEW_WAIT_WORK},
	{"rq_qos_wait", CLEW_WAIT_THROTTLE},
	{"blk_stat_timer_fn", CLEW_WAIT_THROTTLE}, /* the timer that resumes throttled tasks */
	{"mem_cgroup_handle_over_high", CLEW_WAIT_THROTTLE},
	{"__mem_cgroup_handle_over_high", CLEW_WAIT_THROTTLE},
	{"balance_dirty_pages*", CLEW_WAIT_THROTTLE},
	{"blkcg_maybe_throttle_*", CLEW_WAIT_THROTTLE},
};

int clew_function_kind(const char *name)
{
	char plain[128];

	if (snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(name, "+. ["), name) <= 0)
		return -1;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!fnmatch(functions[i].pattern, plain, 0))
			return functions[i].kind;
	return -1;
}

/* The kind that the kernel's reason proves, whatever the call; -1: none. */
static int classify_reason(const struct clew_wait *wait, int function_kind)
{
	switch (wait->reason) {
	case CLEW_REASON_LOCK:
		return CLEW_WAIT_LOCK;
	case CLEW_REASON_FILE_LOCK:
		return CLEW_WAIT_FILE;
	case CLEW_REASON_RECLAIM:
	case CLEW_REASON_COMPACTION:
	case CLEW_REASON_GROUP_RECLAIM:
		return CLEW_WAIT_MEMORY;
	case CLEW_REASON_QUOTA:
	case CLEW_REASON_DIRTY:
		return CLEW_WAIT_THROTTLE;
	case CLEW_REASON_RUNTIME:
		/* It gave up the rest of its runtime itself, until its next period. */
		return wait->call == CLEW_NR_sched_yield ? CLEW_WAIT_SLEEP : CLEW_WAIT_THROTTLE;
	case CLEW_REASON_FUNCTION:
		return function_kind;
	default:
		return -1;
	}
}

/* True of kinds whose own waits never count as I/O. */
static bool is_no_io(int kind)
{
	switch (kind) {
	case CLEW_WAIT_PIPE:
	case CLEW_WAIT_SOCKET:
	case CLEW_WAIT_EVENTFD:
	case CLEW_WAIT_TTY:
	case CLEW_WAIT_IPC:
	case CLEW_WAIT_FUTEX:
	case CLEW_WAIT_POLL:
	case CLEW_WAIT_SLEEP:
	case CLEW_WAIT_SIGNAL:
	case CLEW_WAIT_CHILD:
		return true;
	default:
		return false;
	}
}

/* The kind by the fault, the object and the call. */
static enum clew_wait_kind classify_own(const struct clew_wait *wait, unsigned state)
{
	enum call_trait trait;
	int kind;

	if (wait->flags & CLEW_WAIT_FLAG_FAULT)
		return CLEW_WAIT_FAULT;
	if (wait->flags & CLEW_WAIT_FLAG_KTHREAD)
		return classify_kernel_thread(wait, state);
	if (wait->flags & CLEW_WAIT_FLAG_VFORK)
		return CLEW_WAIT_VFORK;

	if (wait->call == CLEW_NO_CALL) {
		if (wait->flags & CLEW_WAIT_FLAG_IOWAIT)
			return CLEW_WAIT_IO;
		return wait->object_kind == CLEW_OBJECT_FUNCTION ? CLEW_WAIT_OTHER
								 : CLEW_WAIT_UNKNOWN;
	}
	trait = trait_of(wait->call);
	if (wait->call == CLEW_NR_splice && wait->splice_side == CLEW_SPLICE_OUT)
		trait = TRAIT_WRITE;
	/* It waits for the file that is sent, not for the descriptor that it is sent to. */
	if (wait->call == CLEW_NR_sendfile && wait->flags & CLEW_WAIT_FLAG_IOWAIT)
		trait = TRAIT_READ;
	kind = classify_by_call(trait);
	if (kind < 0)
		kind = classify_by_object(wait->object_kind, trait);
	/* A page of the memory that the call reads or writes: not every kernel reports such a
	 * fault. */
	if (wait->flags & CLEW_WAIT_FLAG_IOWAIT && is_no_io(kind))
		return CLEW_WAIT_IO;
	if (kind >= 0)
		return kind;
	if (trait == TRAIT_FILE)
		return CLEW_WAIT_FILE;
	if (trait == TRAIT_SOCKET)
		return CLEW_WAIT_SOCKET;
	/* close has removed the descriptor by then. */
	if (wait->call == CLEW_NR_close && wait->flags & CLEW_WAIT_FLAG_IOWAIT)
		return CLEW_WAIT_FILE;
	/* No object was looked up, but an I/O wait is for a file's data. */
	if (wait->flags & CLEW_WAIT_FLAG_IOWAIT && trait == TRAIT_READ)
		return CLEW_WAIT_READ;
	if (wait->flags & CLEW_WAIT_FLAG_IOWAIT && trait == TRAIT_WRITE)
		return CLEW_WAIT_WRITE;
	return CLEW_WAIT_OTHER;
}

/* The call's own kind says more than that the wait uses a work item. */
static bool says_more_than_work(enum clew_wait_kind own)
{
	return own != CLEW_WAIT_OTHER && own != CLEW_WAIT_UNKNOWN;
}

/* The same for an RCU grace period. But no file's data is waited for by one: such a file stands for
 * something in the kernel. */
static bool says_more_than_rcu(enum clew_wait_kind own)
{
	return says_more_than_work(own) && own != CLEW_WAIT_READ && own != CLEW_WAIT_WRITE &&
	       own != CLEW_WAIT_FILE;
}

bool clew_is_frozen(const struct clew_wait *wait, unsigned state)
{
	if (!wait || wait->flags & (CLEW_WAIT_FLAG_FAULT | CLEW_WAIT_FLAG_KTHREAD))
		return false;
	if (state & STATE_FROZEN || wait->reason == CLEW_REASON_FROZEN)
		return true;
	return wait->call == CLEW_NO_CALL && state & STATE_FREEZABLE &&
	       state & STATE_INTERRUPTIBLE && !(wait->flags & CLEW_WAIT_FLAG_VFORK);
}

enum clew_wait_kind clew_classify_wait(const struct clew_wait *wait, unsigned state,
				       int function_kind)
{
	enum clew_wait_kind own;
	int kind;

	if (state & (STATE_STOPPED | STATE_TRACED) || clew_is_frozen(wait, state))
		return CLEW_WAIT_STOPPED;
	if (!wait)
		return CLEW_WAIT_UNKNOWN;
	own = classify_own(wait, state);
	/* Without a call the function is the only evidence. */
	if (own == CLEW_WAIT_OTHER && wait->object_kind == CLEW_OBJECT_FUNCTION &&
	    (function_kind == CLEW_WAIT_RCU || function_kind == CLEW_WAIT_WORK ||
	     function_kind == CLEW_WAIT_IDLE))
		return (enum clew_wait_kind)function_kind;
	kind = classify_reason(wait, function_kind);
	if (kind < 0 && wait->flags & CLEW_WAIT_FLAG_UNSEEN)
		return CLEW_WAIT_UNKNOWN;
	if (kind < 0 || (kind == CLEW_WAIT_WORK && says_more_than_work(own)) ||
	    (kind == CLEW_WAIT_RCU && says_more_than_rcu(own)))
		return own;
	return (enum clew_wait_kind)kind;
}

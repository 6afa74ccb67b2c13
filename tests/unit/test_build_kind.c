/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests the kind of wait that a wait record proves.
 */
#include "builder/futex.h"
#include "builder/wake.h"
#include "synthetic.h"

static unsigned kind(struct clew_wait wait, unsigned state)
{
	return clew_classify_wait(&wait, state, -1);
}

static struct clew_wait flagged(struct clew_wait wait, unsigned flags)
{
	wait.flags = (__u8)flags;
	return wait;
}

static void calls_alone(void **state)
{
	static const struct {
		unsigned call, kind;
	} rows[] = {
		{SYS_futex, CLEW_WAIT_FUTEX},
		{449, CLEW_WAIT_FUTEX},
		{SYS_nanosleep, CLEW_WAIT_SLEEP},
		{SYS_clock_nanosleep, CLEW_WAIT_SLEEP},
		{SYS_pause, CLEW_WAIT_SIGNAL},
		{SYS_rt_sigsuspend, CLEW_WAIT_SIGNAL},
		{SYS_rt_sigtimedwait, CLEW_WAIT_SIGNAL},
		{SYS_wait4, CLEW_WAIT_CHILD},
		{SYS_waitid, CLEW_WAIT_CHILD},
		{SYS_vfork, CLEW_WAIT_VFORK},
		{SYS_msgrcv, CLEW_WAIT_IPC},
		{SYS_semop, CLEW_WAIT_IPC},
		{SYS_semtimedop, CLEW_WAIT_IPC},
		{SYS_mq_timedreceive, CLEW_WAIT_IPC},
		{SYS_epoll_wait, CLEW_WAIT_POLL},
		{441, CLEW_WAIT_POLL},
		{SYS_ppoll, CLEW_WAIT_POLL},
		{SYS_select, CLEW_WAIT_POLL},
		{SYS_io_uring_enter, CLEW_WAIT_IO_URING},
		{SYS_io_getevents, CLEW_WAIT_IO_URING},
		{SYS_sync, CLEW_WAIT_FSYNC},
		{SYS_msync, CLEW_WAIT_FSYNC},
		{SYS_openat, CLEW_WAIT_FILE},
		{SYS_rename, CLEW_WAIT_FILE},
		{SYS_execve, CLEW_WAIT_FILE},
		{SYS_getdents64, CLEW_WAIT_FILE},
		{SYS_accept4, CLEW_WAIT_SOCKET},
		{SYS_mmap, CLEW_WAIT_OTHER},
		{SYS_munmap, CLEW_WAIT_OTHER},
		{SYS_exit_group, CLEW_WAIT_OTHER},
		{SYS_read, CLEW_WAIT_OTHER},
		{CLEW_NO_CALL, CLEW_WAIT_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(kind(wait_in(rows[i].call), 1), rows[i].kind);
}

static void objects(void **state)
{
	static const struct {
		unsigned call, object, kind;
	} rows[] = {
		{SYS_read, CLEW_OBJECT_PIPE, CLEW_WAIT_PIPE},
		{SYS_write, CLEW_OBJECT_PIPE, CLEW_WAIT_PIPE},
		{SYS_splice, CLEW_OBJECT_PIPE, CLEW_WAIT_PIPE},
		{SYS_read, CLEW_OBJECT_SOCKET, CLEW_WAIT_SOCKET},
		{SYS_sendfile, CLEW_OBJECT_SOCKET, CLEW_WAIT_SOCKET},
		{SYS_read, CLEW_OBJECT_EVENTFD, CLEW_WAIT_EVENTFD},
		{SYS_read, CLEW_OBJECT_TIMERFD, CLEW_WAIT_SLEEP},
		{SYS_read, CLEW_OBJECT_SIGNALFD, CLEW_WAIT_OTHER},
		{SYS_read, CLEW_OBJECT_INOTIFY, CLEW_WAIT_OTHER},
		{SYS_read, CLEW_OBJECT_TTY, CLEW_WAIT_TTY},
		{SYS_read, CLEW_OBJECT_FILE, CLEW_WAIT_READ},
		{SYS_pread64, CLEW_OBJECT_FILE, CLEW_WAIT_READ},
		{SYS_preadv2, CLEW_OBJECT_DEVICE, CLEW_WAIT_READ},
		{SYS_pwrite64, CLEW_OBJECT_FILE, CLEW_WAIT_WRITE},
		{SYS_fdatasync, CLEW_OBJECT_FILE, CLEW_WAIT_FSYNC},
		{SYS_sync_file_range, CLEW_OBJECT_FILE, CLEW_WAIT_FSYNC},
		{SYS_getdents64, CLEW_OBJECT_FILE, CLEW_WAIT_FILE},
		{SYS_ftruncate, CLEW_OBJECT_FILE, CLEW_WAIT_FILE},
		{SYS_openat, CLEW_OBJECT_PATH, CLEW_WAIT_FILE},
		{SYS_epoll_wait, CLEW_OBJECT_EPOLL, CLEW_WAIT_POLL},
		{SYS_splice, CLEW_OBJECT_FILE, CLEW_WAIT_READ},
		{SYS_munmap, CLEW_OBJECT_FUNCTION, CLEW_WAIT_OTHER},
		{SYS_wait4, CLEW_OBJECT_CHILD, CLEW_WAIT_CHILD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(kind(wait_on(rows[i].call, rows[i].object, 1), 1), rows[i].kind);
}

static void splice_out(void **state)
{
	struct clew_wait wait = wait_on(SYS_splice, CLEW_OBJECT_FILE, 1);

	(void)state;
	wait.futex_operation = CLEW_SPLICE_OUT;
	assert_int_equal(kind(wait, 2), CLEW_WAIT_WRITE);
	wait.object_kind = CLEW_OBJECT_SOCKET;
	assert_int_equal(kind(wait, 1), CLEW_WAIT_SOCKET);
}

static void states_and_flags(void **state)
{
	(void)state;
	assert_int_equal(kind(wait_in(SYS_nanosleep), 4), CLEW_WAIT_STOPPED);
	assert_int_equal(kind(wait_in(SYS_read), 8), CLEW_WAIT_STOPPED);
	assert_int_equal(clew_classify_wait(NULL, 4, -1), CLEW_WAIT_STOPPED);
	assert_int_equal(clew_classify_wait(NULL, 1, -1), CLEW_WAIT_UNKNOWN);
	assert_int_equal(
		kind(flagged(wait_on(SYS_read, CLEW_OBJECT_FILE, 1), CLEW_WAIT_FLAG_FAULT), 2),
		CLEW_WAIT_FAULT);
	assert_int_equal(kind(flagged(wait_in(CLEW_NO_CALL), CLEW_WAIT_FLAG_FAULT), 2),
			 CLEW_WAIT_FAULT);
	assert_int_equal(kind(flagged(wait_in(CLEW_NO_CALL), CLEW_WAIT_FLAG_KTHREAD), 1),
			 CLEW_WAIT_IDLE);
	assert_int_equal(kind(flagged(wait_in(CLEW_NO_CALL), CLEW_WAIT_FLAG_KTHREAD), 0x402),
			 CLEW_WAIT_IDLE);
	assert_int_equal(kind(flagged(wait_in(CLEW_NO_CALL), CLEW_WAIT_FLAG_KTHREAD), 2),
			 CLEW_WAIT_OTHER);
	assert_int_equal(
		kind(flagged(wait_in(CLEW_NO_CALL), CLEW_WAIT_FLAG_KTHREAD | CLEW_WAIT_FLAG_IOWAIT),
		     2),
		CLEW_WAIT_IO);
	assert_int_equal(kind(flagged(wait_in(CLEW_NO_CALL), CLEW_WAIT_FLAG_IOWAIT), 2),
			 CLEW_WAIT_IO);
	assert_int_equal(kind(flagged(wait_in(SYS_read), CLEW_WAIT_FLAG_IOWAIT), 2),
			 CLEW_WAIT_READ);
	assert_int_equal(
		kind(flagged(wait_on(SYS_sendfile, CLEW_OBJECT_FILE, 7), CLEW_WAIT_FLAG_IOWAIT), 2),
		CLEW_WAIT_READ);
	assert_int_equal(kind(flagged(wait_in(SYS_close), CLEW_WAIT_FLAG_IOWAIT), 2),
			 CLEW_WAIT_FILE);
	assert_int_equal(kind(flagged(wait_in(SYS_clone), CLEW_WAIT_FLAG_VFORK), 2),
			 CLEW_WAIT_VFORK);
	/* A page of the memory that they read or write. */
	assert_int_equal(
		kind(flagged(wait_on(SYS_read, CLEW_OBJECT_PIPE, 7), CLEW_WAIT_FLAG_IOWAIT), 2),
		CLEW_WAIT_IO);
	assert_int_equal(kind(flagged(wait_in(SYS_poll), CLEW_WAIT_FLAG_IOWAIT), 2), CLEW_WAIT_IO);
	/* Frozen by the second version of groups, by the first, and others' wait for a core dump.
	 */
	assert_int_equal(kind(wait_in(CLEW_NO_CALL), 0x2001), CLEW_WAIT_STOPPED);
	assert_int_equal(kind(wait_in(CLEW_NO_CALL), 0x8000), CLEW_WAIT_STOPPED);
	assert_int_equal(kind(wait_in(CLEW_NO_CALL), 0x2402), CLEW_WAIT_UNKNOWN);
	assert_int_equal(kind(wait_on(CLEW_NO_CALL, CLEW_OBJECT_FUNCTION, 7), 2), CLEW_WAIT_OTHER);
}

static void functions(void **state)
{
	struct clew_wait in_function[] = {wait_on(SYS_write, CLEW_OBJECT_FILE, 7),
					  wait_on(SYS_fsync, CLEW_OBJECT_FILE, 7)};
	struct clew_wait kernel =
		flagged(wait_on(CLEW_NO_CALL, CLEW_OBJECT_FUNCTION, 7), CLEW_WAIT_FLAG_KTHREAD);

	in_function[0].reason = in_function[1].reason = CLEW_REASON_FUNCTION;
	(void)state;
	assert_int_equal(clew_function_kind("__lock_sock+0x8f/0xe0"), CLEW_WAIT_LOCK);
	assert_int_equal(clew_function_kind("synchronize_rcu_expedited"), CLEW_WAIT_RCU);
	assert_int_equal(clew_function_kind("jbd2_log_wait_commit.constprop.0+0x10/0x90"),
			 CLEW_WAIT_JOURNAL);
	assert_int_equal(clew_function_kind("lock_sock"), -1);
	assert_int_equal(clew_function_kind(""), -1);
	assert_int_equal(clew_classify_wait(&in_function[0], 2, CLEW_WAIT_RCU), CLEW_WAIT_RCU);
	assert_int_equal(clew_classify_wait(&in_function[0], 2, CLEW_WAIT_WORK), CLEW_WAIT_WRITE);
	assert_int_equal(clew_classify_wait(&in_function[1], 2, CLEW_WAIT_RCU), CLEW_WAIT_FSYNC);
	/* Kernel threads wait for grace periods and work items, too. */
	assert_int_equal(clew_classify_wait(&kernel, 2, CLEW_WAIT_RCU), CLEW_WAIT_RCU);
	assert_int_equal(clew_classify_wait(&kernel, 2, CLEW_WAIT_WORK), CLEW_WAIT_WORK);
	assert_int_equal(clew_classify_wait(&kernel, 2, -1), CLEW_WAIT_OTHER);
	/* Workers of io_uring sleep interruptibly both for requests and within one. */
	assert_int_equal(clew_function_kind("io_wq_worker+0x1f0/0x3a0"), CLEW_WAIT_IDLE);
	assert_int_equal(clew_classify_wait(&kernel, 1, CLEW_WAIT_IDLE), CLEW_WAIT_IDLE);
	assert_int_equal(clew_classify_wait(&kernel, 1, -1), CLEW_WAIT_OTHER);
}

/* A program that would have said more was refused: the kind is what is proved, or unknown. */
static void unseen_reasons(void **state)
{
	struct clew_wait wait = {
		.call = SYS_read, .object_kind = CLEW_OBJECT_PIPE, .flags = CLEW_WAIT_FLAG_UNSEEN};

	(void)state;
	assert_int_equal(clew_classify_wait(&wait, 2, -1), CLEW_WAIT_UNKNOWN);
	assert_int_equal(clew_classify_wait(&wait, 4, -1), CLEW_WAIT_STOPPED);
	wait.reason = CLEW_REASON_FUNCTION;
	assert_int_equal(clew_classify_wait(&wait, 2, CLEW_WAIT_JOURNAL), CLEW_WAIT_JOURNAL);
	wait.reason = CLEW_REASON_RECLAIM;
	assert_int_equal(clew_classify_wait(&wait, 2, -1), CLEW_WAIT_MEMORY);
	wait.reason = 0;
	wait.flags = 0;
	assert_int_equal(clew_classify_wait(&wait, 2, -1), CLEW_WAIT_PIPE);
}

/* A task of a real-time kernel sleeps for a spinlock, and which one is not known. */
static void locks_without_object(void **state)
{
	const unsigned rtlock_wait = 0x1000;
	struct clew_wait wait = {.call = SYS_read, .descriptor = -1, .reason = CLEW_REASON_LOCK};
	struct clew_wait thread = {.call = CLEW_NO_CALL,
				   .descriptor = -1,
				   .reason = CLEW_REASON_LOCK,
				   .flags = CLEW_WAIT_FLAG_KTHREAD};
	const struct wake wake = {.context = CLEW_WAKE_TASK};

	(void)state;
	assert_int_equal(clew_classify_wait(&wait, rtlock_wait, -1), CLEW_WAIT_LOCK);
	assert_int_equal(clew_classify_wait(&thread, rtlock_wait, -1), CLEW_WAIT_LOCK);
	assert_int_equal(build_edge_type(CLEW_WAIT_LOCK, &wait, rtlock_wait, &wake),
			 CLEW_EDGE_UNLOCK);
	/* That the task that released it held it was observed, and is not certain. */
	assert_false(build_owner_known(&wait));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locks_without_object),
		cmocka_unit_test(unseen_reasons),
		cmocka_unit_test(calls_alone),
		cmocka_unit_test(objects),
		cmocka_unit_test(splice_out),
		cmocka_unit_test(states_and_flags),
		cmocka_unit_test(functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

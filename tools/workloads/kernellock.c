/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks of the kernel with a holder that is kept asleep: it works in a call with the
 * lock and meets a page that comes only later (userfaultfd). Two others wait for the
 * lock then, one after the other. Variants: position (mutex of an open file's
 * position), inode (rwsem, held to write), directory (rwsem, held to read), freeze
 * (percpu-rwsem: a frozen file system).
 */
#include <linux/userfaultfd.h>

#include "disk.h"

enum { ORDER };
enum way { POSITION, INODE, DIRECTORY, FREEZE };

static enum way way;
static int userfault, director, holder, waiters[2], file, files[2], place, rounds;
static char *region, name[64];

static void act_with_lock(int self)
{
	for (int round = 0; round < rounds; round++) {
		char *page = region + (uint64_t)round * 4096;

		wl_await(&wl->numbers[ORDER], 4 * round + 1);
		if (way == DIRECTORY)
			WL_CHECK(lseek(file, 0, SEEK_SET));
		wl->tasks[self].before = wl_now();
		if (way == POSITION)
			WL_CHECK(read(file, page, 16));
		else if (way == INODE)
			WL_CHECK(pwrite(file, page, 16, 0));
		else
			WL_CHECK(syscall(SYS_getdents64, file, page, 4096));
		wl->tasks[self].leaving = wl_now();
		atomic_store(&wl->tasks[self].step, 1);
	}
}

/* The waiter's call, which needs the lock. */
static void want(int me)
{
	char from[96], to[96];

	switch (way) {
	case POSITION:
		WL_CHECK(lseek(file, 0, SEEK_SET));
		break;
	case INODE:
	case FREEZE:
		WL_CHECK(pwrite(files[me], "x", 1, 0));
		break;
	default:
		snprintf(from, sizeof(from), "%s/%d", name, me);
		snprintf(to, sizeof(to), "%s/%d-", name, me);
		WL_CHECK(me == 0 ? rename(from, to) : unlink(from));
	}
}

static void restore(int me)
{
	char from[96], to[96];

	if (way != DIRECTORY)
		return;
	snprintf(from, sizeof(from), "%s/%d", name, me);
	snprintf(to, sizeof(to), "%s/%d-", name, me);
	if (me == 0)
		WL_CHECK(rename(to, from));
	else
		close(WL_CHECK(open(from, O_CREAT | O_RDWR | O_CLOEXEC, 0600)));
}

static void wait_for_lock(int self)
{
	int me = self - waiters[0];

	for (int round = 0; round < rounds; round++) {
		wl_await(&wl->numbers[ORDER], 4 * round + 2 + me);
		wl->tasks[self].before = wl_now();
		want(me);
		wl->tasks[self].leaving = wl_now();
		atomic_store(&wl->tasks[self].step, 1);
	}
}

static long waiter_call(int me)
{
	return way == POSITION	  ? SYS_lseek
	       : way == DIRECTORY ? (me ? SYS_unlink : SYS_rename)
				  : SYS_pwrite64;
}

static const char *waiter_call_name(int me)
{
	return way == POSITION	  ? "lseek"
	       : way == DIRECTORY ? (me ? "unlink" : "rename")
				  : "pwrite64";
}

/* `by` let go between two moments and `task` had the lock. */
static struct wl_wait *log_release(int by, int task, uint64_t at_min, uint64_t at_max,
				   const char *call)
{
	struct wl_edge *edge = wl_edge("unlock", by, task, at_min, "lock");
	struct wl_wait *wait = wl_wait(task, "lock", call, "lock");

	edge->at_max = at_max;
	/* A reader holds no lock by name. */
	if (way >= DIRECTORY)
		wl_copy(edge->evidence, sizeof(edge->evidence), "exact|observed");
	wl_wait_times(wait, wl->tasks[task].before, at_min, at_max);
	wait->ended_by = by;
	wait->holder_count = WL_UNCHECKED;
	return wait;
}

/* In a real-time kernel an rtmutex is inside both. */
static const char *lock_type(void)
{
	if (access("/sys/kernel/realtime", F_OK) == 0)
		return "rtmutex";
	return way == POSITION ? "mutex" : "rwsem";
}

static void log_same(uint64_t from, uint64_t to, const char *type)
{
	static const char *const members[] = {"f_pos_lock", "i_rwsem", "i_rwsem", "s_writers"};
	char of[PATH_MAX], path[96];

	snprintf(path, sizeof(path), "%s%s", way == FREEZE ? wl_place("ext4") : name,
		 way < DIRECTORY ? "/0" : "");
	if (!realpath(path, of))
		wl_die("%s: %s", path, strerror(errno));
	wl_rule("\"rule\":\"locks\",\"tids\":[%d,%d],\"from\":%llu,\"to\":%llu,\"count\":[2,2],"
		"\"type\":\"%s\",\"member\":\"%s\",\"of\":\"%s\",\"origins\":[%d,%d,%d]",
		wl->tasks[waiters[0]].tid, wl->tasks[waiters[1]].tid, (unsigned long long)from,
		(unsigned long long)to, type, members[way], strrchr(of, '/') + 1,
		wl->tasks[holder].tid, wl->tasks[waiters[0]].tid, wl->tasks[waiters[1]].tid);
}

/* Lets both waiters come to rest at the lock, the first one first. */
static void set_waiters(int round)
{
	for (int me = 0; me < 2; me++) {
		atomic_store(&wl->numbers[ORDER], 4 * round + 2 + me);
		wl_await_blocked(waiters[me], waiter_call(me), WL_ANY_ARGUMENT);
	}
	wl_sleep(wl_random(1, 5) * 500000);
}

static void await_done(int task)
{
	wl_await(&wl->tasks[task].step, 1);
	atomic_store(&wl->tasks[task].step, 0);
}

static void direct_holder(int self)
{
	static const long calls[] = {SYS_read, SYS_pwrite64, SYS_getdents64};
	static const char *const names[] = {"read", "pwrite64", "getdents64"};

	for (int round = 0; round < rounds; round++) {
		struct uffdio_zeropage zero = {.range = {.len = 4096}};
		struct uffd_msg message;
		uint64_t from = wl_now();
		struct wl_wait *wait;
		struct wl_act act;

		atomic_store(&wl->numbers[ORDER], 4 * round + 1);
		wl_await_blocked(holder, calls[way], file);
		if (WL_CHECK(read(userfault, &message, sizeof(message))) != sizeof(message) ||
		    message.event != UFFD_EVENT_PAGEFAULT)
			wl_die("not a page fault");
		set_waiters(round);
		zero.range.start = message.arg.pagefault.address & ~4095ull;
		act = wl_act(self, holder);
		WL_CHECK(ioctl(userfault, UFFDIO_ZEROPAGE, &zero));
		wl_acted(&act, "wake", "fault", names[way], "");
		await_done(holder);
		for (int me = 0; me < 2; me++)
			await_done(waiters[me]);
		wait = log_release(holder, waiters[0], act.at_min, wl->tasks[waiters[0]].leaving,
				   waiter_call_name(0));
		if (way != DIRECTORY) {
			wait->holder_count = 0;
			wl_add_holder(wait, holder, act.at_min, wl->tasks[waiters[0]].leaving);
		}
		wait = log_release(waiters[0], waiters[1], act.at_min,
				   wl->tasks[waiters[1]].leaving, waiter_call_name(1));
		if (way != DIRECTORY) {
			wait->holder_count = 0;
			wl_add_holder(wait, holder, act.at_min, wl->tasks[waiters[0]].leaving);
			wl_add_holder(wait, waiters[0], act.at_min, wl->tasks[waiters[1]].leaving);
		}
		wait->start_max = act.at_min;
		log_same(from, wl_now(), lock_type());
		for (int me = 0; me < 2; me++)
			restore(me);
	}
}

static void freeze(int self)
{
	holder = self;
	for (int round = 0; round < rounds; round++) {
		uint64_t from, at_min, at_max = 0;

		WL_CHECK(ioctl(place, FIFREEZE, 0));
		from = wl_now();
		set_waiters(round);
		at_min = wl_now();
		WL_CHECK(ioctl(place, FITHAW, 0));
		for (int me = 0; me < 2; me++) {
			await_done(waiters[me]);
			if (wl->tasks[waiters[me]].leaving > at_max)
				at_max = wl->tasks[waiters[me]].leaving;
		}
		for (int me = 0; me < 2; me++)
			log_release(self, waiters[me], at_min, at_max, waiter_call_name(me));
		log_same(from, wl_now(), "percpu-rwsem");
	}
}

static void direct(int self)
{
	if (way == FREEZE)
		freeze(self);
	else
		direct_holder(self);
}

static void make_files(void)
{
	const char *top = way == FREEZE ? wl_place("ext4") : way == DIRECTORY ? "/dev/shm" : ".";
	char path[96];

	snprintf(name, sizeof(name), "%.40s/workload-XXXXXX", top);
	if (!mkdtemp(name))
		wl_die("%s: %s", name, strerror(errno));
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%d", name, way >= DIRECTORY ? i : 0);
		files[i] = WL_CHECK(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	}
	WL_CHECK(pwrite(files[0], name, sizeof(name), 0));
	file = WL_CHECK(way == DIRECTORY ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
					 : dup(files[0]));
	place = WL_CHECK(open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static void remove_files(void)
{
	char path[96];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%d", name, i);
		unlink(path);
	}
	rmdir(name);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "kernellock");
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register registration = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	const char *variant = wl->variant;

	way = strcmp(variant, "position") == 0	  ? POSITION
	      : strcmp(variant, "inode") == 0	  ? INODE
	      : strcmp(variant, "directory") == 0 ? DIRECTORY
						  : FREEZE;
	userfault = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (userfault < 0)
		wl_skip("userfaultfd is refused");
	rounds = wl_random(3, 6);
	WL_CHECK(ioctl(userfault, UFFDIO_API, &api));
	region = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	registration.range.start = (unsigned long)region;
	registration.range.len = 16 * 4096;
	WL_CHECK(ioctl(userfault, UFFDIO_REGISTER, &registration));
	make_files();
	waiters[0] = self + 1;
	waiters[1] = self + 2;
	director = self + 3;
	holder = self + 4;
	wl_thread(self, wait_for_lock);
	wl_thread(self, wait_for_lock);
	if (way == FREEZE) {
		holder = director;
		wl_thread(self, direct);
	} else {
		wl_thread(self, direct);
		wl_thread(self, act_with_lock);
	}
	for (int task = waiters[0]; task < wl->task_count; task++)
		wl_join(self, task);
	remove_files();
	wl_print();
	return 0;
}

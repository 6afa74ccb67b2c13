/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Five steps deep: a process waits for its child, which reads a pipe, whose writer
 * waits for a thread's end, which waits for a mutex, whose holder writes to a disk.
 */
#include "disk.h"

enum { LOCKED };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int reader, writer, locker, holder, ends[2];
static struct disk_file file;
static char *buffer;

/* The observations of each, in memory of both processes. */
struct seen {
	uint64_t disk_start;
	uint64_t disk_end;
};
static struct seen *seen;

static void hold(int self)
{
	struct wl_act act;

	pthread_mutex_lock(&mutex);
	atomic_store(&wl->numbers[LOCKED], 1);
	wl_await_blocked(locker, SYS_futex, (unsigned long)&mutex);
	wl_await_blocked(writer, SYS_futex, WL_ANY_ARGUMENT);
	wl_await_blocked(reader, SYS_read, ends[0]);
	wl_await_blocked(0, SYS_wait4, WL_ANY_ARGUMENT);
	seen->disk_start = wl_now();
	for (int i = 0; i < 12; i++)
		WL_CHECK(pwrite(file.fd, buffer, DISK_BLOCK,
				(uint64_t)wl_random(0, 255) * DISK_BLOCK));
	seen->disk_end = wl_now();
	act = wl_act(self, locker);
	pthread_mutex_unlock(&mutex);
	wl_add_holder(wl_acted(&act, "unlock", "futex", "futex", "futex"), self, act.at_min,
		      wl_now());
}

static void take_lock(int self)
{
	wl_await(&wl->numbers[LOCKED], 1);
	wl->tasks[self].before = wl_now();
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void write_after_thread(int self)
{
	struct wl_act act;

	wl_await(&wl->numbers[LOCKED], 1);
	wl_join(self, locker);
	act = wl_act(self, reader);
	WL_CHECK(write(ends[1], "x", 1));
	wl_acted(&act, "pipe", "pipe", "read", "pipe");
}

/* The number of this process's threads. */
static int threads(void)
{
	struct stat status;

	WL_CHECK(stat("/proc/self/task", &status));
	return (int)status.st_nlink - 2;
}

static void run_child(int self)
{
	uint64_t deadline = 0;
	char byte;

	writer = self + 1;
	locker = self + 2;
	wl_thread(self, write_after_thread);
	wl_thread(self, take_lock);
	wl_thread(self, hold);
	wl->tasks[self].before = wl_now();
	WL_CHECK(read(ends[0], &byte, 1));
	/* They wait to be joined, at the very end. */
	wl_join(self, holder);
	wl_join(self, writer);
	/* The last of a process to end is who tells the parent: let that be this one. */
	while (threads() > 1)
		wl_nap(&deadline, "threads to be gone");
}

/* So many of the tasks, in the order in which each waits for the next. */
static void set_chain(struct wl_charge *charge, int first, int count)
{
	charge->chain_count = count;
	for (int i = 0; i < count; i++)
		charge->chain[i] = first + i;
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "deep");
	struct wl_charge *charge;
	struct wl_fact *fact;
	uint64_t disk;

	wl_place("ext4");
	seen = wl_shared(sizeof(*seen));
	buffer = mmap(NULL, DISK_BLOCK, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	disk_create(&file, "ext4", 256, O_DIRECT | O_DSYNC, true);
	WL_CHECK(pipe(ends));
	reader = self + 1;
	holder = self + 4;
	wl_fork(self, run_child);
	wl_reap(self, reader);
	fact = wl_fact(self, seen->disk_start, wl_now());
	disk = seen->disk_end - seen->disk_start;
	set_chain(wl_charge(fact, holder, "device|queued", disk / 20, disk), self, 5);
	/* With what it ran in between, and a worker that tells it of each write's end: all that the
	 * locker waits for. */
	charge = wl_charge(fact, WL_NOBODY, "*", disk * 9 / 10, fact->to - fact->from);
	set_chain(charge, self, 4);
	charge->behind = true;
	wl_print();
	return 0;
}

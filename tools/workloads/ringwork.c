/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One waits for requests of io_uring that workers of the ring serve. Variants: pipe
 * (each of some workers moves a byte out of a pipe of its own, and another task writes
 * these bytes after a sleep), deferred (the same, but the waiter posts the completions
 * itself), sync-ext4 (one worker at a time writes to a file and has it written back).
 */
#include <dirent.h>

#include "disk.h"
#include "ring.h"

#define MOST	     4 /* requests at a time */
#define SYNC_BLOCKS  64u
#define SETUP_SINGLE (1u << 12) /* IORING_SETUP_SINGLE_ISSUER, .._DEFER_TASKRUN: since 6.1 */
#define SETUP_DEFER  (1u << 13)

enum { WAITING, COUNT };

static int laps, waiter, sink[2], ends[MOST][2];
static bool deferred;
static struct ring ring;
static struct disk_file file;
static char *buffer;

/* The operation that the caller submitted in at_min..at_max is the one for which it then waited in
 * so many sleeps. The ring wakes its submitter for its own ends, too, as to make another worker. */
static void tell_wait(int self, uint64_t at_min, uint64_t at_max, uint64_t after, long sleeps)
{
	uint64_t before = wl->tasks[self].before;
	struct wl_edge *edge = wl_edge("io_uring", self, self, at_min, "");
	struct wl_wait *wait;

	edge->at_max = at_max;
	edge->until = after;
	edge->optional = sleeps > 1;
	if (sleeps > 1)
		return;
	wait = wl_wait(self, "io_uring", "io_uring_enter", "io_uring");
	wl_wait_times(wait, before, before, after);
	wait->start_max = wait->end_max;
}

static void await_bytes(int self)
{
	if (deferred)
		WL_CHECK(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_ENABLE_RINGS, NULL,
				 0));
	for (int lap = 0; lap < laps; lap++) {
		int count = wl_random(1, MOST);
		uint64_t after;
		char bytes[MOST];

		atomic_store(&wl->numbers[COUNT], count);
		for (int i = 0; i < count; i++) {
			struct io_uring_sqe *entry =
				&ring.entries[*ring.submit_tail & *ring.submit_mask];

			ring_prepare(&ring, IORING_OP_SPLICE, sink[1], (uint64_t)-1, NULL, 1, 0,
				     lap);
			entry->splice_off_in = (uint64_t)-1;
			entry->splice_fd_in = ends[i][0];
		}
		ring_enter(&ring, count, 0);
		wl->tasks[self].before = wl_now();
		atomic_store(&wl->numbers[WAITING], lap + 1);
		ring_enter(&ring, 0, count);
		after = wl_now();
		wl->tasks[self].leaving = after;
		for (int i = 0; i < count; i++)
			ring_take(&ring, lap);
		if (WL_CHECK(read(sink[0], bytes, sizeof(bytes))) != count)
			wl_die("bytes were lost");
		atomic_store(&wl->tasks[self].step, 1);
		wl_await(&wl->tasks[self].step, 0);
	}
}

/* The number of the ring's workers that wait at a pipe. */
static int count_workers(void)
{
	char path[300], function[32];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int count = 0;

	while (tasks && (task = readdir(tasks))) {
		FILE *wchan;

		snprintf(path, sizeof(path), "/proc/self/task/%s/wchan", task->d_name);
		wchan = fopen(path, "re");
		if (!wchan)
			continue;
		count += fscanf(wchan, "%31s", function) == 1 &&
			 strncmp(function, "pipe_wait", 9) == 0;
		fclose(wchan);
	}
	if (tasks)
		closedir(tasks);
	return count;
}

/* The waiter's time is that of the one who sleeps before he writes: by way of a worker. */
static void write_bytes(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		uint64_t asleep = wl_random(5, 20) * 1000000, deadline = 0;
		struct wl_charge *charge;
		struct wl_fact *fact;
		int count, first;

		wl_await(&wl->numbers[WAITING], lap + 1);
		count = wl->numbers[COUNT];
		while (count_workers() < count)
			wl_nap(&deadline, "workers");
		/* A worker that goes to sleep may have its submitter make another one. */
		wl_sleep(2000000);
		wl_await_blocked(waiter, SYS_io_uring_enter, ring.fd);
		first = wl_random(0, count - 1);
		wl_sleep(asleep);
		for (int i = 0; i < count; i++) {
			WL_CHECK(write(ends[(first + i) % count][1], "x", 1));
			wl_spin(wl_random(10000, 200000));
		}
		wl_await(&wl->tasks[waiter].step, 1);
		fact = wl_fact(waiter, wl->tasks[waiter].before, wl->tasks[waiter].leaving);
		snprintf(fact->says, sizeof(fact->says), "-%d <- (io_uring) |<- (|slept",
			 wl->tasks[waiter].tid);
		charge = wl_charge(fact, self, "sleep", asleep - asleep / 50 - 200000,
				   fact->to - fact->from);
		charge->chain[charge->chain_count++] = waiter;
		charge->behind = true;
		wl_copy(charge->hops, sizeof(charge->hops),
			"io_uring:io_uring:|other:function:*|sleep:timer:wake");
		atomic_store(&wl->tasks[waiter].step, 0);
	}
}

/* One request at a time: a write, and then all of it to the disk. */
static void write_back(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		struct wl_charge *charge;
		struct wl_fact *fact;
		uint64_t from, to = 0;
		long preemptions = wl_preemptions();

		from = wl_now();
		for (int sync = 0; sync < 2; sync++) {
			uint64_t at_min, at_max;
			long switches;

			ring_prepare(&ring, sync ? IORING_OP_FSYNC : IORING_OP_WRITE, file.fd,
				     sync ? 0 : lap % SYNC_BLOCKS * DISK_BLOCK,
				     sync ? NULL : buffer, sync ? 0 : DISK_BLOCK, IOSQE_ASYNC, lap);
			at_min = wl_now();
			ring_enter(&ring, 1, 0);
			at_max = wl_now();
			switches = wl_voluntary_switches();
			wl->tasks[self].before = wl_now();
			ring_enter(&ring, 0, 1);
			to = wl_now();
			ring_take(&ring, lap);
			switches = wl_voluntary_switches() - switches;
			if (switches)
				tell_wait(self, at_min, at_max, to, switches);
		}
		fact = wl_fact(self, from, to);
		/* The disk may be done before one that had no CPU fell asleep. */
		charge = wl_charge(fact, WL_NOBODY, "device",
				   wl_preemptions() == preemptions ? 1000 : 0, to - from);
		charge->chain[charge->chain_count++] = self;
		charge->behind = true;
		wl_charge(fact, WL_NOBODY, "unknown", 0, (to - from) / 10);
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "ringwork");
	bool syncs = strcmp(wl->variant, "sync-ext4") == 0;

	if (syncs)
		wl_copy(wl->claims, sizeof(wl->claims),
			"fork exec exit vfork unlock pipe socket eventfd ipc signal wake io_uring");
	deferred = strcmp(wl->variant, "deferred") == 0;
	laps = wl_random(3, 8);
	waiter = self + 1;
	if (syncs) {
		buffer = wl_shared(DISK_BLOCK);
		disk_create(&file, "ext4", SYNC_BLOCKS, 0, true);
	}
	WL_CHECK(pipe(sink));
	for (int i = 0; i < MOST; i++)
		WL_CHECK(pipe(ends[i]));
	/* Where completions are deferred, who enables the ring is the one who may submit. */
	if (!ring_open(&ring, deferred ? SETUP_SINGLE | SETUP_DEFER | IORING_SETUP_R_DISABLED : 0))
		wl_skip(errno == ENOSYS ? "no such call: io_uring" : "io_uring is refused");
	wl_thread(self, syncs ? write_back : await_bytes);
	if (!syncs)
		wl_thread(self, write_bytes);
	for (int task = waiter; task < wl->task_count; task++)
		wl_join(self, task);
	wl_print();
	return 0;
}

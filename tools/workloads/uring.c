/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions of io_uring and libaio, by their system calls alone. Variants: pipe
 * (another task's write completes a read of the ring), other (another task submits
 * what one waits for), file-ext4, file-xfs (a disk completes it), worker-ext4 (a
 * worker of the ring does it), polled (the submitter looks itself whether the disk is
 * done); aio-ext4, aio-xfs (libaio, one's own), aio-other-ext4 (another task submits).
 */
#include <linux/aio_abi.h>

#include "disk.h"
#include "ring.h"

#define BLOCKS 256u

enum { WAITING };

static int laps, submitter, waiter, ends[2];
static struct ring ring;
static struct disk_file file;
static aio_context_t context;
static char *buffer;
static bool is_aio, polled;

/* Submits a read of a random block, whose place it returns; it need not have ended when this does.
 */
static uint64_t submit_read(int lap)
{
	uint64_t offset = wl_random(0, BLOCKS - 1) * DISK_BLOCK;
	struct iocb block = {.aio_lio_opcode = IOCB_CMD_PREAD,
			     .aio_fildes = file.fd,
			     .aio_buf = (unsigned long)buffer};
	struct iocb *blocks[] = {&block};
	bool worker = strncmp(wl->variant, "worker", 6) == 0;

	block.aio_nbytes = DISK_BLOCK;
	block.aio_offset = offset;
	block.aio_data = lap;
	if (is_aio) {
		if (WL_CHECK(syscall(SYS_io_submit, context, 1L, blocks)) != 1)
			wl_die("io_submit took none");
		return offset;
	}
	ring_prepare(&ring, IORING_OP_READ, file.fd, offset, buffer, DISK_BLOCK,
		     worker ? IOSQE_ASYNC : 0, lap);
	ring_enter(&ring, 1, 0);
	return offset;
}

static void await_read(int lap)
{
	struct io_event event;

	if (is_aio) {
		if (WL_CHECK(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL)) != 1 ||
		    event.res != DISK_BLOCK)
			wl_die("io_getevents: result %lld", (long long)event.res);
		return;
	}
	/* A poller comes back with nothing when others want its CPU. */
	do
		ring_enter(&ring, 0, 1);
	while (polled && !ring_has_one(&ring));
	ring_take(&ring, lap);
}

/* Submits and waits itself. */
static void read_alone(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		uint64_t at_min, at_max, before, after, offset;
		struct wl_wait *wait;
		struct wl_edge *edge;
		char sectors[256];
		long switches;

		at_min = wl_now();
		offset = submit_read(lap);
		at_max = wl_now();
		switches = wl_voluntary_switches();
		before = wl_now();
		await_read(lap);
		after = wl_now();
		switches = wl_voluntary_switches() - switches;
		if (strncmp(wl->variant, "worker", 6) != 0) {
			disk_sectors(&file, offset, DISK_BLOCK, sectors, sizeof(sectors));
			disk_asked(&file, self, "read", at_min, after, sectors, false);
			/* Clocks differ by a little: the next one's request is not this one's. */
			wl_spin(30000);
		}
		if (switches != 1)
			continue;
		edge = wl_edge("io_uring", self, self, at_min, "");
		edge->at_max = at_max;
		edge->until = after;
		wait = wl_wait(self, "io_uring", is_aio ? "io_getevents" : "io_uring_enter",
			       is_aio ? "aio" : "io_uring");
		wl_wait_times(wait, before, before, after);
		wait->start_max = wait->end_max;
		wait->holder_count = WL_UNCHECKED;
	}
}

/* A file on a disk that lets its requests be polled, if the place is on such a one. */
static void create_polled(void)
{
	char path[64], answer = '0';
	int fd;

	disk_create(&file, ".", BLOCKS, O_DIRECT, true);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/io_poll", file.disk.major,
		 file.disk.minor);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &answer, 1) != 1 || answer != '1')
		wl_skip("polling is refused by the disk");
	close(fd);
}

/* Sees by itself that its reads are over, and then wakes the other. That is not the request's
 * doing. */
static void poll_reads(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		uint64_t at_min, after, offset;
		char sectors[256];
		struct wl_act act;

		wl_await_blocked(waiter, SYS_read, ends[0]);
		wl_spin(30000);
		at_min = wl_now();
		offset = submit_read(lap);
		await_read(lap);
		act = wl_act(self, waiter);
		WL_CHECK(write(ends[1], "x", 1));
		wl_acted(&act, "pipe", "pipe", "read", "");
		after = wl_now();
		disk_sectors(&file, offset, DISK_BLOCK, sectors, sizeof(sectors));
		disk_asked(&file, self, "read", at_min, after, sectors, false);
		wl_await(&wl->tasks[waiter].step, 1);
		atomic_store(&wl->tasks[waiter].step, 0);
	}
}

static void await_poller(int self)
{
	char byte;

	for (int lap = 0; lap < laps; lap++) {
		wl->tasks[self].before = wl_now();
		WL_CHECK(read(ends[0], &byte, 1));
		atomic_store(&wl->tasks[self].step, 1);
		wl_await(&wl->tasks[self].step, 0);
	}
}

static void wait_for_other(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		wl->tasks[self].before = wl_now();
		atomic_store(&wl->numbers[WAITING], lap + 1);
		await_read(lap);
		wl->tasks[self].leaving = wl_now();
		atomic_store(&wl->tasks[self].step, 1);
		wl_await(&wl->tasks[self].step, 0);
	}
}

/* Submits for the other: a read, or nothing at all, which completes at once. */
static void submit_for_other(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		struct wl_wait *wait;
		struct wl_act act;
		uint64_t at_max;

		wl_await(&wl->numbers[WAITING], lap + 1);
		wl_await_blocked(waiter, is_aio ? SYS_io_getevents : SYS_io_uring_enter,
				 is_aio ? context : (unsigned long)ring.fd);
		act = wl_act(self, waiter);
		if (is_aio) {
			submit_read(lap);
		} else {
			ring_prepare(&ring, IORING_OP_NOP, -1, 0, NULL, 0, 0, lap);
			ring_enter(&ring, 1, 0);
		}
		at_max = wl_now();
		wl_await(&wl->tasks[waiter].step, 1);
		wl_edge("io_uring", self, waiter, act.at_min, "")->at_max = at_max;
		wait = wl_wait(waiter, "io_uring", is_aio ? "io_getevents" : "io_uring_enter",
			       is_aio ? "aio" : "io_uring");
		wl_wait_times(wait, act.before, act.at_min, wl->tasks[waiter].leaving);
		if (!is_aio)
			wait->ended_by = self;
		atomic_store(&wl->tasks[waiter].step, 0);
	}
}

static void read_pipe(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		ring_prepare(&ring, IORING_OP_READ, ends[0], (uint64_t)-1, buffer, 1, 0, lap);
		wl->tasks[self].before = wl_now();
		atomic_store(&wl->numbers[WAITING], lap + 1);
		ring_enter(&ring, 1, 1);
		ring_take(&ring, lap);
		/* Older kernels have a worker read what has become ready. */
		wl_edge("io_uring", self, self, wl->tasks[self].before, "")->optional = true;
		atomic_store(&wl->tasks[self].step, 1);
		wl_await(&wl->tasks[self].step, 0);
	}
}

static void write_pipe(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		struct wl_act act;

		wl_await(&wl->numbers[WAITING], lap + 1);
		wl_await_blocked(waiter, SYS_io_uring_enter, ring.fd);
		wl_sleep(wl_random(1000, 100000));
		act = wl_act(self, waiter);
		WL_CHECK(write(ends[1], "x", 1));
		wl_acted(&act, "pipe", "io_uring", "io_uring_enter", "");
		wl_await(&wl->tasks[waiter].step, 1);
		atomic_store(&wl->tasks[waiter].step, 0);
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "uring");
	const char *variant = wl->variant, *system = strrchr(variant, '-');
	bool alone = system && strncmp(variant, "aio-other", 9) != 0;

	wl_copy(wl->claims, sizeof(wl->claims),
		"fork exec exit vfork unlock pipe socket eventfd ipc signal wake io_uring");
	is_aio = strncmp(variant, "aio", 3) == 0;
	polled = strcmp(variant, "polled") == 0;
	laps = wl_random(4, 10);
	waiter = self + 1;
	submitter = self + 2;
	buffer = mmap(NULL, DISK_BLOCK, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	if (polled)
		create_polled();
	else if (system)
		disk_create(&file, system + 1, BLOCKS, O_DIRECT, true);
	if (!is_aio) {
		if (!ring_open(&ring, polled ? IORING_SETUP_IOPOLL : 0))
			wl_skip(errno == ENOSYS ? "no such call: io_uring" : "io_uring is refused");
	} else if (syscall(SYS_io_setup, 8, &context) < 0)
		wl_skip("libaio's calls are refused");
	WL_CHECK(pipe(ends));
	if (polled) {
		wl_thread(self, await_poller);
		wl_thread(self, poll_reads);
	} else if (alone) {
		wl_thread(self, read_alone);
	} else {
		wl_thread(self, strcmp(variant, "pipe") == 0 ? read_pipe : wait_for_other);
		wl_thread(self, strcmp(variant, "pipe") == 0 ? write_pipe : submit_for_other);
	}
	for (int task = waiter; task < wl->task_count; task++)
		wl_join(self, task);
	wl_print();
	return 0;
}

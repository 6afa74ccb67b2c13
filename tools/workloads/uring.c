// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions of io_uring and libaio, by their system calls alone. Variants: pipe
 * (another task's write completes a read of the ring), other (another task submits
 * what one waits for), file-ext4, file-xfs (a disk completes it), worker-ext4 (a
 * worker of the ring does it); aio-ext4, aio-xfs (libaio, one's own), aio-other-ext4
 * (another task submits).
 */
#include <linux/aio_abi.h>
#include <linux/io_uring.h>

#include "disk.h"

#define BLOCKS 256u

enum { WAITING };

static int ring, laps, submitter, waiter, ends[2];
static unsigned *submit_tail, *submit_mask, *submit_array, *complete_head, *complete_tail, *complete_mask;
static struct io_uring_sqe *entries;
static struct io_uring_cqe *completions;
static struct disk_file file;
static aio_context_t context;
static char *buffer;
static bool is_aio;

static void open_ring(void)
{
	struct io_uring_params parameters = {0};
	char *submit, *complete;

	ring = syscall(SYS_io_uring_setup, 8, &parameters);
	if (ring < 0)
		wl_skip(errno == ENOSYS ? "no such call: io_uring" : "io_uring is refused");
	submit = mmap(NULL, parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	complete = mmap(NULL, parameters.cq_off.cqes + parameters.cq_entries * sizeof(*completions), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
	entries = mmap(NULL, parameters.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		       IORING_OFF_SQES);
	if (submit == MAP_FAILED || complete == MAP_FAILED || entries == MAP_FAILED)
		wl_die("mmap of a ring: %s", strerror(errno));
	submit_tail = (unsigned *)(submit + parameters.sq_off.tail);
	submit_mask = (unsigned *)(submit + parameters.sq_off.ring_mask);
	submit_array = (unsigned *)(submit + parameters.sq_off.array);
	complete_head = (unsigned *)(complete + parameters.cq_off.head);
	complete_tail = (unsigned *)(complete + parameters.cq_off.tail);
	complete_mask = (unsigned *)(complete + parameters.cq_off.ring_mask);
	completions = (struct io_uring_cqe *)(complete + parameters.cq_off.cqes);
}

static void prepare(unsigned char operation, int fd, uint64_t offset, unsigned length, unsigned char flags, uint64_t data)
{
	unsigned tail = *submit_tail, index = tail & *submit_mask;
	struct io_uring_sqe *entry = &entries[index];

	memset(entry, 0, sizeof(*entry));
	entry->opcode = operation;
	entry->flags = flags;
	entry->fd = fd;
	entry->off = offset;
	entry->addr = (unsigned long)buffer;
	entry->len = length;
	entry->user_data = data;
	submit_array[index] = index;
	__atomic_store_n(submit_tail, tail + 1, __ATOMIC_RELEASE);
}

static void enter_ring(unsigned submitted, unsigned awaited)
{
	WL_CHECK(syscall(SYS_io_uring_enter, ring, submitted, awaited, awaited ? IORING_ENTER_GETEVENTS : 0, NULL, 0));
}

static void take(uint64_t data)
{
	unsigned head = *complete_head;
	struct io_uring_cqe *entry = &completions[head & *complete_mask];

	if (head == __atomic_load_n(complete_tail, __ATOMIC_ACQUIRE))
		wl_die("nothing completed");
	if (entry->user_data != data || entry->res < 0)
		wl_die("completion %llu: result %d", (unsigned long long)entry->user_data, entry->res);
	__atomic_store_n(complete_head, head + 1, __ATOMIC_RELEASE);
}

/* Submits a read of a random block; it need not have ended when this returns. */
static void submit_read(int lap)
{
	uint64_t offset = wl_random(0, BLOCKS - 1) * DISK_BLOCK;
	struct iocb block = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = file.fd, .aio_buf = (unsigned long)buffer};
	struct iocb *blocks[] = {&block};
	bool worker = strncmp(wl->variant, "worker", 6) == 0;

	block.aio_nbytes = DISK_BLOCK;
	block.aio_offset = offset;
	block.aio_data = lap;
	if (is_aio) {
		if (WL_CHECK(syscall(SYS_io_submit, context, 1L, blocks)) != 1)
			wl_die("io_submit took none");
		return;
	}
	prepare(IORING_OP_READ, file.fd, offset, DISK_BLOCK, worker ? IOSQE_ASYNC : 0, lap);
	enter_ring(1, 0);
}

static void await_read(int lap)
{
	struct io_event event;

	if (is_aio) {
		if (WL_CHECK(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL)) != 1 || event.res != DISK_BLOCK)
			wl_die("io_getevents: result %lld", (long long)event.res);
		return;
	}
	enter_ring(0, 1);
	take(lap);
}

/* Submits and waits itself. */
static void read_alone(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		uint64_t at_min = wl_now(), at_max, before;
		struct wl_wait *wait;
		struct wl_edge *edge;
		long switches;

		submit_read(lap);
		at_max = wl_now();
		switches = wl_voluntary_switches();
		before = wl_now();
		await_read(lap);
		if (wl_voluntary_switches() != switches + 1)
			continue;
		edge = wl_edge("io_uring", self, self, at_min, "");
		edge->at_max = at_max;
		edge->until = wl_now();
		wait = wl_wait(self, "io_uring", is_aio ? "io_getevents" : "io_uring_enter", is_aio ? "aio" : "io_uring");
		wl_wait_times(wait, before, before, wl_now());
		wait->start_max = wait->end_max;
		wait->holder_count = WL_UNCHECKED;
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
		wl_await_blocked(waiter, is_aio ? SYS_io_getevents : SYS_io_uring_enter, is_aio ? context : (unsigned long)ring);
		act = wl_act(self, waiter);
		if (is_aio) {
			submit_read(lap);
		} else {
			prepare(IORING_OP_NOP, -1, 0, 0, 0, lap);
			enter_ring(1, 0);
		}
		at_max = wl_now();
		wl_await(&wl->tasks[waiter].step, 1);
		wl_edge("io_uring", self, waiter, act.at_min, "")->at_max = at_max;
		wait = wl_wait(waiter, "io_uring", is_aio ? "io_getevents" : "io_uring_enter", is_aio ? "aio" : "io_uring");
		wl_wait_times(wait, act.before, act.at_min, wl->tasks[waiter].leaving);
		if (!is_aio)
			wait->ended_by = self;
		atomic_store(&wl->tasks[waiter].step, 0);
	}
}

static void read_pipe(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		prepare(IORING_OP_READ, ends[0], (uint64_t)-1, 1, 0, lap);
		wl->tasks[self].before = wl_now();
		atomic_store(&wl->numbers[WAITING], lap + 1);
		enter_ring(1, 1);
		take(lap);
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
		wl_await_blocked(waiter, SYS_io_uring_enter, ring);
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

	wl_copy(wl->claims, sizeof(wl->claims), "fork exec exit vfork unlock pipe socket eventfd ipc signal wake io_uring");
	is_aio = strncmp(variant, "aio", 3) == 0;
	laps = wl_random(4, 10);
	waiter = self + 1;
	submitter = self + 2;
	buffer = mmap(NULL, DISK_BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	if (system)
		disk_create(&file, system + 1, BLOCKS, O_DIRECT, true);
	if (!is_aio)
		open_ring();
	else if (syscall(SYS_io_setup, 8, &context) < 0)
		wl_skip("libaio's calls are refused");
	WL_CHECK(pipe(ends));
	if (alone) {
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page faults that wait, inside a system call and outside: the page comes from
 * another thread (userfaultfd) some time later. Last, a page of a file that is not
 * in the page cache, if the file system has one to drop.
 */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "workload.h"

enum { SERVED };

static int userfault, ends[2], server, toucher, rounds;
static char *region, *source;
static uint64_t fault_min;

static void serve(int self)
{
	for (int round = 0; round < rounds; round++) {
		struct uffdio_copy copy = {.src = (unsigned long)source, .len = 4096};
		struct uffd_msg message;
		struct wl_act act;

		wl->tasks[self].before = wl_now();
		if (WL_CHECK(read(userfault, &message, sizeof(message))) != sizeof(message) ||
		    message.event != UFFD_EVENT_PAGEFAULT)
			wl_die("not a page fault");
		copy.dst = message.arg.pagefault.address & ~4095ull;
		wl_await_blocked(toucher, round % 2 ? -1 : SYS_read,
				 round % 2 ? WL_ANY_ARGUMENT : (unsigned long)ends[0]);
		wl_sleep(wl_random(1, 10) * 1000000);
		act = wl_act(self, toucher);
		WL_CHECK(ioctl(userfault, UFFDIO_COPY, &copy));
		wl_acted(&act, "wake", "fault", round % 2 ? "" : "read", "");
		wl_await(&wl->numbers[SERVED], round + 1);
	}
}

static void touch(int self)
{
	for (int round = 0; round < rounds; round++) {
		char *page = region + round * 4096;
		struct wl_wait *wait;
		uint64_t before;

		WL_CHECK(write(ends[1], "x", 1));
		wl_await_blocked(server, SYS_read, userfault);
		before = wl->tasks[server].before;
		wl->tasks[self].before = fault_min = wl_now();
		if (round % 2 == 0)
			WL_CHECK(read(ends[0], page, 1));
		else
			*(volatile char *)page = 1;
		/* The fault itself woke the server, before it was served. */
		wl_edge("wake", self, server, fault_min, "");
		wait = wl_wait(server, "other", "read", "");
		wl_wait_times(wait, before, fault_min, wl_now());
		wait->ended_by = self;
		if (round % 2)
			WL_CHECK(read(ends[0], page, 1));
		atomic_store(&wl->numbers[SERVED], round + 1);
	}
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

/* A write(2) from a page of a file that must be read first: only a device ends that wait. */
static void write_cold(int self)
{
	char path[] = "workload-XXXXXX";
	int file = mkstemp(path), output[2];
	long faults, switches;
	struct wl_wait *wait;
	uint64_t before;
	char *page;

	if (file < 0)
		return;
	unlink(path);
	WL_CHECK(pipe(output));
	WL_CHECK(write(file, source, 4096));
	WL_CHECK(fsync(file));
	WL_CHECK(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	if (page == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	faults = major_faults();
	switches = wl_voluntary_switches();
	before = wl_now();
	WL_CHECK(write(output[1], page, 16));
	if (major_faults() == faults + 1 && wl_voluntary_switches() == switches + 1) {
		wait = wl_wait(self, "fault", "write", "");
		wl_wait_times(wait, before, before, wl_now());
		wait->start_max = wait->end_max;
		wait->ended_by = WL_UNCHECKED;
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "fault");
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register registration = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	userfault = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (userfault < 0)
		wl_skip("userfaultfd is refused");
	rounds = wl_random(3, 6);
	WL_CHECK(ioctl(userfault, UFFDIO_API, &api));
	source = wl_shared(4096);
	region = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	registration.range.start = (unsigned long)region;
	registration.range.len = 16 * 4096;
	WL_CHECK(ioctl(userfault, UFFDIO_REGISTER, &registration));
	WL_CHECK(pipe(ends));
	server = self + 1;
	toucher = self + 2;
	wl_thread(self, serve);
	wl_thread(self, touch);
	wl_join(self, toucher);
	wl_join(self, server);
	write_cold(self);
	wl_print();
	return 0;
}

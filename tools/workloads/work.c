/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work items of the kernel, seen from user space. Variants: terminal (what is written
 * to one end of a pseudo-terminal reaches the other's reader by a work item), refresh
 * (an item for each CPU, and a wait for all of them), loop (a loop device's items read
 * its file), grace (a wait for an RCU grace period).
 */
#include <linux/membarrier.h>
#include <termios.h>

#include "disk.h"

enum { READING };

static int members[2], ends[2], laps;

static void read_terminal(int self)
{
	int me = self - members[0];
	char text[16];

	for (int lap = 0; lap < laps; lap++) {
		wl->tasks[self].before = wl_now();
		atomic_store(&wl->numbers[READING], lap + 1);
		WL_CHECK(read(ends[me], text, sizeof(text)));
		atomic_store(&wl->tasks[self].step, 1);
		wl_await(&wl->tasks[self].step, 0);
	}
}

static void write_terminal(int self)
{
	int me = self - members[0];

	for (int lap = 0; lap < laps; lap++) {
		struct wl_wait *wait;
		struct wl_act act;

		wl_await(&wl->numbers[READING], lap + 1);
		wl_await_blocked(members[!me], SYS_read, ends[!me]);
		wl_sleep(wl_random(1000, 200000));
		act = wl_act(self, members[!me]);
		WL_CHECK(write(ends[me], "word\n", 5));
		/* The item may run any time later. */
		wl_await(&wl->tasks[members[!me]].step, 1);
		wait = wl_acted(&act, "work", "tty", "read", "");
		wl_copy(wait->context, sizeof(wait->context), "work");
		atomic_store(&wl->tasks[members[!me]].step, 0);
	}
}

static void open_terminal(void)
{
	struct termios settings;
	int number, unlock = 0, reader = wl_random(0, 1);

	ends[!reader] = WL_CHECK(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
	WL_CHECK(ioctl(ends[!reader], TIOCSPTLCK, &unlock));
	WL_CHECK(ioctl(ends[!reader], TIOCGPTN, &number));
	ends[reader] = WL_CHECK(ioctl(ends[!reader], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
	WL_CHECK(tcgetattr(ends[reader], &settings));
	cfmakeraw(&settings);
	WL_CHECK(tcsetattr(ends[reader], TCSANOW, &settings));
}

/* At least `count` work items of that function were queued by the task then, and a worker ran each.
 */
static void log_items(int self, uint64_t from, uint64_t to, int count, const char *function)
{
	wl_rule("\"rule\":\"items\",\"tid\":%d,\"from\":%llu,\"to\":%llu,\"count\":%d,\"function\":"
		"\"%s\"",
		wl->tasks[self].tid, (unsigned long long)from, (unsigned long long)to, count,
		function);
}

static long begin_lap(void)
{
	/* Clocks differ by a little: one lap's sleeps are not the next one's. */
	wl_spin(30000);
	return wl_voluntary_switches();
}

static void refresh(int self)
{
	int file = open("/proc/sys/vm/stat_refresh", O_RDONLY | O_CLOEXEC);
	char text[16];

	if (file < 0)
		wl_die("/proc/sys/vm/stat_refresh: %s", strerror(errno));
	for (int lap = 0; lap < laps; lap++) {
		long switches = begin_lap();
		uint64_t from = wl_now(), to;

		WL_CHECK(pread(file, text, sizeof(text), 0));
		to = wl_now();
		wl_slept(self, from, to, wl_voluntary_switches() - switches, "pread64", "read", "",
			 WL_NOBODY, "file");
		log_items(self, from, to, sysconf(_SC_NPROCESSORS_ONLN), "refresh_vm_stats");
	}
}

static void read_loop(int self)
{
	static char buffer[DISK_BLOCK] __attribute__((aligned(4096)));
	struct disk_file file;
	uint64_t start;

	start = wl_now();
	disk_create(&file, "loop", 64, O_DIRECT, true);
	for (int lap = 0; lap < laps; lap++) {
		long switches;
		uint64_t from, to;

		/* The worker comes to rest: the next request needs an item of its own. */
		wl_sleep(2000000);
		switches = begin_lap();
		from = wl_now();
		WL_CHECK(pread(file.fd, buffer, sizeof(buffer), wl_random(0, 63) * DISK_BLOCK));
		to = wl_now();
		wl_slept(self, from, to, wl_voluntary_switches() - switches, "pread64", "read",
			 "request", self, "file");
	}
	/* A worker that is still at it when the next request comes takes that in the same go. */
	log_items(self, start, wl_now(), 1, "loop_");
}

static void await_grace(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		long switches = begin_lap();
		uint64_t from = wl_now();

		WL_CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
		wl_slept(self, from, wl_now(), wl_voluntary_switches() - switches, "membarrier",
			 "rcu", "", WL_NOBODY, "");
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "work");
	const char *variant = wl->variant;
	bool terminal = strcmp(variant, "terminal") == 0;

	laps = wl_random(3, 6);
	members[0] = self + 1;
	members[1] = self + 2;
	if (strcmp(variant, "grace") == 0 &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		wl_skip("a global memory barrier is refused");
	if (strcmp(variant, "loop") == 0)
		wl_place("loop");
	if (terminal) {
		/* The reader's thread answers at a pseudo-terminal's end by chance. */
		wl_copy(wl->claims, sizeof(wl->claims),
			"fork exec exit vfork unlock pipe socket eventfd ipc signal wake work");
		open_terminal();
		wl_thread(self, read_terminal);
		wl_thread(self, write_terminal);
	} else {
		wl_thread(self, strcmp(variant, "refresh") == 0 ? refresh
				: strcmp(variant, "loop") == 0	? read_loop
								: await_grace);
	}
	for (int task = members[0]; task < wl->task_count; task++)
		wl_join(self, task);
	wl_print();
	return 0;
}

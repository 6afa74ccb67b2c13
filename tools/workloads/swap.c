/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages that were swapped out, touched again: in user mode, and by the kernel in a
 * read(2). The group's limit drives them out; then half of the memory is given
 * back, so that nothing is reclaimed while the others come in again. Where on the
 * swap device a page is, /proc/self/pagemap tells.
 */
#include "disk.h"
#include "group.h"

#define PAGE	    4096u
#define PAGES	    6144u
#define APART	    96u /* pages: none comes in with another */
#define TOUCHES	    20
#define SWAPPED	    (1ull << 62)
#define OFFSET_BITS 5
#define OFFSET_MASK ((1ull << 55) - 1)

static int swapper, ends[2];

static uint64_t page_entry(const volatile char *page)
{
	static int map = -1;
	uint64_t entry = 0;

	if (map < 0)
		map = WL_CHECK(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
	if (pread(map, &entry, sizeof(entry), (uintptr_t)page / PAGE * sizeof(entry)) !=
	    sizeof(entry))
		wl_die("/proc/self/pagemap: short read");
	return entry;
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

/* Touches a page that is on the swap device. False: it was in memory still, or there were two
 * faults. */
static bool touch(int self, const struct disk *disk, volatile char *page, bool in_call)
{
	uint64_t entry = page_entry(page), from, to;
	long faults, slept;

	if (!(entry & SWAPPED))
		return false;
	if (in_call)
		WL_CHECK(write(ends[1], "x", 1));
	wl_spin(30000);
	faults = major_faults();
	slept = wl_voluntary_switches();
	from = wl_now();
	if (in_call)
		WL_CHECK(read(ends[0], (char *)page, 1));
	else
		*page = 1;
	to = wl_now();
	slept = wl_voluntary_switches() - slept;
	if (major_faults() != faults + 1 || slept == 0)
		return false;
	wl_slept(self, from, to, slept, "*", "memory", "request", self, "device");
	wl_rule("\"rule\":\"requests\",\"tid\":%d,\"dev\":\"%u:%u\",\"op\":\"read\",\"from\":%llu,"
		"\"to\":%llu,\"sectors\":[[%llu,8]],"
		"\"more\":true,\"file\":[[0,%llu]],\"reason\":\"memory\"",
		wl->tasks[self].tid, disk->major, disk->minor, (unsigned long long)from,
		(unsigned long long)to,
		(unsigned long long)(((entry & OFFSET_MASK) >> OFFSET_BITS) * (PAGE / 512)),
		1ull << 40);
	if (!wl->fact_count)
		wl_charge(wl_fact(self, from, to), WL_NOBODY, "device|queued|running|runqueue|lock",
			  (to - from) * 9 / 10, to - from);
	return true;
}

static void swap(int self)
{
	struct disk disk = disk_below(0, "swap.disk");
	size_t half = (size_t)PAGES / 2 * PAGE;
	int touched = 0;
	char *memory;

	wl_enter_group("swap");
	memory = mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	madvise(memory, 2 * half, MADV_NOHUGEPAGE);
	WL_CHECK(madvise(memory, 2 * half, MADV_RANDOM));
	for (size_t at = 0; at < 2 * half; at += PAGE)
		*(volatile size_t *)(memory + at) = at;
	WL_CHECK(madvise(memory + half, half, MADV_DONTNEED));
	wl_sleep(20000000);
	for (unsigned page = wl_random(0, APART - 1); page < PAGES / 2 && touched < TOUCHES;
	     page += APART)
		touched += touch(self, &disk, memory + (size_t)page * PAGE, wl_random(0, 1));
	if (touched < TOUCHES / 4)
		wl_die("%d pages came in again", touched);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "swap");

	wl_place("swap/cgroup.procs");
	WL_CHECK(pipe(ends));
	swapper = wl_fork(self, swap);
	wl_reap(self, swapper);
	wl_print();
	return 0;
}

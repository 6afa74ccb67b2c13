/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fight for one kernel lock, without any order. Variants: directory (four processes
 * list, create, rename and unlink in one directory: its inode's rwsem), mapping (four
 * threads map, protect and unmap in one address space: its mmap_lock). Known is how
 * often each one slept, by the kernel's own count, and that it was for that one lock.
 */
#include "workload.h"

#define MEMBERS 4
#define FILES	400
#define PAGES	2048

enum { READY, START };

static int members[MEMBERS], directory, laps;
static char name[64];
static char *memory;

struct count {
	uint64_t from;
	uint64_t to;
	long slept;
};
static struct count *counts;

static void touch_directory(int me, int lap)
{
	static char listing[32768];
	char from[32], to[32];

	snprintf(from, sizeof(from), "m%d-%d", me, lap);
	snprintf(to, sizeof(to), "n%d-%d", me, lap);
	close(WL_CHECK(openat(directory, from, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
	if (me % 2 == 0) {
		WL_CHECK(lseek(directory, 0, SEEK_SET));
		WL_CHECK(syscall(SYS_getdents64, directory, listing, sizeof(listing)));
	}
	WL_CHECK(renameat(directory, from, directory, to));
	WL_CHECK(unlinkat(directory, to, 0));
}

static void touch_mapping(int me)
{
	char *mine = memory + (size_t)me * PAGES * 4096, *other;

	WL_CHECK(mprotect(mine, PAGES * 4096, PROT_READ));
	other = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (other == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	WL_CHECK(mprotect(mine, PAGES * 4096, PROT_READ | PROT_WRITE));
	WL_CHECK(munmap(other, 65536));
}

static void fight(int self)
{
	int me = self - members[0];
	bool in_directory = strcmp(wl->variant, "directory") == 0;
	struct count *count = &counts[me];

	/* A descriptor of its own: the position in it has a lock too. */
	if (in_directory)
		directory = WL_CHECK(open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	/* Four that touch this page for the first time at once may wait for each other. */
	*count = (struct count){.from = 1};
	atomic_fetch_add(&wl->numbers[READY], 1);
	wl_await(&wl->numbers[START], 1);
	count->slept = wl_voluntary_switches();
	count->from = wl_now();
	for (int lap = 0; lap < laps; lap++) {
		if (in_directory)
			touch_directory(me, lap);
		else
			touch_mapping(me);
	}
	count->to = wl_now();
	count->slept = wl_voluntary_switches() - count->slept;
}

static void log_fight(void)
{
	char tids[64], of[48];
	size_t used = 0;
	uint64_t from = UINT64_MAX, to = 0;
	bool in_directory = strcmp(wl->variant, "directory") == 0;

	if (in_directory)
		snprintf(of, sizeof(of), "\"%s\"", strrchr(name, '/') + 1);
	else
		snprintf(of, sizeof(of), "%d", getpid());

	for (int i = 0; i < MEMBERS; i++) {
		used += snprintf(tids + used, sizeof(tids) - used, "%s%d", i ? "," : "",
				 wl->tasks[members[i]].tid);
		wl_slept(members[i], counts[i].from, counts[i].to, counts[i].slept, "*", "lock",
			 "unlock", WL_UNCHECKED, "lock");
		from = counts[i].from < from ? counts[i].from : from;
		to = counts[i].to > to ? counts[i].to : to;
	}
	wl_rule("\"rule\":\"locks\",\"tids\":[%s],\"from\":%llu,\"to\":%llu,\"count\":[0,100000],"
		"\"type\":\"rwsem\",\"member\":\"%s\",\"of\":%s,\"origins\":[%s]",
		tids, (unsigned long long)from, (unsigned long long)to,
		in_directory ? "i_rwsem" : "mmap_lock", of, tids);
}

static void make_directory(void)
{
	char path[96];

	wl_copy(name, sizeof(name), "/dev/shm/workload-XXXXXX");
	if (!mkdtemp(name))
		wl_die("%s: %s", name, strerror(errno));
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%d", name, i);
		close(WL_CHECK(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
	}
}

static void remove_directory(void)
{
	char path[96];

	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%d", name, i);
		unlink(path);
	}
	rmdir(name);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "fight");
	bool in_directory = strcmp(wl->variant, "directory") == 0;

	/* Releases are so many and so close that only their kind and their ends are told. */
	wl_copy(wl->claims, sizeof(wl->claims),
		"fork exec exit vfork pipe socket eventfd ipc signal wake");
	counts = wl_shared(MEMBERS * sizeof(*counts));
	laps = wl_random(40, 80);
	if (in_directory) {
		make_directory();
	} else {
		memory = mmap(NULL, (size_t)MEMBERS * PAGES * 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory == MAP_FAILED)
			wl_die("mmap: %s", strerror(errno));
		madvise(memory, (size_t)MEMBERS * PAGES * 4096, MADV_NOHUGEPAGE);
	}
	for (int i = 0; i < MEMBERS; i++)
		members[i] = self + 1 + i;
	for (int i = 0; i < MEMBERS; i++) {
		if (in_directory)
			wl_fork(self, fight);
		else
			wl_thread(self, fight);
	}
	wl_await(&wl->numbers[READY], MEMBERS);
	atomic_store(&wl->numbers[START], 1);
	for (int i = 0; i < MEMBERS; i++) {
		if (in_directory)
			wl_reap(self, members[i]);
		else
			wl_join(self, members[i]);
	}
	log_fight();
	if (in_directory)
		remove_directory();
	wl_print();
	return 0;
}

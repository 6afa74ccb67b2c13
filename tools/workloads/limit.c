/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A task in a group whose I/O on its disk is limited: it moves more than the limit lets
 * through at once, and what that must take follows from the limit. Variants: write, read
 * (O_DIRECT), cold (a buffered read of what is not in memory), sync (fdatasync of what was
 * written). The file lies on the disk that the place is on.
 */
#include "disk.h"
#include "group.h"

#include <sys/param.h>

#define BLOCKS 256u
#define LIMIT  2097152ull /* bytes a second, as the place has set it */
/* ns: what a group may do before its limit is met is counted for a slice of this length. */
#define SLICE 200000000ull

static struct disk_file file;
static char *buffer;
static int limited;

static void move(uint64_t from, uint64_t bytes)
{
	if (strcmp(wl->variant, "write") == 0) {
		WL_CHECK(pwrite(file.fd, buffer, bytes, from));
	} else if (strcmp(wl->variant, "sync") == 0) {
		WL_CHECK(pwrite(file.fd, buffer, bytes, from));
		WL_CHECK(fdatasync(file.fd));
	} else {
		WL_CHECK(pread(file.fd, buffer, bytes, from));
	}
}

static void move_limited(int self)
{
	bool direct = strcmp(wl->variant, "write") == 0 || strcmp(wl->variant, "read") == 0;
	uint64_t moved = 0, from, to, least;
	struct wl_fact *fact;
	char sectors[256];

	wl_enter_group("io");
	/* In version 2 what is written back is charged to the group that wrote to the file first.
	 */
	if (strcmp(wl->variant, "sync") == 0)
		disk_create(&file, ".", BLOCKS, 0, true);
	/* Read-ahead reads more than was asked for. */
	WL_CHECK(posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM));
	from = wl_now();
	while (moved < BLOCKS * DISK_BLOCK) {
		uint64_t bytes = wl_random(4, 24) * DISK_BLOCK;

		bytes = MIN(bytes, BLOCKS * DISK_BLOCK - moved);
		move(moved, bytes);
		moved += bytes;
	}
	to = wl_now();
	least = moved * 1000000000ull / LIMIT;
	if (to - from + SLICE < least)
		wl_die("the limit was never met");
	disk_sectors(&file, 0, moved, sectors, sizeof(sectors));
	if (direct)
		disk_asked(&file, self, strcmp(wl->variant, "write") == 0 ? "write" : "read", from,
			   to, sectors, false);
	fact = wl_fact(self, from, to);
	wl_charge(fact, self, "throttle", (least - SLICE) * 8 / 10, to - from);
	wl_charge(fact, WL_NOBODY, "write|read|fsync|io", 0, (to - from) / 50);
	snprintf(fact->says, sizeof(fact->says), "held back by the I/O limit of cgroup /");
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "limit");
	bool direct = strcmp(wl->variant, "write") == 0 || strcmp(wl->variant, "read") == 0;
	struct stat status;

	WL_CHECK(stat(wl_place("io/cgroup.procs"), &status));
	buffer = mmap(NULL, 24 * DISK_BLOCK, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	if (strcmp(wl->variant, "sync") != 0)
		disk_create(&file, ".", BLOCKS, direct ? O_DIRECT : 0, true);
	limited = wl_fork(self, move_limited);
	wl_reap(self, limited);
	wl_print();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads and writes that wait for a disk, and fsync. Variants: what, a dash, and the
 * file system of the place: read, write, dsync (O_DIRECT), cold (a buffered read of
 * what is not in memory), fsync (of blocks that lie apart: a request each), fresh
 * (of blocks that were never written: the end of each write is a work item's), splice
 * and send (from a pipe, or by sendfile from memory, O_DSYNC).
 */
#include <sys/sendfile.h>

#include "disk.h"

#define BLOCKS 256u
#define APART  16u

static struct disk_file file;
static char *buffer;

/* One act of the task, with the kernel's own count of the times it slept meanwhile. */
struct step {
	uint64_t from;
	uint64_t to;
	long slept;
};

static struct step begin_step(void)
{
	struct step step;

	/* Clocks differ by a little: one step's sleeps are not the next one's. */
	wl_spin(30000);
	step.slept = wl_voluntary_switches();
	step.from = wl_now();
	return step;
}

static void end_step(struct step *step)
{
	step->to = wl_now();
	step->slept = wl_voluntary_switches() - step->slept;
}

static void log_step(int self, const struct step *step, const char *calls, const char *kinds)
{
	struct wl_fact *fact;
	char object[48];

	/* Only the file that is read counts. */
	snprintf(object, sizeof(object), "file:%llu", (unsigned long long)file.inode);
	if (strcmp(calls, "sendfile") == 0)
		object[0] = '\0';
	/* A log may be written out by a work item that the task queues and waits for. */
	wl_slept(self, step->from, step->to, step->slept, calls, kinds,
		 strcmp(kinds, "read") == 0 ? "request" : "request|work", self, object);
	if (wl->fact_count)
		return;
	/* It ran, or its requests were queued or at the device, or a worker that finds blocks or
	 * ends requests was to run or ran; one question of each run is enough. */
	fact = wl_fact(self, step->from, step->to);
	wl_charge(fact, WL_NOBODY, "device|queued|running|runqueue|lock|work",
		  (step->to - step->from) * 9 / 10, step->to - step->from);
}

static void move_directly(int self, bool writing)
{
	for (int lap = 0, laps = wl_random(4, 8); lap < laps; lap++) {
		uint64_t blocks = wl_random(1, 16),
			 from = wl_random(0, BLOCKS - blocks) * DISK_BLOCK,
			 bytes = blocks * DISK_BLOCK;
		struct step step = begin_step();
		char sectors[256];

		if (writing)
			WL_CHECK(pwrite(file.fd, buffer, bytes, from));
		else
			WL_CHECK(pread(file.fd, buffer, bytes, from));
		end_step(&step);
		log_step(self, &step, writing ? "pwrite64" : "pread64",
			 writing ? "write|journal|work" : "read");
		disk_sectors(&file, from, bytes, sectors, sizeof(sectors));
		disk_asked(&file, self, writing ? "write" : "read", step.from, step.to, sectors,
			   false);
	}
}

/* Writes by a call that takes the data from a descriptor, and waits till they are on the disk. */
static void move_in(int self, bool from_pipe)
{
	int ends[2], memory = WL_CHECK(memfd_create("source", 0));

	WL_CHECK(pipe(ends));
	WL_CHECK(write(memory, buffer, 16 * DISK_BLOCK));
	for (int lap = 0, laps = wl_random(3, 6); lap < laps; lap++) {
		uint64_t blocks = wl_random(1, 8),
			 from = wl_random(0, BLOCKS - blocks) * DISK_BLOCK,
			 bytes = blocks * DISK_BLOCK;
		off_t start = 0, offset = (off_t)from;
		struct step step;
		char sectors[256];
		uint64_t moved;

		WL_CHECK(lseek(file.fd, offset, SEEK_SET));
		WL_CHECK(write(ends[1], buffer, bytes));
		step = begin_step();
		moved = WL_CHECK(from_pipe ? splice(ends[0], NULL, file.fd, &offset, bytes, 0)
					   : sendfile(file.fd, memory, &start, bytes));
		end_step(&step);
		if (moved != bytes)
			wl_die("not all was moved");
		if (!from_pipe)
			WL_CHECK(read(ends[0], buffer, bytes));
		log_step(self, &step, from_pipe ? "splice" : "sendfile", "write|journal|work");
		disk_sectors(&file, from, bytes, sectors, sizeof(sectors));
		disk_asked(&file, self, "write", step.from, step.to, sectors, false);
	}
}

static void read_cold(int self)
{
	char sectors[256];

	for (int lap = 0, laps = wl_random(3, 6); lap < laps; lap++) {
		uint64_t from = wl_random(0, BLOCKS - 4) * DISK_BLOCK,
			 bytes = wl_random(1, 4 * DISK_BLOCK);
		struct step step;

		WL_CHECK(posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED));
		step = begin_step();
		WL_CHECK(pread(file.fd, buffer, bytes, from));
		end_step(&step);
		log_step(self, &step, "pread64", "read");
		disk_sectors(&file, from, (bytes + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK,
			     sectors, sizeof(sectors));
		disk_asked(&file, self, "read", step.from, step.to, sectors, true);
	}
}

static void write_back(int self, bool fresh)
{
	for (int lap = 0, laps = wl_random(3, 5); lap < laps; lap++) {
		int extents = fresh ? 1 : wl_random(1, 12);
		uint64_t first = fresh ? (unsigned)lap : wl_random(0, BLOCKS - extents * APART);
		char sectors[384];
		struct step step;
		size_t used = 0;

		for (int i = 0; i < extents; i++) {
			uint64_t from = (first + i * APART) * DISK_BLOCK;

			WL_CHECK(pwrite(file.fd, buffer, DISK_BLOCK, from));
			if (i)
				sectors[used++] = ',';
			disk_sectors(&file, from, DISK_BLOCK, sectors + used,
				     sizeof(sectors) - used);
			used += strlen(sectors + used);
		}
		step = begin_step();
		/* The range's writeback alone: no journal's. */
		if (fresh)
			WL_CHECK(sync_file_range(file.fd, 0, 0,
						 SYNC_FILE_RANGE_WAIT_BEFORE |
							 SYNC_FILE_RANGE_WRITE |
							 SYNC_FILE_RANGE_WAIT_AFTER));
		else
			WL_CHECK(fdatasync(file.fd));
		end_step(&step);
		log_step(self, &step, fresh ? "sync_file_range" : "fdatasync",
			 "fsync|journal|work");
		disk_asked(&file, self, "write", step.from, step.to, sectors, false);
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "disk");
	struct disk_counts before, after;
	char what[32];
	char *system;
	int flags = 0;

	wl_copy(what, sizeof(what), wl->variant);
	system = strchr(what, '-');
	if (!system)
		wl_die("a variant is WHAT-FILESYSTEM");
	*system++ = '\0';
	if (strcmp(what, "read") == 0 || strcmp(what, "write") == 0)
		flags = O_DIRECT;
	else if (strcmp(what, "dsync") == 0)
		flags = O_DIRECT | O_DSYNC;
	else if (strcmp(what, "splice") == 0 || strcmp(what, "send") == 0)
		flags = O_DSYNC;
	buffer = mmap(NULL, 16 * DISK_BLOCK, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	disk_create(&file, system, BLOCKS, flags, strcmp(what, "fresh") != 0);
	disk_count(&file.disk, &before);
	if (flags == O_DSYNC)
		move_in(self, strcmp(what, "splice") == 0);
	else if (flags)
		move_directly(self, strcmp(what, "read") != 0);
	else if (strcmp(what, "cold") == 0)
		read_cold(self);
	else
		write_back(self, strcmp(what, "fresh") == 0);
	WL_CHECK(syncfs(file.fd));
	disk_count(&file.disk, &after);
	disk_counted(&file.disk, &before, &after);
	wl_print();
	return 0;
}

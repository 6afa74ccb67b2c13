/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by workloads on a disk: where a file lies (FIEMAP), on which whole disk,
 * and what that disk has counted.
 *
 * Sectors have 512 bytes and count from the start of the disk that has requests:
 * below a partition or a linear mapping, whose offset is added.
 */
#ifndef WORKLOAD_DISK_H
#define WORKLOAD_DISK_H

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "workload.h"

#define DISK_EXTENTS 320
#define DISK_BLOCK   4096u
#define DISK_LOOKS   1000 /* until a disk does nothing, 2 ms between two of them */

struct disk {
	unsigned major;
	unsigned minor;
	uint64_t offset; /* of the file system in it, in sectors */
};

struct disk_file {
	int fd;
	uint64_t inode;
	struct disk disk;
	struct fiemap_extent extents[DISK_EXTENTS];
	unsigned extent_count;
	char sectors[256]; /* all of it, as JSON */
};

/* A line of a file below /sys/dev/block/MAJOR:MINOR. */
WL_FINE bool disk_attribute(unsigned major, unsigned minor, const char *name, char *text,
			    size_t size)
{
	char path[96];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major, minor, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	return true;
}

/* The file of the place that tells the disk below its file system `name`, if the file system's own
 * number does not: disk and offset. */
WL_FINE const char *disk_told(const char *name)
{
	if (strcmp(name, "dm") == 0)
		return "mapped";
	return strcmp(name, "btrfs") == 0 ? "btrfs.disk" : NULL;
}

/* The disk below a file system on `device`, or as the place tells it. */
WL_FINE struct disk disk_below(dev_t device, const char *told)
{
	struct disk disk = {.major = major(device), .minor = minor(device)};
	unsigned long long offset = 0;
	char text[256];
	FILE *file;

	if (told) {
		file = fopen(wl_place(told), "re");
		if (!file || fscanf(file, "%u:%u %llu", &disk.major, &disk.minor, &offset) != 3)
			wl_die("the disk is not told");
		fclose(file);
		disk.offset = offset;
	} else if (disk_attribute(disk.major, disk.minor, "start", text, sizeof(text))) {
		disk.offset = strtoull(text, NULL, 10);
		if (!disk_attribute(disk.major, disk.minor, "../dev", text, sizeof(text)) ||
		    sscanf(text, "%u:%u", &disk.major, &disk.minor) != 2)
			wl_die("a partition without a disk");
	}
	return disk;
}

WL_FINE void disk_map(struct disk_file *file)
{
	union {
		struct fiemap head;
		char room[sizeof(struct fiemap) + DISK_EXTENTS * sizeof(struct fiemap_extent)];
	} map = {.head = {.fm_length = ~0ull, .fm_extent_count = DISK_EXTENTS}};

	WL_CHECK(ioctl(file->fd, FS_IOC_FIEMAP, &map.head));
	if (map.head.fm_mapped_extents >= DISK_EXTENTS)
		wl_die("a file of %u extents", map.head.fm_mapped_extents);
	file->extent_count = map.head.fm_mapped_extents;
	memcpy(file->extents, map.head.fm_extents, file->extent_count * sizeof(file->extents[0]));
}

/* The sectors of a stretch of a file as JSON, [[first, count], ...]; returns how many stretches. */
WL_FINE int disk_sectors(const struct disk_file *file, uint64_t from, uint64_t bytes, char *text,
			 size_t size)
{
	uint64_t end = from + bytes;
	size_t used = 0;
	int count = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < file->extent_count; i++) {
		const struct fiemap_extent *extent = &file->extents[i];
		uint64_t first = from > extent->fe_logical ? from : extent->fe_logical;
		uint64_t last = extent->fe_logical + extent->fe_length < end
					? extent->fe_logical + extent->fe_length
					: end;

		if (first >= last)
			continue;
		used += snprintf(
			text + used, size - used, "%s[%llu,%llu]", count ? "," : "",
			(unsigned long long)((extent->fe_physical + first - extent->fe_logical) /
						     512 +
					     file->disk.offset),
			(unsigned long long)((last - first) / 512));
		if (used >= size)
			wl_die("too many extents");
		count++;
	}
	return count;
}

/* Makes a file of `blocks` blocks in the place's file system `name`; written and on disk, or only
 * allocated. It has no name. */
WL_FINE void disk_create(struct disk_file *file, const char *name, unsigned blocks, int flags,
			 bool written)
{
	static char data[16 * DISK_BLOCK] __attribute__((aligned(4096)));
	struct stat status;
	char path[320];

	snprintf(path, sizeof(path), "%s/workload-XXXXXX", wl_place(name));
	file->fd = WL_CHECK(mkostemp(path, O_CLOEXEC));
	WL_CHECK(fallocate(file->fd, 0, 0, blocks * DISK_BLOCK));
	memset(data, 'x', sizeof(data));
	for (unsigned block = 0; written && block < blocks; block += 16)
		WL_CHECK(pwrite(file->fd, data,
				(blocks - block < 16 ? blocks - block : 16) * DISK_BLOCK,
				block * DISK_BLOCK));
	WL_CHECK(fsync(file->fd));
	if (flags) {
		close(file->fd);
		file->fd = WL_CHECK(open(path, O_RDWR | O_CLOEXEC | flags));
	}
	unlink(path);
	WL_CHECK(fstat(file->fd, &status));
	file->inode = status.st_ino;
	file->disk = disk_below(status.st_dev, disk_told(name));
	disk_map(file);
	disk_sectors(file, 0, (uint64_t)blocks * DISK_BLOCK, file->sectors, sizeof(file->sectors));
	WL_CHECK(syncfs(file->fd));
	WL_CHECK(posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED));
}

/* The counters of a disk: reads, sectors read, writes, sectors written, flushes. */
struct disk_counts {
	uint64_t at_min;
	uint64_t at_max;
	unsigned long long reads, read_sectors, writes, write_sectors, flushes, in_flight;
};

WL_FINE void disk_look(const struct disk *disk, struct disk_counts *counts)
{
	char text[256];

	*counts = (struct disk_counts){.at_min = wl_now()};
	if (!disk_attribute(disk->major, disk->minor, "stat", text, sizeof(text)))
		wl_die("a disk without statistics");
	if (sscanf(text, "%llu %*u %llu %*u %llu %*u %llu %*u %llu %*u %*u %*u %*u %*u %*u %llu",
		   &counts->reads, &counts->read_sectors, &counts->writes, &counts->write_sectors,
		   &counts->in_flight, &counts->flushes) != 6)
		wl_die("statistics of an unknown form");
	counts->at_max = wl_now();
}

/*
 * Counts while the disk does nothing. A request's end wakes who waits for it before the disk counts
 * it, and that may be in a task that has just lost its CPU to us: reading ahead, and others, have
 * requests on their way, too. Clocks differ by a little.
 */
WL_FINE void disk_count(const struct disk *disk, struct disk_counts *counts)
{
	struct disk_counts before;
	unsigned looks = 0;

	disk_look(disk, counts);
	do {
		if (looks++ == DISK_LOOKS)
			wl_die("others use the disk all the time");
		before = *counts;
		wl_sleep(2000000);
		disk_look(disk, counts);
	} while (counts->in_flight || counts->reads != before.reads ||
		 counts->writes != before.writes || counts->flushes != before.flushes);
	wl_spin(30000);
}

/* All that the disk did between two counts. */
WL_FINE void disk_counted(const struct disk *disk, const struct disk_counts *before,
			  const struct disk_counts *after)
{
	wl_rule("\"rule\":\"disk\",\"dev\":\"%u:%u\",\"from_min\":%llu,\"from_max\":%llu,\"to_"
		"min\":%llu,\"to_max\":%llu,\"reads\":%llu,"
		"\"read_sectors\":%llu,\"writes\":%llu,\"write_sectors\":%llu,\"flushes\":%llu",
		disk->major, disk->minor, (unsigned long long)before->at_min,
		(unsigned long long)before->at_max, (unsigned long long)after->at_min,
		(unsigned long long)after->at_max, after->reads - before->reads,
		after->read_sectors - before->read_sectors, after->writes - before->writes,
		after->write_sectors - before->write_sectors, after->flushes - before->flushes);
}

/* Exactly these sectors of the file were asked for by `task`, each once; or these at least, if
 * `more`. */
WL_FINE void disk_asked(const struct disk_file *file, int task, const char *operation,
			uint64_t from, uint64_t to, const char *sectors, bool more)
{
	wl_rule("\"rule\":\"requests\",\"tid\":%d,\"dev\":\"%u:%u\",\"op\":\"%s\",\"from\":%llu,"
		"\"to\":%llu,\"sectors\":[%s],\"more\":%s,"
		"\"file\":[%s]",
		wl->tasks[task].tid, file->disk.major, file->disk.minor, operation,
		(unsigned long long)from, (unsigned long long)to, sectors, more ? "true" : "false",
		file->sectors);
}

#endif

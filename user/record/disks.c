/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of the machine's disks and partitions. Records have device numbers
 * only. The names are read at the start, and again at the stop for disks that
 * were added meanwhile. A disk that was added and removed in between has no
 * name.
 */
#include <stdio.h>
#include <string.h>

#include "record/disks.h"
#include "record/stream/user_stream.h"

#define DISKS_MOST 4096

/* The name of a device-mapper device; "": it is none. */
static void read_mapping(const char *disk, char *name, size_t size)
{
	char path[96];
	FILE *file;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/sys/class/block/%.40s/dm/name", disk);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(name, (int)size, file))
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

int clew_disks_read(struct clew_recorder *recorder, uint64_t time)
{
	FILE *file = fopen("/proc/partitions", "re");
	char line[128], disk[64], mapping[96], name[192];
	unsigned major, minor;
	int error = 0;

	for (unsigned i = 0; file && !error && i < DISKS_MOST && fgets(line, sizeof(line), file);) {
		if (sscanf(line, "%u %u %*u %63s", &major, &minor, disk) != 3)
			continue;
		i++;
		read_mapping(disk, mapping, sizeof(mapping));
		snprintf(name, sizeof(name), mapping[0] ? "%s (%s)" : "%s", disk, mapping);
		error = clew_put_text(recorder, CLEW_TEXT_DISK | (uint64_t)major << 20 | minor,
				      name, time);
	}
	if (file)
		fclose(file);
	return error;
}

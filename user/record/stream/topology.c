/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The node, socket and core of each CPU, from sysfs. */
#include "record/stream/topology.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CPU_DIRECTORY "/sys/devices/system/cpu"

static int read_number(unsigned cpu, const char *name)
{
	char path[128];
	int number = -1;
	FILE *file;

	snprintf(path, sizeof(path), CPU_DIRECTORY "/cpu%u/topology/%s", cpu, name);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%d", &number) != 1)
			number = -1;
		fclose(file);
	}
	return number;
}

/* A CPU's directory has a link that is named after its node. */
static int read_node(unsigned cpu)
{
	char path[64];
	struct dirent *entry;
	int number = -1;
	DIR *directory;

	snprintf(path, sizeof(path), CPU_DIRECTORY "/cpu%u", cpu);
	directory = opendir(path);
	if (!directory)
		return -1;
	while (number < 0 && (entry = readdir(directory)))
		if (sscanf(entry->d_name, "node%d", &number) != 1)
			number = -1;
	closedir(directory);
	return number;
}

int clew_topology_read(unsigned cpus, char **ret_text)
{
	size_t size = 0;
	FILE *stream = open_memstream(ret_text, &size);

	if (!stream)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		fprintf(stream, "%u %d %d %d\n", cpu, read_node(cpu),
			read_number(cpu, "physical_package_id"), read_number(cpu, "core_id"));
	if (fclose(stream)) {
		free(*ret_text);
		return -ENOMEM;
	}
	return 0;
}

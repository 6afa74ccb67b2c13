/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time and the memory that the daemon takes. */
#include "cli/daemon/daemon_cost.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t clew_daemon_cpu_time(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	uint64_t us = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct rusage usage;

		getrusage(whose[i], &usage);
		us += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
		      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	}
	return us * 1000;
}

uint64_t clew_daemon_memory(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long all, pages = 0;

	if (file && fscanf(file, "%lu %lu", &all, &pages) != 2)
		pages = 0;
	if (file)
		fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

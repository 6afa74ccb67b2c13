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

/* A file of a process's folder in /proc; NULL: there is none. */
static FILE *open_of(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return pid > 0 ? fopen(path, "re") : NULL;
}

uint64_t clew_daemon_cpu_time_of(pid_t pid)
{
	FILE *file = open_of(pid, "stat");
	unsigned long long user = 0, system = 0;
	uint64_t ticks;

	/* Its name has no parenthesis. */
	if (file &&
	    fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
		   &user, &system) != 2)
		user = system = 0;
	if (file)
		fclose(file);
	ticks = user + system;
	return ticks * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t clew_daemon_memory_of(pid_t pid)
{
	FILE *file = open_of(pid, "statm");
	unsigned long all, pages = 0;

	if (file && fscanf(file, "%lu %lu", &all, &pages) != 2)
		pages = 0;
	if (file)
		fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t clew_daemon_memory(void)
{
	return clew_daemon_memory_of(getpid());
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture's metadata: the machine, the options, the clocks. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#include "record/internal.h"
#include "record/topology.h"

#define CLOCK_PERIOD 10000000000ULL

/* NULL is left out. */
static int write_text(struct clew_recorder *recorder, const char *key, const char *value)
{
	return value ? clew_writer_meta(recorder->writer, key, value) : 0;
}

static int write_topology(struct clew_recorder *recorder)
{
	char *topology;
	int r = clew_topology_read(recorder->cpu_count, &topology);

	if (r == 0) {
		r = write_text(recorder, "topology", topology);
		free(topology);
	}
	return r;
}

/* Seconds that local time is ahead of UTC, so that moments can be asked for as logs have them. */
static int write_utc_offset(struct clew_recorder *recorder)
{
	time_t now = time(NULL);
	struct tm local;
	char seconds[32];

	if (!localtime_r(&now, &local))
		return 0;
	snprintf(seconds, sizeof(seconds), "%ld", local.tm_gmtoff);
	return write_text(recorder, "utc_offset", seconds);
}

int clew_meta_write(struct clew_recorder *recorder, const struct clew_recorder_options *options)
{
	struct utsname name;
	int r;

	uname(&name);
	r = write_text(recorder, "kernel", name.release);
	r = r ? r : write_text(recorder, "machine", name.machine);
	r = r ? r : write_text(recorder, "host", name.nodename);
	r = r ? r : clew_meta_number(recorder, "cpus", recorder->cpu_count);
	r = r ? r : write_topology(recorder);
	r = r ? r : write_utc_offset(recorder);
	r = r ? r : write_text(recorder, "page_cache", recorder->page_cache);
	r = r ? r : write_text(recorder, "command", options->command);
	r = r ? r : write_text(recorder, "environment", options->environment);
	return r ? r : write_text(recorder, "layers", options->layers_text);
}

int clew_meta_number(struct clew_recorder *recorder, const char *key, uint64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	return clew_writer_meta(recorder->writer, key, number);
}

int clew_meta_clock(struct clew_recorder *recorder)
{
	struct timespec monotonic, boot, wall;
	struct clew_clock clock;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock.monotonic = monotonic.tv_sec * 1000000000ULL + monotonic.tv_nsec;
	clock.boot = boot.tv_sec * 1000000000ULL + boot.tv_nsec;
	clock.wall = wall.tv_sec * 1000000000ULL + wall.tv_nsec;
	recorder->next_clock = clock.monotonic + CLOCK_PERIOD;
	return clew_writer_clock(recorder->writer, &clock);
}

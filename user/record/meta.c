/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture's metadata: the machine, the options, the clocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "record/meta.h"
#include "record/stream/recorder_state.h"
#include "record/stream/topology.h"

#define CLOCK_PERIOD 10000000000ULL

/* NULL is left out. */
static int write_text(struct clew_writer *writer, const char *key, const char *value)
{
	return value ? clew_writer_meta(writer, key, value) : 0;
}

static int write_topology(const struct clew_recorder *recorder, struct clew_writer *writer)
{
	char *topology;
	int r = clew_topology_read(recorder->cpu_count, &topology);

	if (r == 0) {
		r = write_text(writer, "topology", topology);
		free(topology);
	}
	return r;
}

/* The model of the first CPU, as recordings of other machines are compared by it. */
static int write_cpu_model(struct clew_writer *writer)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t size = 0;
	int r = 0;

	while (in && getline(&line, &size, in) > 0) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", strlen("model name")) != 0 || !value)
			continue;
		value += 1 + strspn(value + 1, " ");
		value[strcspn(value, "\n")] = '\0';
		r = write_text(writer, "cpu_model", value);
		break;
	}
	free(line);
	if (in)
		fclose(in);
	return r;
}

/* Seconds that local time is ahead of UTC, so that moments can be asked for as logs have them. */
static int write_utc_offset(struct clew_writer *writer)
{
	time_t now = time(NULL);
	struct tm local;
	char seconds[32];

	if (!localtime_r(&now, &local))
		return 0;
	snprintf(seconds, sizeof(seconds), "%ld", local.tm_gmtoff);
	return write_text(writer, "utc_offset", seconds);
}

/* A recording of several files. */
static int write_place(const struct clew_recorder *recorder, struct clew_writer *writer)
{
	int r;

	if (!recorder->files.recording[0])
		return 0;
	r = write_text(writer, "recording", recorder->files.recording);
	return r ? r : clew_meta_number(writer, "segment", recorder->files.ended);
}

int clew_meta_write(const struct clew_recorder *recorder, struct clew_writer *writer)
{
	const struct clew_recorder_options *options = &recorder->options;
	struct utsname name;
	int r;

	uname(&name);
	r = write_text(writer, "kernel", name.release);
	r = r ? r : write_text(writer, "machine", name.machine);
	r = r ? r : write_text(writer, "host", name.nodename);
	r = r ? r : clew_meta_number(writer, "cpus", recorder->cpu_count);
	r = r ? r : write_cpu_model(writer);
	r = r ? r : write_topology(recorder, writer);
	r = r ? r : write_utc_offset(writer);
	r = r ? r : write_text(writer, "page_cache", recorder->features.page_cache);
	r = r ? r : write_text(writer, "stacks", recorder->features.stacks);
	r = r ? r : write_text(writer, "messages", recorder->features.messages);
	r = r ? r : write_text(writer, "network", recorder->features.network);
	r = r ? r : write_text(writer, "without", recorder->features.without);
	r = r ? r : write_text(writer, "command", options->command);
	r = r ? r : write_text(writer, "environment", options->environment);
	r = r ? r : write_text(writer, "layers", options->layers_text);
	if (recorder->files.probe_costs[0])
		r = r ? r : write_text(writer, "probe_costs", recorder->files.probe_costs);
	return r ? r : write_place(recorder, writer);
}

int clew_meta_number(struct clew_writer *writer, const char *key, uint64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	return clew_writer_meta(writer, key, number);
}

int clew_meta_clock(struct clew_recorder *recorder, struct clew_writer *writer)
{
	struct timespec monotonic, boot, wall;
	struct clew_clock clock;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock.monotonic = monotonic.tv_sec * 1000000000ULL + monotonic.tv_nsec;
	clock.boot = boot.tv_sec * 1000000000ULL + boot.tv_nsec;
	clock.wall = wall.tv_sec * 1000000000ULL + wall.tv_nsec;
	recorder->files.next_clock = clock.monotonic + CLOCK_PERIOD;
	return clew_writer_clock(writer, &clock);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trace events with many probes.
 *
 * A line for each probe is appended to tracefs's uprobe_events, all with the name of one event. The
 * name has this process's id, so that what it leaves if it is killed is known to be nobody's. Files
 * are named by descriptor, as paths with blanks cannot be written there.
 */
#include "record/functions/probe_event.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"
#define EVENTS	TRACING "uprobe_events"
#define NAME	"clew/p%d_%" PRIu32
#define CHUNK	4000 /* bytes that are written at once; the kernel takes whole lines */

static int open_events(void)
{
	int events = open(EVENTS, O_WRONLY | O_APPEND | O_CLOEXEC);

	return events < 0 ? -errno : events;
}

static int write_all(int events, const char *text, size_t size)
{
	ssize_t written = write(events, text, size);

	return written < 0 ? -errno : (size_t)written == size ? 0 : -EIO;
}

static int remove_event(int events, int pid, uint32_t number)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "-:" NAME "\n", pid, number);

	return write_all(events, line, (size_t)length);
}

void clew_probe_event_remove(uint32_t number)
{
	int events = open_events();

	if (events < 0)
		return;
	remove_event(events, getpid(), number);
	close(events);
}

/* Removes events of processes that have ended: how many, or -errno. */
static int remove_left(int events)
{
	FILE *list = fopen(EVENTS, "re");
	int pid, last = 0, removed = 0;
	uint32_t number, last_number = 0;
	char line[512];

	if (!list)
		return -errno;
	while (fgets(line, sizeof(line), list)) {
		if (sscanf(line, "%*1[pr]:" NAME, &pid, &number) != 2 ||
		    (pid == last && number == last_number) || !kill(pid, 0) || errno != ESRCH)
			continue;
		removed += remove_event(events, pid, number) >= 0;
		last = pid;
		last_number = number;
	}
	fclose(list);
	return removed;
}

int clew_probe_events_prepare(struct clew_message *message)
{
	int events = open_events(), left = events;

	/* The kernel counts the lines that were read: behind a removed event some are left out. */
	while (left >= 0 && (left = remove_left(events)) > 0)
		;
	if (events >= 0)
		close(events);
	return left < 0 ? clew_say(message, -ENOTSUP,
				   "functions need Linux 6.6 or newer, or " EVENTS
				   ": mount -t tracefs tracing /sys/kernel/tracing")
			: 0;
}

static int define(int events, uint32_t number, int descriptor, bool returns,
		  const struct clew_probe_place *places, size_t count)
{
	char chunk[CHUNK + 256];
	size_t size = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		size += (size_t)sprintf(chunk + size, "%c:" NAME " /proc/self/fd/%d:0x%" PRIx64,
					returns ? 'r' : 'p', getpid(), number, descriptor,
					places[i].offset);
		if (places[i].semaphore)
			size += (size_t)sprintf(chunk + size, "(0x%" PRIx64 ")",
						places[i].semaphore);
		chunk[size++] = '\n';
		if (size >= CHUNK || i + 1 == count) {
			r = write_all(events, chunk, size);
			size = 0;
		}
	}
	return r;
}

/* A perf event of the trace event: a descriptor or -errno. Its program runs on all CPUs. */
static int open_perf(uint32_t number)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attributes), .sample_period = 1};
	unsigned long long id;
	char path[128];
	FILE *file;
	int perf;

	snprintf(path, sizeof(path), TRACING "events/" NAME "/id", getpid(), number);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (fscanf(file, "%llu", &id) != 1)
		id = 0;
	fclose(file);
	if (!id)
		return -EIO;
	attributes.config = id;
	perf = (int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return perf < 0 ? -errno : perf;
}

static int attach(const struct bpf_program *program, uint32_t number, struct clew_probe_links *ret)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = number);
	int perf = open_perf(number), r;

	if (perf < 0)
		return perf;
	ret->links[0] = bpf_program__attach_perf_event_opts(program, perf, &options);
	if (ret->links[0]) {
		ret->count = 1;
		return 0;
	}
	r = -errno;
	close(perf);
	return r;
}

int clew_probe_event_attach(const struct bpf_program *program, uint32_t number, int descriptor,
			    bool returns, const struct clew_probe_place *places, size_t count,
			    struct clew_probe_links *ret)
{
	int events = open_events(), r;

	*ret = (struct clew_probe_links){.multi = -1};
	if (events < 0)
		return events;
	ret->links = calloc(1, sizeof(*ret->links));
	r = ret->links ? define(events, number, descriptor, returns, places, count) : -ENOMEM;
	if (r >= 0)
		r = attach(program, number, ret);
	if (r >= 0) {
		ret->event = number;
	} else {
		remove_event(events, getpid(), number);
		free(ret->links);
		*ret = (struct clew_probe_links){.multi = -1};
	}
	close(events);
	return r;
}

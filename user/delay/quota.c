/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits of control groups of both versions. */
#include "delay/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "delay/group.h"

#define PERIOD_US    100000 /* of a CPU quota, the kernel's default */
#define LEAST_US     1000   /* of a period */
#define LEAST_BYTES  65536  /* a second */
#define MOST_DEVICES 16
#define MOST_CPUS    4096
#define SECOND	     1000000000ull

struct clew_quota {
	bool cpu;
	double percent; /* of what was used before; 0: `limit` was given */
	uint64_t limit; /* ns or bytes a second */
	struct delay_group group;
	struct delay_group account; /* version 1: where CPU time is counted */
	uint64_t since, before;	    /* since when its use is looked at, ns, and that until then */
	char devices[MOST_DEVICES][24];
	size_t device_count;
};

/* ---- what was asked for ---- */

static int read_amount(struct clew_quota *quota, const char *text)
{
	struct clew_amount amount;
	char *end;
	double number = strtod(text, &end);

	if (end == text || !(number > 0))
		return -EINVAL;
	if (!strcmp(end, "%")) {
		quota->percent = number;
		return number < 5 || number > 95 ? -ERANGE : 0;
	}
	if (quota->cpu) {
		quota->limit = number < MOST_CPUS ? (uint64_t)(number * SECOND) : 0;
		return *end ? -EINVAL : quota->limit < SECOND / PERIOD_US * LEAST_US ? -ERANGE : 0;
	}
	if (amount_parse(text, &amount) < 0 || amount.ns || !amount.bytes)
		return -EINVAL;
	quota->limit = amount.bytes;
	return quota->limit < LEAST_BYTES ? -ERANGE : 0;
}

int clew_quota_new(const char *text, struct clew_quota **ret_quota, struct clew_message *message)
{
	struct clew_quota *quota = calloc(1, sizeof(*quota));
	const char *amount = strchr(text, '=');
	int r = -EINVAL;

	if (!quota)
		return clew_say(message, -ENOMEM, "no memory for a quota: free some");
	quota->group.alive = quota->account.alive = -1;
	quota->cpu = !strncmp(text, "cpu=", 4);
	if (amount && (quota->cpu || !strncmp(text, "disk=", 5)))
		r = read_amount(quota, amount + 1);
	if (r == 0) {
		*ret_quota = quota;
		return 0;
	}
	free(quota);
	if (r == -ERANGE)
		return clew_say(message, -EINVAL,
				"--quota: '%s' is out of range: give 5%% to 95%%, 0.01 CPU or "
				"more, or 64K or more a second",
				text);
	return clew_say(message, -EINVAL,
			"--quota: '%s' is none: write cpu=50%%, cpu=0.5, disk=50%% or disk=10M",
			text);
}

/* ---- what is used ---- */

/* The number behind a word of a text; 0: it is not there. */
static uint64_t number_of(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static uint64_t cpu_used(const struct clew_quota *quota)
{
	char text[2048];

	if (quota->group.unified)
		return delay_group_read(&quota->group, "cpu.stat", text, sizeof(text)) < 0
			       ? 0
			       : number_of(text, "usage_usec ") * 1000;
	return delay_group_read(&quota->account, "cpuacct.usage", text, sizeof(text)) < 0
		       ? 0
		       : strtoull(text, NULL, 10);
}

/* Adds a disk to those that were used. */
static void add_device(struct clew_quota *quota, const char *device, size_t length)
{
	char name[24];

	if (length >= sizeof(name) || !memchr(device, ':', length))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)length, device);
	for (size_t i = 0; i < quota->device_count; i++)
		if (!strcmp(quota->devices[i], name))
			return;
	if (quota->device_count < MOST_DEVICES)
		strcpy(quota->devices[quota->device_count++], name);
}

/* Bytes in lines such as "8:0 Read 4096" or "8:0 rbytes=4096 wbytes=0 ..". `add`: their disks are
 * added. */
static uint64_t disk_used(struct clew_quota *quota, bool add)
{
	const char *file = quota->group.unified ? "io.stat" : "blkio.throttle.io_service_bytes";
	char text[8192], *save = NULL;
	uint64_t bytes = 0;

	if (delay_group_read(&quota->group, file, text, sizeof(text)) < 0)
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		uint64_t here = quota->group.unified
					? number_of(line, "rbytes=") + number_of(line, "wbytes=")
					: number_of(line, " Read ") + number_of(line, " Write ");

		bytes += here;
		if (add && here)
			add_device(quota, line, strcspn(line, " "));
	}
	return bytes;
}

uint64_t clew_quota_used(const struct clew_quota *quota)
{
	return quota->cpu ? cpu_used(quota) : disk_used((struct clew_quota *)quota, false);
}

int clew_quota_take(struct clew_quota *quota, pid_t pid, struct clew_message *message)
{
	int r = delay_group_make(quota->cpu ? "cpu" : "io", pid, &quota->group, message);

	if (r == 0 && quota->cpu && !quota->group.unified) {
		char text[32];

		/* Both controllers may have one hierarchy. */
		if (delay_group_read(&quota->group, "cpuacct.usage", text, sizeof(text)) == 0)
			strcpy(quota->account.path, quota->group.path);
		else
			r = delay_group_make("cpuacct", pid, &quota->account, message);
	}
	return r;
}

void clew_quota_begin(struct clew_quota *quota)
{
	quota->since = clock_read(CLOCK_MONOTONIC);
	quota->before = clew_quota_used(quota);
}

int clew_quota_measure(struct clew_quota *quota, struct clew_message *message)
{
	double seconds = (double)(clock_read(CLOCK_MONOTONIC) - quota->since) / SECOND;
	uint64_t used = quota->cpu ? cpu_used(quota) : disk_used(quota, true),
		 least = quota->cpu ? SECOND / PERIOD_US * LEAST_US : LEAST_BYTES;

	if (!quota->cpu && !quota->device_count)
		return clew_say(message, -EINVAL,
				"--quota: the program read nothing from a disk and wrote nothing "
				"to one in %.0f s: try it while it does",
				seconds);
	used -= used < quota->before ? used : quota->before;
	if (quota->percent && seconds > 0)
		quota->limit = (uint64_t)((double)used / seconds * quota->percent / 100);
	if (quota->limit < least)
		return clew_say(message, -EINVAL,
				"--quota: the program used next to nothing in %.0f s: give an "
				"amount, or try it while it works",
				seconds);
	return 0;
}

/* ---- limits ---- */

static int set_cpu(const struct clew_quota *quota, bool on)
{
	char line[64];
	uint64_t us = quota->limit / (SECOND / PERIOD_US);

	if (quota->group.unified && on)
		snprintf(line, sizeof(line), "%" PRIu64 " %d", us, PERIOD_US);
	else if (quota->group.unified)
		snprintf(line, sizeof(line), "max %d", PERIOD_US);
	else
		snprintf(line, sizeof(line), "%" PRId64, on ? (int64_t)us : -1);
	return delay_group_write(&quota->group,
				 quota->group.unified ? "cpu.max" : "cpu.cfs_quota_us", line);
}

/* Each disk has the limit for itself, and reads and writes have one each. */
static int set_disk(const struct clew_quota *quota, const char *device, bool on)
{
	char line[128];
	int r;

	if (quota->group.unified) {
		if (on)
			snprintf(line, sizeof(line), "%s rbps=%" PRIu64 " wbps=%" PRIu64, device,
				 quota->limit, quota->limit);
		else
			snprintf(line, sizeof(line), "%s rbps=max wbps=max", device);
		return delay_group_write(&quota->group, "io.max", line);
	}
	snprintf(line, sizeof(line), "%s %" PRIu64, device, on ? quota->limit : 0);
	r = delay_group_write(&quota->group, "blkio.throttle.read_bps_device", line);
	return r < 0 ? r
		     : delay_group_write(&quota->group, "blkio.throttle.write_bps_device", line);
}

int clew_quota_set(struct clew_quota *quota, bool on)
{
	int r = 0;

	if (quota->cpu)
		return set_cpu(quota, on);
	for (size_t i = 0; i < quota->device_count && r == 0; i++)
		r = set_disk(quota, quota->devices[i], on);
	return r;
}

uint64_t clew_quota_limit(const struct clew_quota *quota)
{
	return quota->limit;
}

bool clew_quota_is_cpu(const struct clew_quota *quota)
{
	return quota->cpu;
}

void clew_quota_free(struct clew_quota *quota)
{
	if (!quota)
		return;
	delay_group_end(&quota->account);
	delay_group_end(&quota->group);
	free(quota);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ticks: what runs on each CPU, 99 times a second on average. Two clocks a CPU,
 * whose periods have no small common multiple, tick at intervals that vary: a
 * task that does something at a steady pace is not met at the same point each
 * time.
 *
 * With --stacks, samples give the shares of time that a task spends in its
 * functions. Each clock then gets a new random period five times a second: a
 * task that works in turns of nearly a multiple of a period would be sampled at
 * the same point of its turns until the period changes.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/stream/recorder_state.h"
#include "record/ticks.h"

#define CLOCKS 2
static const uint64_t periods[CLOCKS] = {17387117, 23974537}; /* ns */

/* In *ret_event is a descriptor of the clock for the caller to close, unless it is NULL. */
static struct bpf_link *attach(const struct bpf_program *program, int cpu, uint64_t period,
			       int *ret_event)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period,
		.exclude_idle = 1,
	};
	int descriptor =
		(int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;
	int error, event;

	if (descriptor < 0)
		return NULL;
	/* The link closes the descriptor. */
	event = ret_event ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : -1;
	link = bpf_program__attach_perf_event(program, descriptor);
	error = errno;
	if (!link)
		close(descriptor);
	if (!link && event >= 0)
		close(event);
	if (ret_event)
		*ret_event = event;
	errno = error;
	return link;
}

struct bpf_link *clew_ticks_attach(const struct bpf_program *program, int cpu, uint64_t period)
{
	return attach(program, cpu, period, NULL);
}

int clew_ticks_open(struct clew_recorder *recorder)
{
	const struct clew_bpf *bpf = recorder->bpf;
	bool sampled = bpf_program__fd(bpf->progs.clew_sample) >= 0;
	const struct bpf_program *program = sampled ? bpf->progs.clew_sample : bpf->progs.clew_tick;
	int error = 0;
	bool any = false;

	if (bpf_program__fd(program) < 0)
		return 0;
	recorder->ticks.clocks =
		calloc((size_t)recorder->cpu_count * CLOCKS, sizeof(*recorder->ticks.clocks));
	if (!recorder->ticks.clocks)
		return -ENOMEM;
	recorder->ticks.vary = sampled;
	/* A CPU that is offline has no ticks. */
	for (unsigned i = 0; i < recorder->cpu_count * CLOCKS; i++) {
		recorder->ticks.clocks[i].link =
			attach(program, (int)(i / CLOCKS), periods[i % CLOCKS],
			       &recorder->ticks.clocks[i].event);
		if (recorder->ticks.clocks[i].link)
			any = true;
		else
			error = -errno;
	}
	return any ? 0 : error;
}

void clew_ticks_vary(struct clew_recorder *recorder)
{
	if (!recorder->ticks.vary)
		return;
	for (unsigned i = recorder->ticks.varied++ % CLOCKS; i < recorder->cpu_count * CLOCKS;
	     i += CLOCKS) {
		uint64_t mean = periods[i % CLOCKS], period;
		uint32_t random;

		if (!recorder->ticks.clocks[i].link ||
		    getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
			continue;
		/* 0.5 to 1.5 times the mean */
		period = mean / 2 + (mean * random >> 32);
		ioctl(recorder->ticks.clocks[i].event, PERF_EVENT_IOC_PERIOD, &period);
	}
}

void clew_ticks_close(struct clew_recorder *recorder)
{
	for (unsigned i = 0; recorder->ticks.clocks && i < recorder->cpu_count * CLOCKS; i++) {
		struct clew_tick_clock *clock = &recorder->ticks.clocks[i];

		bpf_link__destroy(clock->link);
		if (clock->link)
			close(clock->event);
	}
	free(recorder->ticks.clocks);
	recorder->ticks.clocks = NULL;
}

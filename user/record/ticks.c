/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ticks: what runs on each CPU, 99 times a second on average. Two clocks a CPU,
 * whose periods have no small common multiple, tick at intervals that vary: a
 * task that does something at a steady pace is not met at the same point each
 * time.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/internal.h"
#include "record/ticks.h"

#define CLOCKS 2
static const uint64_t periods[CLOCKS] = {17387117, 23974537}; /* ns */

struct bpf_link *clew_ticks_attach(const struct bpf_program *program, int cpu, uint64_t period)
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
	int error;

	if (descriptor < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, descriptor);
	error = errno;
	if (!link)
		close(descriptor);
	errno = error;
	return link;
}

int clew_ticks_open(struct clew_recorder *recorder)
{
	const struct bpf_program *program = recorder->bpf->progs.clew_tick;

	if (bpf_program__fd(program) < 0)
		return 0;
	recorder->ticks = calloc((size_t)recorder->cpu_count * CLOCKS, sizeof(*recorder->ticks));
	if (!recorder->ticks)
		return -ENOMEM;
	/* A CPU that is offline has no ticks. */
	for (unsigned i = 0; i < recorder->cpu_count * CLOCKS; i++)
		recorder->ticks[i] =
			clew_ticks_attach(program, (int)(i / CLOCKS), periods[i % CLOCKS]);
	return 0;
}

void clew_ticks_close(struct clew_recorder *recorder)
{
	for (unsigned i = 0; recorder->ticks && i < recorder->cpu_count * CLOCKS; i++)
		bpf_link__destroy(recorder->ticks[i]);
	free(recorder->ticks);
	recorder->ticks = NULL;
}

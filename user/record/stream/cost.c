/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew's own cost. The kernel's run time statistics of BPF programs slow the
 * programs down by some per cent. They are therefore enabled for 10 ms a second
 * only. The mean run time of a program in these samples is multiplied by the
 * number of its runs in the whole recording.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <time.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/stream/clock.h"
#include "record/stream/cost.h"
#include "record/stream/program_table.h"
#include "record/stream/recorder_state.h"

#define SAMPLE_PERIOD 1000000000ULL
#define SAMPLE_LENGTH 10000000ULL

static void read_program(int descriptor, uint64_t *ret_time, uint64_t *ret_count)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	*ret_time = *ret_count = 0;
	if (!bpf_obj_get_info_by_fd(descriptor, &info, &size)) {
		*ret_time = info.run_time_ns;
		*ret_count = info.run_cnt;
	}
}

void clew_cost_add(struct clew_recorder *recorder, const struct bpf_object *object)
{
	struct cost_sampler *cost = &recorder->cost;
	struct bpf_program *program;

	bpf_object__for_each_program (program, object) {
		const struct clew_program_row *row = clew_program_row(bpf_program__name(program));

		if (bpf_program__fd(program) < 0 ||
		    cost->program_count == sizeof(cost->programs) / sizeof(cost->programs[0]))
			continue;
		cost->programs[cost->program_count++] = (struct program_cost){
			.descriptor = bpf_program__fd(program),
			.kind = row && (row->flags & CLEW_PROGRAM_ONCE) ? (int)row->kind : -1,
		};
	}
}

static void end_sample(struct cost_sampler *cost, uint64_t now)
{
	for (unsigned i = 0; i < cost->program_count; i++) {
		struct program_cost *row = &cost->programs[i];
		uint64_t time, count;

		read_program(row->descriptor, &time, &count);
		row->time += time - row->start_time;
		row->count += count - row->start_count;
	}
	cost->sampled_ns += now - cost->begun;
	cost->any = true;
}

void clew_cost_tick(struct clew_recorder *recorder, uint64_t now)
{
	struct cost_sampler *cost = &recorder->cost;
	struct timespec length = {.tv_nsec = SAMPLE_LENGTH};
	int statistics;

	if (now < cost->next)
		return;
	cost->next = now + SAMPLE_PERIOD;
	statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (statistics < 0)
		return;
	for (unsigned i = 0; i < cost->program_count; i++)
		read_program(cost->programs[i].descriptor, &cost->programs[i].start_time,
			     &cost->programs[i].start_count);
	cost->begun = clew_now();
	clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
	end_sample(cost, clew_now());
	close(statistics);
}

uint32_t clew_cost_of_run(const struct clew_recorder *recorder, int program)
{
	for (unsigned i = 0; i < recorder->cost.program_count; i++) {
		const struct program_cost *row = &recorder->cost.programs[i];

		if (row->descriptor == program && row->count)
			return (uint32_t)(row->time / row->count);
	}
	return 0;
}

void clew_cost_close(struct clew_recorder *recorder, uint64_t duration, struct clew_cost *ret_cost)
{
	struct cost_sampler *cost = &recorder->cost;
	double total = 0;

	for (unsigned i = 0; i < cost->program_count; i++) {
		const struct program_cost *row = &cost->programs[i];
		double runs = 0;

		if (!row->count)
			continue;
		if (row->kind >= 0)
			for (unsigned cpu = 0; cpu < recorder->cpu_count; cpu++)
				runs += recorder->rings.cpus[cpu].counts[row->kind].seen;
		else
			runs = (double)row->count * duration / cost->sampled_ns;
		total += runs * row->time / row->count;
	}
	ret_cost->user_ns = clew_cpu_time() - recorder->cost.start_cpu_time;
	ret_cost->bpf_ns = total;
	ret_cost->bpf_sampled = cost->any;
}

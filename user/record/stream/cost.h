/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cost of the programs while they record: their run time, sampled by kind of program. */
#ifndef CLEW_RECORD_STREAM_COST_H
#define CLEW_RECORD_STREAM_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "record/stream/recording.h"

struct bpf_object;

/* Sampled run time of the programs. */
struct cost_sampler {
	uint64_t start_cpu_time; /* that clew had used when the recording began */
	uint64_t begun;		 /* ns, start of the current sample */
	uint64_t next;
	uint64_t sampled_ns; /* wall time that samples covered */
	bool any;
	struct program_cost {
		int descriptor;
		int kind; /* kind of record whose count is the number of its runs, -1 none */
		uint64_t start_time, start_count;
		uint64_t time, count;
	} programs[160];
	unsigned program_count;
};

/* Add: includes the programs of a loaded object; not during a tick. */
void clew_cost_add(struct clew_recorder *recorder, const struct bpf_object *object);
void clew_cost_tick(struct clew_recorder *recorder, uint64_t now);
/* ns that a run of a program took on average in the samples so far, 0 unknown. */
uint32_t clew_cost_of_run(const struct clew_recorder *recorder, int program);
void clew_cost_close(struct clew_recorder *recorder, uint64_t duration, struct clew_cost *ret_cost);

#endif

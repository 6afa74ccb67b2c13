/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ticks on each CPU, at which a program notes what runs there.
 */
#ifndef CLEW_RECORD_TICKS_H
#define CLEW_RECORD_TICKS_H

#include <stdint.h>

/* A clock of a CPU. */
struct clew_tick_clock {
	struct bpf_link *link; /* NULL: there is none */
	int event;
};

struct bpf_link;
struct bpf_program;
struct clew_recorder;

/* Attaches a perf_event program to a clock of a CPU that ticks every `period`
 * ns. The caller destroys the link. NULL with errno. */
struct bpf_link *clew_ticks_attach(const struct bpf_program *program, int cpu, uint64_t period);

/* Starts the ticks of all CPUs that are online, if the kernel took the program. 0 or -errno: no CPU
 * has any. */
int clew_ticks_open(struct clew_recorder *recorder);
/* Where stacks are taken, gives one of each CPU's clocks another period; to be called ten times a
 * second. */
void clew_ticks_vary(struct clew_recorder *recorder);
void clew_ticks_close(struct clew_recorder *recorder);

#endif

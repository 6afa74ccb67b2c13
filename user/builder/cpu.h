/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The task that each CPU runs, and the intervals in which tasks ran or were ready.
 */
#ifndef CLEW_BUILDER_CPU_H
#define CLEW_BUILDER_CPU_H

#include "builder/findings.h"

struct clew_builder;
struct task;

struct cpu {
	uint32_t current;
	bool known; /* `current` has run since `since` */
	bool seen;  /* a record or a gap named this CPU */
	bool open_start;
	uint64_t since;
	uint64_t last; /* time of its last SWITCH record */
};

/* NULL: no memory. */
struct cpu *build_cpu(struct clew_builder *builder, uint16_t number);
/* Records of a CPU are missing: what it ran after `sure` is not known. */
int build_lose_cpu(struct clew_builder *builder, struct cpu *cpu, uint64_t sure);
/* `task` NULL: the CPU was idle. */
int build_send_run(struct clew_builder *builder, struct task *task, uint16_t cpu, uint64_t start,
		   uint64_t end, enum clew_run_end ended, bool open_start);
int build_send_ready(struct clew_builder *builder, struct task *task, uint64_t start, uint64_t end);

#endif

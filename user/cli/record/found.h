/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds what the machine's threads wait for at this moment, by passes over them alone. */
#ifndef CLEW_CLI_RECORD_FOUND_H
#define CLEW_CLI_RECORD_FOUND_H

#include "trace/trace.h"

/* Takes a capture of a moment, in memory, and loads it. Nothing is traced. Returns 0 or, after
 * clew_fail(), an exit status. */
int clew_found_now(struct clew_trace **ret_trace);
/* For how long a task of such a trace has been off the CPU, ns; UINT64_MAX: unknown. CPUs count
 * what interrupts took a little differently. */
uint64_t clew_found_age(const struct clew_trace *trace, const struct clew_trace_task *task);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clocks that a recording reads. */
#ifndef CLEW_RECORD_STREAM_CLOCK_H
#define CLEW_RECORD_STREAM_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in the steps in which the programs read it, and this process's CPU time;
 * ns. */
uint64_t clew_now(void);
uint64_t clew_cpu_time(void);

#endif

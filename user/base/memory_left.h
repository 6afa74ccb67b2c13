/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that a process may still take, bytes, before the kernel has to kill something.
 * Pages of files, which the kernel takes back at once, count as left.
 */
#ifndef CLEW_BASE_MEMORY_LEFT_H
#define CLEW_BASE_MEMORY_LEFT_H

#include <stdint.h>

/* By the memory cgroups of this process and those above them; UINT64_MAX: they have no limit. */
uint64_t memory_left_in_groups(void);
/* By these and by the machine, with its swap; UINT64_MAX: not known. */
uint64_t memory_left(void);

/* If memory runs out, the kernel kills this process and those that it forks before any other. 0 or
 * -errno. */
int memory_yield(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the kernel maps all memory. Programs read the stacks of sleeping tasks there, as these are
 * not in the current task's memory.
 */
#ifndef CLEW_RECORD_STACKS_DIRECT_MAP_H
#define CLEW_RECORD_STACKS_DIRECT_MAP_H

#include <stdbool.h>

struct clew_bpf;

/* Before the load. 0 or -errno: then it cannot be found, and user stacks end at once. */
int clew_direct_map_prepare(struct clew_bpf *bpf);
/* After the load. 0, or -ENOENT: it was not found. */
int clew_direct_map_find(struct clew_bpf *bpf);
/* True if page tables have five levels. */
bool clew_five_levels(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of a report that one window makes; a capture in one piece is one window. */
#ifndef CLEW_ANSWERS_REPORT_REPORT_LEFT_H
#define CLEW_ANSWERS_REPORT_REPORT_LEFT_H

#include "answers/report/report_sum.h"
#include "explain/wait_groups.h"

/* struct clew_task_times as a window leaves it. */
struct report_left_times {
	struct clew_task_time *times;
	size_t count;
	struct map_slot *had_cpu;
	size_t had_cpu_count;
};

/* All that a window leaves. */
struct report_left {
	struct report_left_times chosen;
	struct report_left_times machine; /* of all tasks, if a recorded command was asked about */
	struct report_disk_share *disks;
	size_t disk_count;
	struct clew_wait_groups groups;
	uint64_t from, to; /* the part of its trace that was asked for */
	bool alone;	   /* it is all there is */
};

/* Waits are grouped by what they are for, how they count, and whose they are: how they count. */
static inline enum clew_spent report_left_spent(const struct clew_sum_key *key)
{
	return (enum clew_spent)(key->parts[3] >> 32);
}

/* The serial of a task of the program whose waits they are. */
static inline uint32_t report_left_task(const struct clew_sum_key *key)
{
	return (uint32_t)key->parts[3];
}

/* Makes a window's part of what is asked for: out->root is a struct report_left. 0 or -errno. */
int report_leave(const struct clew_trace *trace, const struct report_asked *asked,
		 const struct clew_trace_window *window, struct shared *out);

#endif

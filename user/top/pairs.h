/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds who kept whom waiting in a period: the programs or control groups that had a lock, a CPU or
 * a disk which threads of others waited for, or whose limit kept them. Waits that are under way
 * count as far as they have come, but for those for a CPU or a disk, whose end says what was ahead.
 */
#ifndef CLEW_TOP_PAIRS_H
#define CLEW_TOP_PAIRS_H

#include "base/map.h"
#include "base/vector.h"
#include "daemon/sums.h"
#include "explain/summary.h"

enum top_by { TOP_BY_PROGRAM, TOP_BY_CGROUP };

struct top_pair {
	const char *victim, *antagonist; /* names of top_pairs; "unknown", or "other" of too many */
	unsigned kind; /* enum clew_wait_kind, CLEW_SEGMENT_RUNQUEUE, or SUMS_DISK */
	uint64_t ns;
};

struct top_pairs {
	struct top_pair *pairs; /* most time first */
	size_t count;
	struct arena names;
};

/*
 * Finds them within the trace's time. `chosen`: the victims; `summary`: of the same trace and
 * tasks. top_pairs_done() in either case. 0 or -ENOMEM. Cost: each wait and each request once.
 */
int top_pairs_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		   const struct clew_summary *summary, enum top_by by, struct top_pairs *ret_pairs);
void top_pairs_done(struct top_pairs *pairs);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time that threads lost, in sum by control group and kind, and who kept whom waiting for locks,
 * CPUs and disks.
 *
 * Invariant: memory is bounded. From GROUPS_MOST groups on, new ones are added to "other". There
 * are PAIRS_MOST pairs; a new one takes the place of the least that has not grown for a while,
 * whose time goes to "other", so the sum of all never falls.
 */
#ifndef CLEW_DAEMON_SUMS_H
#define CLEW_DAEMON_SUMS_H

#include <clew/tokens.h>

#include "base/map.h"

#define SUMS_GROUPS_MOST 500
#define SUMS_PAIRS_MOST	 50
#define SUMS_OTHER	 0u			     /* the group that has what found no room */
#define SUMS_DISK	 (CLEW_SEGMENT_RUNQUEUE + 1) /* of pairs: requests were ahead at a disk */

struct sums_group {
	char *name;  /* its path */
	uint64_t id; /* of the last cgroup that had that path; 0: "other" */
	uint64_t ns[CLEW_SEGMENT_RUNQUEUE + 1]; /* by kind: enum clew_wait_kind, and RUNQUEUE */
	uint64_t count[CLEW_SEGMENT_RUNQUEUE + 1];
	uint64_t quota_ns; /* the part of kind THROTTLE in which a CPU quota was used up */
};

struct sums_pair {
	uint32_t victim, antagonist; /* groups */
	unsigned kind;		     /* as in struct sums_group, or SUMS_DISK */
	uint64_t ns;
	uint64_t grown; /* ns: when it last did */
};

struct sums {
	struct map ids; /* id of a cgroup -> group */
	struct sums_group *groups;
	size_t group_count;
	/* Beyond PAIRS_MOST there is room for those of "other", one a kind. */
	struct sums_pair pairs[SUMS_PAIRS_MOST + SUMS_DISK + 1];
	size_t pair_count;
};

/* 0 or -ENOMEM; sums_done() may follow in any case. */
int sums_init(struct sums *sums);
void sums_done(struct sums *sums);

/* The group of a cgroup, by its id and path; NULL: unknown. SUMS_OTHER if there is no room. */
uint32_t sums_group_of(struct sums *sums, uint64_t id, const char *path);

void sums_add(struct sums *sums, uint32_t group, unsigned kind, uint64_t ns);
void sums_blame(struct sums *sums, const struct sums_pair *charge);

/* The word for a kind of pairs. */
static inline const char *sums_pair_kind_name(unsigned kind)
{
	return kind == SUMS_DISK ? "disk" : clew_wait_kind_name(kind);
}

#endif

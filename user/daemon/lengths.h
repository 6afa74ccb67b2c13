/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts how long waits of each kind were, and keeps for each length the incident that was made
 * last for such a wait.
 *
 * Invariant: memory is fixed. The lengths of a kind add up to what sums.h has of it in all groups.
 */
#ifndef CLEW_DAEMON_LENGTHS_H
#define CLEW_DAEMON_LENGTHS_H

#include <clew/tokens.h>

#include "daemon/buckets.h"
#include "live/trigger.h"

#define LENGTHS_KINDS	 (CLEW_SEGMENT_RUNQUEUE + 1) /* as in struct sums_group */
#define CLEW_INCIDENT_ID 80			     /* bytes: no incident's name is longer */

/* An incident that a wait led to. */
struct length_example {
	char incident[CLEW_INCIDENT_ID]; /* its id, "" none */
	uint64_t ns;			 /* how long the wait was */
	uint64_t wall;			 /* ns since 1970: when it ended */
};

struct lengths {
	struct buckets kinds[LENGTHS_KINDS];
	struct length_example examples[LENGTHS_KINDS][BUCKETS];
};

void lengths_add(struct lengths *lengths, unsigned kind, uint64_t ns);

/*
 * An incident was made for that wait, whose rule was met at `wall`, ns since 1970. It is left out
 * if it is about no single wait, or one that went on then: how long that is is not known.
 */
void lengths_explain(struct lengths *lengths, const struct clew_slow *slow, const char *incident,
		     uint64_t wall);

#endif

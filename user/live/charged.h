/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the tasks that a wait is charged to. A task that is only a candidate is never charged. */
#ifndef CLEW_LIVE_CHARGED_H
#define CLEW_LIVE_CHARGED_H

#include <clew/tokens.h>

#include "builder/findings.h"

/* True if the holder had the lock, as far as is known for certain. */
static inline bool charged_holder(const struct clew_holder *holder)
{
	return !holder->coming && holder->evidence != CLEW_EVIDENCE_CANDIDATE;
}

/* True if a control group's limit, of CPU time or memory, kept the task waiting: the object is the
 * group. */
static inline bool charged_limit(const struct clew_sleep *sleep)
{
	return sleep->object.kind == CLEW_OBJECT_CGROUP && !sleep->blind &&
	       (sleep->kind == CLEW_WAIT_THROTTLE || sleep->kind == CLEW_WAIT_MEMORY);
}

/* The request of a disk that ended a wait; NULL: something else did. */
static inline const struct clew_link *charged_request(const struct clew_sleep *sleep)
{
	const struct clew_link *last =
		sleep->link_count ? &sleep->links[sleep->link_count - 1] : NULL;

	return last && sleep->edge_type == CLEW_EDGE_REQUEST && last->kind == CLEW_LINK_REQUEST &&
			       last->at && !sleep->blind && !sleep->holder_count &&
			       sleep->edge_evidence != CLEW_EVIDENCE_CANDIDATE
		       ? last
		       : NULL;
}

/* Since when a request was in its disk's queue: a limit keeps it out of that until its release. */
static inline uint64_t charged_from(uint64_t queued, uint64_t released)
{
	return queued > released ? queued : released;
}

#endif

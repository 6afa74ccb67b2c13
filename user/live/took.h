/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds up the time of a recorded command and its children: sums that a live builder
 * keeps.
 *
 * A wait that a thread of the command ended, without having held a lock, is in no sum: what that
 * thread did meanwhile is. Nor is a wait that the recording does not see the end of.
 *
 * Invariant: memory is bounded by the command's threads, and by TOOK_MOST objects that they waited
 * for and threads that had CPUs meanwhile; what is beyond that is only in the sum of its kind.
 */
#ifndef CLEW_LIVE_TOOK_H
#define CLEW_LIVE_TOOK_H

#include <sys/types.h>

#include "base/map.h"
#include "base/vector.h"
#include "builder/findings.h"

#define TOOK_MOST 65536u

#define TOOK_WANTS                                                                                 \
	(CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY) | CLEW_FINDING_BIT(CLEW_FINDING_RUN) |            \
	 CLEW_FINDING_BIT(CLEW_FINDING_READY) | CLEW_FINDING_BIT(CLEW_FINDING_SLEEP))

/* All waits of one kind for one object. */
struct took_object {
	uint64_t ns;
	struct clew_sleep longest; /* without holders and links */
	uint32_t by;		   /* who held it then, or ended it; CLEW_NO_TASK unknown */
	bool held;		   /* by: who held it */
};

struct took {
	uint32_t pid, pid_namespace; /* of the command, as clew sees it */
	uint32_t root;		     /* its first thread; CLEW_NO_TASK: it was not seen yet */
	uint64_t from, to;	     /* ns; 0: it has not begun or ended */
	struct map threads;	     /* serial -> 1 */
	uint64_t running, ready;     /* ns; ready: without a CPU */
	uint64_t waited[CLEW_WAIT_KIND_COUNT]; /* ns */
	struct map index;		       /* a hash of kind and object -> index of objects */
	struct vector objects;		       /* struct took_object */
	struct map others;		       /* serial -> ns that it had a CPU */
};

/* `pid_namespace`: inode number of clew's own. */
void took_init(struct took *took, pid_t pid, uint32_t pid_namespace);
void took_done(struct took *took);
/* Takes a finding of TOOK_WANTS. 0 or -ENOMEM. */
int took_take(struct took *took, struct clew_finding finding);
size_t took_memory(const struct took *took);

/* The object that was waited for longest in waits of a kind; NULL: none is known. */
const struct took_object *took_most(const struct took *took, unsigned kind);

#endif

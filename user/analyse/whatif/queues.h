/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queues of a what-if run: for a lock, which one has at a time, and for a device's
 * slots. A section is from when somebody gets one until it is let go. Sections (locks, devices)
 * are found in the trace as recorded, so that queues served in order of arrival give the
 * recorded times again: whoever was
 * overtaken arrives as late as who overtook it, and what went on between the moment
 * that something was free and the recorded start is a delay behind that moment.
 */
#ifndef CLEW_ANALYSE_WHATIF_QUEUES_H
#define CLEW_ANALYSE_WHATIF_QUEUES_H

#include "analyse/whatif/internal.h"

struct section {
	uint32_t queue;
	uint32_t span;	  /* of `begin` */
	uint32_t begin;	  /* the ES that cannot start without; CLEW_NONE before the split: the one
			     from `begin_at` on */
	uint32_t release; /* the ES that ends with letting go; CLEW_NONE and not `holds`: none */
	clew_time begin_at, release_at;
	clew_time shift; /* it arrives so much later than its predecessor ends */
	clew_time delay; /* and starts so much later than it gets it */
	bool waits;	 /* a recorded gap before `begin` is the wait for it */
	bool wakes;	 /* the delay is there only if it has to wait */
	bool holds;	 /* else it lets go as it starts */

	/* The run. */
	bool entered, granted, over;
	clew_time entered_at, granted_at;
	uint32_t from;		 /* the section that let go for it, CLEW_NONE: it did not wait */
	uint32_t before, behind; /* in the queue */
	uint32_t next_begun;	 /* at the same ES */
	uint32_t next_released;	 /* with the end of the same ES */
};

struct queue {
	uint32_t capacity, in_use;
	uint32_t first, last;
	uint32_t let_go; /* the last section that did */
	clew_time let_go_at;
	bool lock;	       /* else a device */
	uint32_t kind, object; /* of waits; a string */
};

struct whatif_queues {
	struct section *sections; /* of a queue in recorded order of getting it */
	struct queue *queues;
	uint32_t section_count, section_capacity, queue_count;
	uint32_t *begin_of;   /* of each ES: number + 1 of its section */
	uint32_t *release_of; /* of each ES: number + 1 of the first one */
	uint32_t waiting;
};

/* Sections as the trace has them, one queue after the other; times and ESs are the trace's. */
int whatif_find_locks(struct whatif *w);
int whatif_find_devices(struct whatif *w);
int queues_add(struct whatif *w, const struct queue *queue);
int queues_add_section(struct whatif *w, const struct section *section);

/* When the trace has been divided. */
int queues_prepare(struct whatif *w);
void queues_done(struct whatif *w);
/* An ES could start but for a queue. 1: it may; 0: it waits; or an error. */
int queues_enter(struct whatif *w, uint32_t es, clew_time at);
/* The first in a queue gets the free place. */
int queues_grant(struct whatif *w, uint32_t queue, clew_time at);
/* An ES is over. */
int queues_release(struct whatif *w, uint32_t es, clew_time at);

/* The section that an ES waited for as it was recorded, NULL none. */
static inline const struct section *queues_wait(const struct whatif *w, uint32_t es)
{
	uint32_t number = w->queues ? w->queues->begin_of[es] : 0;

	return number && w->queues->sections[number - 1].waits ? &w->queues->sections[number - 1]
							       : NULL;
}

static inline bool queues_releases(const struct whatif *w, uint32_t es)
{
	return w->queues && w->queues->release_of[es];
}

#endif

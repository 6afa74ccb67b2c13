/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Triggers: rules that say which wait is too long, and how often one may fire. A wait counts when
 * it has ended: the same function judges findings of a live builder and of a capture.
 *
 *	wait KIND > DURATION	a wait of that kind (docs/answers.md has the kinds)
 *	lock wait > DURATION	a wait for a lock: of kind futex or lock
 *
 * Invariant: a trigger fires at most CLEW_TRIGGER_BURST times in CLEW_TRIGGER_SPAN, and
 * CLEW_TRIGGER_DAY times in 24 hours.
 */
#ifndef CLEW_LIVE_TRIGGER_H
#define CLEW_LIVE_TRIGGER_H

#include "base/message.h"
#include "builder/findings.h"

#define CLEW_TRIGGER_BURST 3
#define CLEW_TRIGGER_SPAN  180000000000ull /* ns */
#define CLEW_TRIGGER_DAY   24

struct clew_trigger {
	uint64_t kinds;			  /* a bit for each enum clew_wait_kind */
	uint64_t threshold;		  /* ns */
	uint64_t fired[CLEW_TRIGGER_DAY]; /* the last times, ns; a ring, 0 none */
	unsigned next;
};

/* -EINVAL with a message that names the rule. */
int clew_trigger_parse(const char *text, struct clew_trigger *ret_trigger,
		       struct clew_message *message);

/* True if the wait has ended and is too long. */
bool clew_trigger_matches(const struct clew_trigger *trigger, const struct clew_sleep *sleep);

/* A match at that time, which is not before the last one's: true if it fires, false if it is
 * suppressed because others fired before. */
bool clew_trigger_fire(struct clew_trigger *trigger, uint64_t time);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Triggers: rules that say which wait is too long, and how often one may fire. A wait counts when
 * it has ended: the same function judges findings of a live builder and of a capture.
 *
 *	wait KIND > DURATION	a wait of that kind (docs/answers.md)
 *	lock wait > DURATION	of kind lock, or futex or file with a known holder
 *	call NAME > DURATION	a wait in that system call
 *	runqueue > DURATION	a task was ready to run and had no CPU
 *
 * Each may go on with `where comm GLOB`, `where cgroup GLOB`, and `limit N`, times a day.
 *
 * Invariant: a trigger fires at most CLEW_TRIGGER_BURST times in CLEW_TRIGGER_SPAN, and as often as
 * its limit in 24 hours.
 */
#ifndef CLEW_LIVE_TRIGGER_H
#define CLEW_LIVE_TRIGGER_H

#include "base/message.h"
#include "builder/findings.h"

#define CLEW_TRIGGER_BURST    3
#define CLEW_TRIGGER_SPAN     180000000000ull /* ns */
#define CLEW_TRIGGER_DAY      24
#define CLEW_TRIGGER_DAY_MOST 240

enum clew_trigger_what {
	CLEW_TRIGGER_WAIT,
	CLEW_TRIGGER_LOCK,
	CLEW_TRIGGER_CALL,
	CLEW_TRIGGER_RUNQUEUE,
};

struct clew_trigger {
	enum clew_trigger_what what;
	uint64_t kinds;	    /* of WAIT and LOCK: a bit for each enum clew_wait_kind */
	unsigned call;	    /* of CALL */
	uint64_t threshold; /* ns */
	char comm[64];	    /* globs, "" all */
	char cgroup[128];
	unsigned limit;			       /* times a day */
	uint64_t fired[CLEW_TRIGGER_DAY_MOST]; /* the last times, ns; a ring, 0 none */
	unsigned next;
};

/* Time that a task lost. */
struct clew_slow {
	uint64_t start, end; /* ns */
	uint32_t task;
	unsigned kind; /* enum clew_wait_kind, or CLEW_SEGMENT_RUNQUEUE */
};

/* -EINVAL with a message, and *ret_at: the byte of the text that it is about. */
int clew_trigger_parse(const char *text, struct clew_trigger *ret_trigger, size_t *ret_at,
		       struct clew_message *message);

/* True if the wait has ended, or what followed it, and was too long. */
bool clew_trigger_matches(const struct clew_trigger *trigger, const struct clew_sleep *sleep,
			  struct clew_slow *ret_slow);
/* The same for time off the CPU that no wait precedes. */
bool clew_trigger_matches_ready(const struct clew_trigger *trigger, const struct clew_ready *ready,
				struct clew_slow *ret_slow);

/* True if a task of that name in that cgroup is meant. NULL: unknown, which is no name. */
bool clew_trigger_wants(const struct clew_trigger *trigger, const char *comm, const char *cgroup);

/* A match at that time, which is not before the last one's: true if it fires, false if it is
 * suppressed because others fired before. */
bool clew_trigger_fire(struct clew_trigger *trigger, uint64_t time);

#endif

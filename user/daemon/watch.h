/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles the findings of the daemon's live builder: sums of lost time, and firings of its
 * rules. The live thread adds, and another one reads.
 *
 * Invariant: memory is bounded by the number of tasks that live, which is bounded itself
 * (live/known.h).
 */
#ifndef CLEW_DAEMON_WATCH_H
#define CLEW_DAEMON_WATCH_H

#include "daemon/account.h"
#include "daemon/config.h"

struct clew_watch;

/* A rule has fired for what a task lost. */
struct clew_firing {
	char rule[CLEW_RULE_NAME];
	char text[CLEW_RULE_TEXT];
	char comm[CLEW_COMM_SIZE + 1]; /* "" unknown */
	char cgroup[256];
	char disk[64];	   /* of a request, "" unknown */
	uint32_t tid, pid; /* 0 unknown */
	struct clew_slow slow;
	uint64_t suppressed; /* matches of the rule since it last fired */
};

/* An incident that was asked for. */
struct clew_made {
	char rule[CLEW_RULE_NAME];
	char id[CLEW_INCIDENT_ID]; /* its directory's name */
	struct clew_slow slow;	   /* the firing's */
	uint64_t wall;		   /* ns since 1970: when the rule was met */
	bool made;		   /* false: it could not be made */
};

/* The outcome of a rule's matches. */
struct clew_rule_counts {
	uint64_t fired;	       /* incidents were asked for */
	uint64_t suppressed;   /* it had fired often enough, or too many incidents were under way */
	uint64_t made, failed; /* incidents */
};

/* 0 or -ENOMEM. */
int clew_watch_new(struct clew_watch **ret_watch);
void clew_watch_free(struct clew_watch *watch);

struct clew_finding_taker clew_watch_taker(struct clew_watch *watch);

/* Takes copies. A rule of the same name and text goes on with its counts. 0 or -ENOMEM. */
int clew_watch_set_rules(struct clew_watch *watch, const struct clew_rule *rules, size_t count);

/* Takes the oldest firing. False: there is none. */
bool clew_watch_next(struct clew_watch *watch, struct clew_firing *ret_firing);

/* Counts an incident that was made, or was not. A rule that is there no more is ignored. */
void clew_watch_count(struct clew_watch *watch, const struct clew_made *made);
/* Counts a firing as suppressed after all. */
void clew_watch_suppress(struct clew_watch *watch, const char *rule);

/*
 * Calls `read` while the live thread waits. `rules` and `counts` have `count` elements each.
 */
void clew_watch_read(struct clew_watch *watch,
		     void (*read)(void *context, const struct account *account,
				  const struct clew_rule *rules,
				  const struct clew_rule_counts *counts, size_t count),
		     void *context);

#endif

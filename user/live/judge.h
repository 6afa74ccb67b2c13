/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judges findings by rules, while they come. A recording and the capture that it writes have the
 * same findings in the same order, so that the same rules are met at the same times in both.
 *
 * A rule about single waits is met when one ends that was too long, or once CLEW_JUDGE_OPEN
 * after that length if it still goes on: what ends soon is explained better when its end is known.
 * A request ends twice if the disk's cache is flushed for it: a rule is met once.
 * A rule about the last seconds is met when its value rises above the threshold, which is looked at
 * once a second.
 *
 * Invariant: what is handed on is in order of `at`, unless a finding came later than
 * CLEW_JUDGE_HOLD. Used by one thread at a time.
 */
#ifndef CLEW_LIVE_JUDGE_H
#define CLEW_LIVE_JUDGE_H

#include "live/known.h"
#include "live/trigger.h"

#define CLEW_JUDGE_OPEN 2000000000ull /* ns */
#define CLEW_JUDGE_HOLD 200000000ull  /* ns: that late may findings come */

struct clew_judge;

struct clew_judge_options {
	size_t task_size; /* as for known_init() */
	/* A rule was met. `task`: NULL unknown. */
	void (*met)(void *context, size_t rule, const struct clew_slow *slow,
		    const struct known_task *task);
	void *context;
};

/* 0 or -ENOMEM. */
int clew_judge_new(const struct clew_judge_options *options, struct clew_judge **ret_judge);
void clew_judge_free(struct clew_judge *judge);

/*
 * Copies these rules in place of those before. before[i]: the number that rule i had, SIZE_MAX:
 * none; it goes on with what it knows. `before` NULL: all are new. 0 or -ENOMEM.
 */
int clew_judge_set(struct clew_judge *judge, const struct clew_trigger *const *triggers,
		   const size_t *before, size_t count);

#define CLEW_JUDGE_WANTS                                                                           \
	(CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY) | CLEW_FINDING_BIT(CLEW_FINDING_SLEEP) |          \
	 CLEW_FINDING_BIT(CLEW_FINDING_READY) | CLEW_FINDING_BIT(CLEW_FINDING_SERVED))
/* As `take` and `step` of a taker that wants CLEW_JUDGE_WANTS. Others are ignored. */
int clew_judge_take(struct clew_judge *judge, struct clew_finding finding);
int clew_judge_step(struct clew_judge *judge, const struct clew_builder *builder, uint64_t now);
/* Hands on what is left, once the findings have ended at `end`. 0 or -ENOMEM. */
int clew_judge_finish(struct clew_judge *judge, uint64_t end);

const struct known *clew_judge_known(const struct clew_judge *judge);

#endif

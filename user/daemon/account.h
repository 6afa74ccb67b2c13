/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's sums, and what each finding adds to them.
 *
 * Invariant: memory is bounded by what the headers of its parts say.
 */
#ifndef CLEW_DAEMON_ACCOUNT_H
#define CLEW_DAEMON_ACCOUNT_H

#include "builder/build.h"
#include "daemon/answers.h"
#include "daemon/lengths.h"
#include "daemon/ongoing.h"
#include "daemon/peers.h"
#include "daemon/served.h"
#include "daemon/sums.h"
#include "daemon/turns.h"
#include "live/known.h"

struct account_task {
	struct known_task known;
	uint32_t group;	      /* of the sums */
	uint64_t ready, runs; /* ns: it was ready from .. to; equal: that was charged */
	uint64_t ran;	      /* ns: when its last run began .. */
	unsigned cpu;	      /* .. and where */
};

struct account {
	const struct known *known; /* with a struct account_task each */
	struct sums sums;
	struct lengths lengths;
	struct ongoing ongoing;
	struct answers answers;
	struct peers peers;
	struct turns turns;
	struct served served;
};

/* `account` does not move. 0 or -ENOMEM; account_done() may follow in any case. */
int account_init(struct account *account, const struct known *known);
void account_done(struct account *account);

#define ACCOUNT_WANTS                                                                              \
	(CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY) | CLEW_FINDING_BIT(CLEW_FINDING_SLEEP) |          \
	 CLEW_FINDING_BIT(CLEW_FINDING_READY) | CLEW_FINDING_BIT(CLEW_FINDING_RUN) |               \
	 CLEW_FINDING_BIT(CLEW_FINDING_SERVED))
/* As `take` of a taker that wants ACCOUNT_WANTS, once `known` has the finding. */
int account_take(struct account *account, struct clew_finding finding);
/* As `step` of it. */
int account_step(struct account *account, const struct clew_builder *builder, uint64_t now);

#endif

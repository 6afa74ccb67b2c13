/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work until a limit has kept the task off the CPU now and then: for how long it
 * had one at least and at most.
 */
#ifndef WORKLOAD_SPEND_H
#define WORKLOAD_SPEND_H

#include "workload.h"

#include <sys/param.h>

#define OFF_LEAST                                                                                  \
	5000000 /* ns: the limit keeps it off for longer, and a look at the clock never takes so   \
		   long */

struct spent {
	uint64_t from, to;
	uint64_t worked;   /* by the thread's own clock */
	uint64_t ran_most; /* interrupts included */
	uint64_t stolen;   /* while it was at it, nobody had the CPUs for so long */
};

/*
 * Works by the thread's own clock, which leaves interrupts out, finer than /proc/stat counts them.
 * Time that passed between two looks at the clock was all its own, but for the gaps in which it was
 * kept off.
 */
WL_FINE struct spent wl_spend(uint64_t enough)
{
	struct spent spent = {.stolen = wl_nobodys_time(-1), .from = wl_now()};
	uint64_t start, at, ran = 0;

	start = wl_own_time();
	at = wl_now();
	do {
		uint64_t now = wl_now();

		ran += now - at < OFF_LEAST ? now - at : 0;
		at = now;
		spent.worked = wl_own_time() - start;
	} while (spent.worked < enough);
	spent.to = wl_now();
	spent.stolen = wl_nobodys_time(-1) - spent.stolen;
	spent.ran_most = MIN(MAX(ran, spent.worked * 11 / 10 + spent.stolen) + 1000000,
			     spent.to - spent.from);
	return spent;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs of a blame that several processes found, each in a causal trace of its own, added up.
 */
#ifndef CLEW_CLI_BLAME_BLAME_SUM_H
#define CLEW_CLI_BLAME_BLAME_SUM_H

#include <clew/blame.h>

#include "answers/path/pair_places.h"
#include "cli/windowed/parties.h"

struct blame_sum {
	struct arena arena;
	struct parties parties;
	struct map resources; /* (hash, kind) -> number */
	struct map index;     /* (victim and antagonist, resource and candidate) -> of pairs */
	struct vector pairs;  /* struct clew_blame_pair, whose spans are indexes of parties */
	struct clew_pair_places ran_in;
	clew_time unknown;
};

int blame_sum_init(struct blame_sum *sum); /* 0 or -ENOMEM; blame_sum_done() in either case */
void blame_sum_done(struct blame_sum *sum);

/*
 * Writes the pairs of one trace to shared memory, as its root. `unknown`: as in struct
 * clew_blame_options. 0 or -ENOMEM.
 */
int blame_sum_export(const struct clew_trace *trace, const struct clew_model *model,
		     const struct clew_blame_pair *pairs, size_t count,
		     struct clew_pair_places *ran_in, clew_time unknown, struct shared *out);
/* Adds them. 0 or -ENOMEM. */
int blame_sum_add(struct blame_sum *sum, const struct shared *found);

/*
 * Makes a causal trace that has all parties as spans, from the trace of all names. The pairs then
 * have its spans, are in order, and are the caller's to free. 0 or -errno.
 */
int blame_sum_finish(struct blame_sum *sum, const struct clew_trace *names,
		     struct clew_model **ret_model, struct clew_blame_pair **ret_pairs,
		     size_t *ret_count);

#endif

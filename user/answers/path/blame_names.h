/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs of a blame, grouped by the names of spans without the number at their
 * end: the threads of a program, the runs of an operation. Where the pairs are
 * many and short, the groups account for most of the time.
 */
#ifndef CLEW_ANSWERS_PATH_BLAME_NAMES_H
#define CLEW_ANSWERS_PATH_BLAME_NAMES_H

#include <clew/blame.h>

#include "words/es.h"

struct clew_blame_share {
	clew_time ns; /* the sum of its pairs */
	uint32_t kind;
	unsigned evidence; /* the weakest; what is no more than a candidate's is apart */
	/* a name, with * for its number where several spans have it, or N for that of threads of a
	   pool */
	char *victim;
	char *antagonist; /* likewise; NULL: a limit */
	size_t victims;	  /* how many spans */
	size_t antagonists;
	bool victim_pool; /* numbered threads of one process, several of them */
	bool antagonist_pool;
};

struct clew_blame_shares {
	struct clew_blame_share *shares; /* the largest first */
	size_t count;
};

/* 0 or -ENOMEM; clew_blame_shares_done() either way. */
int clew_blame_by_name(const struct clew_model *model, const struct clew_blame_pair *pairs,
		       size_t count, struct clew_blame_shares *ret_shares);
void clew_blame_shares_done(struct clew_blame_shares *shares);

#endif

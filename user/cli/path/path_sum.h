/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums of paths that several processes found, each in a causal trace of its own, added up.
 */
#ifndef CLEW_CLI_PATH_PATH_SUM_H
#define CLEW_CLI_PATH_PATH_SUM_H

#include "analyse/sum/parties.h"
#include "cli/path/path.h"

struct path_adding {
	struct arena arena;
	struct parties parties;
	struct map names;		 /* hash of a name -> the name */
	struct clew_path_totals *totals; /* spans are numbers of parties */
	struct clew_place_sums ran_in;
	struct clew_path_stacks stacks;
	struct path_sum sum;
	/* struct clew_operation: those that began before their window knows everything. They began
	 * with `from`, or earlier if that idle wait was in an exchange. */
	struct vector longs;
};

int path_adding_init(struct path_adding *adding); /* 0 or -ENOMEM; path_adding_done() in any case */
void path_adding_done(struct path_adding *adding);

/* Writes the sums of an answer to shared memory, as its root. 0 or -ENOMEM. */
int path_sum_export(struct path_answer *answer, const struct clew_trace *trace,
		    const struct vector *longs, struct shared *out);
/* Adds them. 0 or -ENOMEM. */
int path_sum_add(struct path_adding *adding, const struct shared *found);

/*
 * Makes a causal trace that has all spans, from the trace of all names, and an answer about it that
 * can be printed; it takes over what was added. 0 or -errno.
 */
int path_sum_finish(struct path_adding *adding, const struct clew_trace *names,
		    struct clew_model **ret_model, struct path_answer *answer);

#endif

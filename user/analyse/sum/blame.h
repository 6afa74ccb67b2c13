/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pairs of a blame over all of a trace.
 *
 * A sum is begun, has the pairs of a causal trace in one piece or of each window of a long capture
 * (trace/windows.h), each in a causal trace of its own, and is finished.
 */
#ifndef CLEW_ANALYSE_SUM_BLAME_H
#define CLEW_ANALYSE_SUM_BLAME_H

#include <clew/blame.h>

#include "analyse/sum/pair_places.h"
#include "analyse/sum/parties.h"
#include "trace/windows.h"

/* All spans, or those of `only`, but clew's own. The caller frees them; NULL: no memory. */
uint32_t *clew_blame_others(const struct clew_model *model, const bool *only, size_t *ret_count);

/* Spans of the causal trace; with windows, of one that was made of all names. */
struct clew_blame_asked {
	/* The spans that were kept; NULL: all but clew itself, which may be an antagonist. */
	const uint32_t *victims;
	size_t victim_count;
	bool calls; /* with windows, what the victims called is one, too */
	/* The spans that kept them; NULL: all. */
	const uint32_t *antagonists;
	size_t antagonist_count;
	bool all_running, innermost; /* as in struct clew_blame_options; not with windows */
	clew_time from, to;	     /* likewise */
};

struct clew_blame_sum {
	const struct clew_blame_asked *asked;
	struct map victims, antagonists; /* with windows: the threads' serials */
	struct arena arena;
	struct parties parties;
	struct map resources; /* (hash, kind) -> number */
	struct map index;    /* (victim and antagonist, resource and candidate) -> of added pairs */
	struct vector added; /* struct clew_blame_pair, whose spans are indexes of parties */
	/* The answer: */
	const struct clew_model *model;
	struct clew_model *made; /* by the windows, and `model` then */
	struct clew_blame_pair *pairs;
	size_t count;
	struct clew_pair_places ran_in;
	clew_time unknown; /* ns in run queues of which is not known what ran meanwhile */
};

/* `asked` stays the caller's. 0 or -ENOMEM; clew_blame_sum_done() in any case. */
int clew_blame_sum_begin(struct clew_blame_sum *sum, const struct clew_blame_asked *asked);
void clew_blame_sum_done(struct clew_blame_sum *sum);

/* The answer about a causal trace in one piece. `stacks`: the trace of the capture behind it if
 * that has stacks, NULL. Returns 0 or -ENOMEM. */
int clew_blame_sum_model(struct clew_blame_sum *sum, const struct clew_model *model,
			 const struct clew_trace *stacks);

/* For clew_windows_run(). `names` has all names of the capture, NULL if no spans are chosen. 0 or
 * -ENOMEM. */
int clew_blame_sum_taker(struct clew_blame_sum *sum, const struct clew_trace *names,
			 struct clew_windows_taker *ret_taker);
/* Once windows were looked at: the answer, about a causal trace that has all of its spans. 0 or
 * -errno. */
int clew_blame_sum_finish(struct clew_blame_sum *sum, const struct clew_trace *names);

#endif

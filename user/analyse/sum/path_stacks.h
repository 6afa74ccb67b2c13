/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks and samples of the segments of paths, of the capture behind the causal trace. */
#ifndef CLEW_ANALYSE_SUM_PATH_STACKS_H
#define CLEW_ANALYSE_SUM_PATH_STACKS_H

#include <clew/path.h>

#include "explain/samples.h"

/* All segments that were added. Zeroed at first, but for the trace. */
struct clew_path_stacks {
	const struct clew_trace *trace;	   /* of the capture; NULL: it has no stacks */
	struct clew_samples samples;	   /* of what ran */
	uint64_t ran, waited, waited_with; /* ns; the last one is what has stacks */
};

/* 0 or -ENOMEM. */
int clew_path_stacks_add(struct clew_path_stacks *stacks, const struct clew_model *model,
			 const struct clew_path_segment *segment);
void clew_path_stacks_done(struct clew_path_stacks *stacks);

/* The wait that a segment is a part of; NULL: it is none, or not a thread's. */
const struct clew_sleep *clew_path_stacks_sleep(const struct clew_path_stacks *stacks,
						const struct clew_model *model,
						const struct clew_path_segment *segment);
/* Adds the samples of a segment. 0 or -ENOMEM. */
int clew_path_stacks_samples(const struct clew_path_stacks *stacks, const struct clew_model *model,
			     const struct clew_path_segment *segment, struct clew_samples *samples);

#endif

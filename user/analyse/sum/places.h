/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The calls that threads of a causal trace ran in, for `path` and `blame`. The places are the stays
 * of clew_stays_of_model().
 */
#ifndef CLEW_ANALYSE_SUM_PLACES_H
#define CLEW_ANALYSE_SUM_PLACES_H

#include <clew/path.h>

#include "base/vector.h"
#include "explain/why.h"

/*
 * The running of a span's thread from `from` on, up to `to` or to where the thread enters or leaves
 * a call.
 */
struct clew_segment clew_place_at(const struct clew_trace *places, const struct clew_model *model,
				  uint32_t span, clew_time from, clew_time to);

/*
 * Cuts the running segments of a path where the thread enters or leaves a call. The array is
 * replaced by another one for free(3). 0 or -ENOMEM; then it is as it was.
 */
int clew_places_cut(const struct clew_trace *places, const struct clew_model *model,
		    struct clew_path_segment **segments, size_t *count);

/* Running in one call, or with `stay.call` CLEW_NO_CALL page faults outside of known ones. */
struct clew_place_sum {
	uint64_t ns;
	uint64_t faults;
	size_t segments;
	struct clew_stay stay; /* its call, reason and evidence */
};

/* By call, what was done there for memory, and evidence. Zeroed at first. */
struct clew_place_sums {
	struct vector sums; /* struct clew_place_sum */
};

/* Adds a running segment, `ns` of which ran. 0 or -ENOMEM. */
int clew_place_sums_add(struct clew_place_sums *sums, const struct clew_trace *places,
			const struct clew_segment *segment, uint64_t ns);
/* Adds a sum of another one. 0 or -ENOMEM. */
int clew_place_sums_merge(struct clew_place_sums *sums, const struct clew_place_sum *other);
/* All sums, the longest first; they belong to `sums`. */
const struct clew_place_sum *clew_place_sums_list(struct clew_place_sums *sums, size_t *ret_count);
void clew_place_sums_done(struct clew_place_sums *sums);

#endif

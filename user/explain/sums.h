/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Times of a list added up by a key: how many, how long in all, percentiles. Each group keeps
 * its longest item, from which its name is made.
 */
#ifndef CLEW_EXPLAIN_SUMS_H
#define CLEW_EXPLAIN_SUMS_H

#include "base/multiset.h"
#include "base/vector.h"

/* The keys of sums. */
enum clew_sum_by {
	CLEW_SUM_BY_NONE,
	CLEW_SUM_BY_OBJECT,
	CLEW_SUM_BY_KIND,
	CLEW_SUM_BY_TASK,
	CLEW_SUM_BY_CALL,
	CLEW_SUM_BY_HOLDER,
	CLEW_SUM_BY_COUNT,
};
/* The word for one; NULL for none. */
const char *clew_sum_by_name(enum clew_sum_by by);

/* Items are of one group if all parts of their keys are equal. */
struct clew_sum_key {
	uint64_t parts[4];
};

struct clew_sums {
	struct vector entries;
};

/* One group. Percentiles are of the item at or above that share of the group's, by length. */
struct clew_sum {
	uint64_t total; /* ns, as all below */
	uint64_t p50;
	uint64_t p99;
	uint64_t max;
	size_t count;
	size_t vain;	  /* of waits: that many ended for nothing */
	uint64_t vain_ns; /* from these wakes until the threads slept again */
	uint32_t longest; /* the item that takes `max` */
};

/* Adds an item, which has a number of the caller's. 0 or -ENOMEM. */
int clew_sums_add(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns, uint32_t item);
/* A wait that ended for nothing: `vain_ns` passed from the wake until it slept again. */
int clew_sums_add_vain(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns, uint32_t item,
		       uint64_t vain_ns);
/* The groups, longest in all first; free(3) them. No item can be added after it. 0 or -ENOMEM. */
int clew_sums_make(struct clew_sums *sums, struct clew_sum **ret_groups, size_t *ret_count);
/* Calls `take` for each group, with all its lengths, in order of key; then no item can be added. 0,
 * -ENOMEM, or what `take` returned that is not 0. */
int clew_sums_each(struct clew_sums *sums,
		   int (*take)(void *context, const struct clew_sum_key *key,
			       const struct clew_sum *sum, const struct multiset *lengths),
		   void *context);
void clew_sums_done(struct clew_sums *sums);

/* -1, 0 or 1: the order of keys. */
int clew_sum_keys_compare(const struct clew_sum_key *a, const struct clew_sum_key *b);
/* The length that a share of a group's items does not exceed. */
uint64_t clew_sum_percentile(const struct multiset *lengths, unsigned percent);
/* Puts groups in their order: longest in all first. */
void clew_sums_order(struct clew_sum *groups, size_t count);

#endif

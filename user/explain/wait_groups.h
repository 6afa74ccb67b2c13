/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits added up by object, kind, task, call or holder, a part of them at a time: that of all
 * parts together is as if they had been one.
 */
#ifndef CLEW_EXPLAIN_WAIT_GROUPS_H
#define CLEW_EXPLAIN_WAIT_GROUPS_H

#include "base/shared.h"
#include "explain/sums.h"
#include "trace/trace.h"

/* The holder of a wait's lock for most of its time; NULL: none is known. */
const struct clew_holder *clew_wait_main_holder(const struct clew_sleep *sleep);

/* Waits for one object have equal keys, whatever their calls; waits for none, by kind and call. */
struct clew_sum_key clew_wait_object_key(const struct clew_trace *trace,
					 const struct clew_sleep *sleep);

/* Adds `ns` of a wait; the item is its index among the trace's sleeps. 0 or -ENOMEM. */
int clew_sums_add_wait(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns,
		       const struct clew_trace *trace, const struct clew_sleep *sleep);
/* Adds the part of a wait that lies in from..to, ns. By holder, each of its holders has the time
 * for which it held. 0 or -ENOMEM. */
int clew_sums_add_wait_by(struct clew_sums *sums, enum clew_sum_by by, uint64_t from, uint64_t to,
			  const struct clew_trace *trace, const struct clew_sleep *sleep);

struct clew_wait_group;
struct clew_wait_groups {
	struct clew_wait_group *groups; /* in order of key, until they are finished */
	size_t count;
	size_t capacity;
};

/* Leaves the groups of one part: *ret_groups is in `out`. No wait can be added to `sums` after it.
 * 0 or -ENOMEM. */
int clew_wait_groups_leave(struct clew_sums *sums, enum clew_sum_by by,
			   const struct clew_trace *trace, struct shared *out,
			   struct clew_wait_groups *ret_groups);
/* Adds what was left of a part; parts come in order of time. 0 or -ENOMEM; then `groups` can only
 * be freed. */
int clew_wait_groups_add(struct clew_wait_groups *groups, const struct clew_wait_groups *left);
void clew_wait_groups_done(struct clew_wait_groups *groups);

/*
 * Copies the groups whose keys are wanted; by that, those for one object are one. `trace` has all
 * names. Nothing can be added to the result, which is to be freed with clew_wait_groups_done(),
 * also after an error. 0 or -ENOMEM.
 */
int clew_wait_groups_pick(const struct clew_wait_groups *groups, const struct clew_trace *trace,
			  bool (*wanted)(void *context, const struct clew_sum_key *key),
			  void *context, struct clew_wait_groups *ret_picked);
/* The sums of groups that were picked, longest in all first, for free(3): `longest` is the number
 * of a wait. NULL: no memory. */
struct clew_sum *clew_wait_groups_sums(struct clew_wait_groups *picked);
/* The longest wait of a group by its number, with its links and its main holder. */
const struct clew_sleep *clew_wait_groups_wait(const struct clew_wait_groups *groups,
					       uint32_t number);

/* The sums of all groups, longest in all first, for free(3): `longest` is the number of a wait or,
 * by holder, a task's serial. `trace` has all names. Nothing can be added after it. 0 or -ENOMEM.
 */
int clew_wait_groups_finish(struct clew_wait_groups *groups, enum clew_sum_by by,
			    const struct clew_trace *trace, struct clew_sum **ret_sums);

#endif

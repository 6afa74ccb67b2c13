/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits added up by object, kind, task, call or holder, a part of them at a time: that of all
 * parts together is as if they had been one.
 */
#ifndef CLEW_CLI_WINDOWED_WAIT_SUMS_H
#define CLEW_CLI_WINDOWED_WAIT_SUMS_H

#include "base/shared.h"
#include "cli/operand/view.h"
#include "trace/trace.h"

/*
 * Adds the part of a wait within the view's window to the sums. By holder, each of its holders has
 * the time for which it held. 0 or -ENOMEM.
 */
int clew_wait_sums_add(struct clew_sums *sums, const struct clew_view *view,
		       const struct clew_trace *trace, const struct clew_sleep *sleep);

struct clew_wait_group;
struct clew_wait_groups {
	struct clew_wait_group *groups; /* in order of key, until they are finished */
	size_t count;
	size_t capacity;
};

/* Leaves the groups of one part: *ret_groups is in `out`. No wait can be added to `sums` after it.
 * 0 or -ENOMEM. */
int clew_wait_groups_leave(struct clew_sums *sums, const struct clew_view *view,
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
const struct clew_sleep *clew_wait_groups_wait(const struct clew_wait_groups *picked,
					       uint32_t number);

/* Prints all groups, as text or into `json` if that is not NULL; nothing can be added after it.
 * `trace` has the names. Returns 0 or, after clew_fail(), an exit status. */
int clew_wait_groups_print(struct clew_wait_groups *groups, const struct clew_view *view,
			   const struct clew_trace *trace, struct clew_json *json);

#endif

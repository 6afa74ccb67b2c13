/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits added up.
 *
 * Each group keeps a copy of its longest wait, of equally long ones the earliest. Its name is made
 * from that at the end, when all names are known.
 */
#include "explain/wait_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "trace/wait_key.h"

struct clew_wait_group {
	struct clew_sum_key key;
	struct clew_sum sum;	/* without percentiles until it is finished */
	struct clew_sleep wait; /* the longest; by holder, none */
	struct multiset lengths;
};

const struct clew_holder *clew_wait_main_holder(const struct clew_sleep *sleep)
{
	const struct clew_holder *most = NULL;

	for (uint32_t i = 0; i < sleep->holder_count; i++)
		if (!sleep->holders[i].coming &&
		    (!most ||
		     sleep->holders[i].to - sleep->holders[i].from > most->to - most->from))
			most = &sleep->holders[i];
	return most;
}

struct clew_sum_key clew_wait_object_key(const struct clew_trace *trace,
					 const struct clew_sleep *sleep)
{
	struct clew_wait_key key = clew_wait_key(trace, sleep);

	return (struct clew_sum_key){{key.parts[0], key.parts[1], key.parts[2]}};
}

int clew_sums_add_wait(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns,
		       const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	size_t count;
	uint32_t item = (uint32_t)(sleep - clew_trace_sleeps(trace, &count));
	uint64_t vain;

	return clew_trace_vain(trace, sleep, &vain) ? clew_sums_add_vain(sums, key, ns, item, vain)
						    : clew_sums_add(sums, key, ns, item);
}

static int add_holders(struct clew_sums *sums, uint64_t from, uint64_t to,
		       const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	int r = 0;

	for (uint32_t i = 0; i < sleep->holder_count && r == 0; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t ns = interval_overlap(holder->from, clew_trace_until(trace, holder->to),
					       from, to);

		if (!holder->coming)
			r = clew_sums_add(sums, (struct clew_sum_key){{holder->task}}, ns,
					  holder->task);
	}
	return r;
}

int clew_sums_add_wait_by(struct clew_sums *sums, enum clew_sum_by by, uint64_t from, uint64_t to,
			  const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t end = clew_trace_until(trace, sleep->end);
	struct clew_sum_key key = {};

	switch (by) {
	case CLEW_SUM_BY_HOLDER:
		return add_holders(sums, from, to, trace, sleep);
	case CLEW_SUM_BY_OBJECT:
		key = clew_wait_object_key(trace, sleep);
		break;
	case CLEW_SUM_BY_KIND:
		key.parts[0] = sleep->kind;
		break;
	case CLEW_SUM_BY_TASK:
		key.parts[0] = sleep->task;
		break;
	case CLEW_SUM_BY_CALL:
		key.parts[0] = sleep->call;
		break;
	default:
		break;
	}
	return clew_sums_add_wait(sums, key, interval_overlap(sleep->start, end, from, to), trace,
				  sleep);
}

/* ---- leaving the groups of a part ---- */

struct leaving {
	bool waits; /* groups have their longest waits */
	const struct clew_trace *trace;
	struct shared *out;
	struct clew_wait_groups *groups;
};

static size_t link_bytes(const struct clew_sleep *wait)
{
	return ((size_t)wait->link_count + wait->and_count) * sizeof(*wait->links);
}

static int count_group(void *context, const struct clew_sum_key *key, const struct clew_sum *sum,
		       const struct multiset *lengths)
{
	(void)key;
	(void)sum;
	(void)lengths;
	++*(size_t *)context;
	return 0;
}

static int leave_group(void *context, const struct clew_sum_key *key, const struct clew_sum *sum,
		       const struct multiset *lengths)
{
	struct leaving *leaving = context;
	struct clew_wait_group *group = &leaving->groups->groups[leaving->groups->count++];
	const struct clew_holder *holder;
	size_t count;

	*group = (struct clew_wait_group){.key = *key, .sum = *sum, .lengths = *lengths};
	group->lengths.bytes = shared_copy(leaving->out, lengths->bytes, lengths->size);
	if (leaving->waits) {
		group->wait = clew_trace_sleeps(leaving->trace, &count)[sum->longest];
		holder = clew_wait_main_holder(&group->wait);
		group->wait.holder_count = holder != NULL;
		group->wait.holders = shared_copy(leaving->out, holder,
						  group->wait.holder_count * sizeof(*holder));
		group->wait.links =
			shared_copy(leaving->out, group->wait.links, link_bytes(&group->wait));
		if (!group->wait.links || !group->wait.holders)
			return -ENOMEM;
	}
	return group->lengths.bytes ? 0 : -ENOMEM;
}

int clew_wait_groups_leave(struct clew_sums *sums, enum clew_sum_by by,
			   const struct clew_trace *trace, struct shared *out,
			   struct clew_wait_groups *ret_groups)
{
	struct leaving leaving = {.waits = by != CLEW_SUM_BY_HOLDER,
				  .trace = trace,
				  .out = out,
				  .groups = ret_groups};
	size_t count = 0;
	int r = clew_sums_each(sums, count_group, &count);

	*ret_groups = (struct clew_wait_groups){
		.groups = shared_take(out, count * sizeof(struct clew_wait_group))};
	if (r == 0 && !ret_groups->groups)
		r = -ENOMEM;
	return r < 0 ? r : clew_sums_each(sums, leave_group, &leaving);
}

/* ---- adding them ---- */

static int compare_keys(const void *left, const void *right)
{
	const struct clew_wait_group *a = left, *b = right;

	return clew_sum_keys_compare(&a->key, &b->key);
}

/* In order of the longest wait's start, then task. */
static int compare_waits(const void *left, const void *right)
{
	const struct clew_sleep *a = &((const struct clew_wait_group *)left)->wait,
				*b = &((const struct clew_wait_group *)right)->wait;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

static void free_wait(struct clew_wait_group *group)
{
	free((void *)(uintptr_t)group->wait.links);
	free((void *)(uintptr_t)group->wait.holders);
}

/* Has a group own a copy of a wait. 0 or -ENOMEM. */
static int keep_wait(struct clew_wait_group *group, const struct clew_sleep *wait)
{
	size_t bytes = link_bytes(wait), holder_bytes = wait->holder_count * sizeof(*wait->holders);
	void *links = malloc(bytes + 1), *holders = malloc(holder_bytes + 1);

	if (!links || !holders) {
		free(links);
		free(holders);
		return -ENOMEM;
	}
	if (bytes)
		memcpy(links, wait->links, bytes);
	if (holder_bytes)
		memcpy(holders, wait->holders, holder_bytes);
	free_wait(group);
	group->wait = *wait;
	group->wait.links = links;
	group->wait.holders = holders;
	return 0;
}

static void group_done(struct clew_wait_group *group)
{
	free_wait(group);
	multiset_done(&group->lengths);
}

static int join(struct clew_wait_group *group, const struct clew_wait_group *other)
{
	bool longer = other->sum.max > group->sum.max ||
		      (other->sum.max == group->sum.max && compare_waits(other, group) < 0);
	int r = longer ? keep_wait(group, &other->wait) : 0;

	if (r == 0)
		r = multiset_join(&group->lengths, &other->lengths);
	group->sum.max = longer ? other->sum.max : group->sum.max;
	group->sum.total += other->sum.total;
	group->sum.count += other->sum.count;
	group->sum.vain += other->sum.vain;
	group->sum.vain_ns += other->sum.vain_ns;
	return r;
}

/* A copy in memory of its own. 0 or -ENOMEM. */
static int copy(struct clew_wait_group *group, const struct clew_wait_group *other)
{
	*group = (struct clew_wait_group){.key = other->key, .sum = other->sum};
	return multiset_join(&group->lengths, &other->lengths) < 0 ? -ENOMEM
								   : keep_wait(group, &other->wait);
}

static int reserve(struct clew_wait_groups *groups, size_t count)
{
	size_t capacity = 2 * count;
	struct clew_wait_group *more;

	if (count <= groups->capacity)
		return 0;
	more = realloc(groups->groups, capacity * sizeof(*more));
	if (!more)
		return -ENOMEM;
	groups->groups = more;
	groups->capacity = capacity;
	return 0;
}

int clew_wait_groups_add(struct clew_wait_groups *groups, const struct clew_wait_groups *left)
{
	size_t known = groups->count;
	int r = reserve(groups, known + left->count);

	for (size_t i = 0; i < left->count && r == 0; i++) {
		const struct clew_wait_group *group = &left->groups[i];
		struct clew_wait_group *found =
			known ? bsearch(group, groups->groups, known, sizeof(*group), compare_keys)
			      : NULL;

		r = found ? join(found, group) : copy(&groups->groups[groups->count++], group);
	}
	if (groups->count > known)
		qsort(groups->groups, groups->count, sizeof(*groups->groups), compare_keys);
	return r;
}

void clew_wait_groups_done(struct clew_wait_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		group_done(&groups->groups[i]);
	free(groups->groups);
	*groups = (struct clew_wait_groups){};
}

/* Joins groups of which only now is known that they are for one object. 0 or -ENOMEM. */
static int join_again(struct clew_wait_groups *groups, const struct clew_trace *trace)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < groups->count; i++)
		groups->groups[i].key = clew_wait_object_key(trace, &groups->groups[i].wait);
	if (groups->count)
		qsort(groups->groups, groups->count, sizeof(*groups->groups), compare_keys);
	for (size_t i = 0; i < groups->count; i++) {
		struct clew_wait_group *group = &groups->groups[i];

		if (count && !compare_keys(&groups->groups[count - 1], group)) {
			r = r < 0 ? r : join(&groups->groups[count - 1], group);
			group_done(group);
		} else {
			groups->groups[count++] = *group;
		}
	}
	groups->count = count;
	return r;
}

int clew_wait_groups_pick(const struct clew_wait_groups *groups, const struct clew_trace *trace,
			  bool (*wanted)(void *context, const struct clew_sum_key *key),
			  void *context, struct clew_wait_groups *ret_picked)
{
	int r = 0;

	*ret_picked = (struct clew_wait_groups){};
	for (size_t i = 0; i < groups->count && r == 0; i++) {
		const struct clew_wait_group *group = &groups->groups[i];

		if (!wanted(context, &group->key))
			continue;
		r = reserve(ret_picked, ret_picked->count + 1);
		if (r == 0)
			r = copy(&ret_picked->groups[ret_picked->count++], group);
	}
	return r < 0 ? r : join_again(ret_picked, trace);
}

/* The groups' sums in the order in which they are printed; free(3) them. NULL: no memory. */
static struct clew_sum *order(struct clew_wait_groups *groups, bool by_holder)
{
	struct clew_sum *sums = malloc((groups->count + 1) * sizeof(*sums));

	if (!sums)
		return NULL;
	if (!by_holder && groups->count)
		qsort(groups->groups, groups->count, sizeof(*groups->groups), compare_waits);
	for (size_t i = 0; i < groups->count; i++) {
		const struct clew_wait_group *group = &groups->groups[i];

		sums[i] = group->sum;
		sums[i].p50 = clew_sum_percentile(&group->lengths, 50);
		sums[i].p99 = clew_sum_percentile(&group->lengths, 99);
		sums[i].longest = by_holder ? (uint32_t)group->key.parts[0] : (uint32_t)i;
	}
	clew_sums_order(sums, groups->count);
	return sums;
}

struct clew_sum *clew_wait_groups_sums(struct clew_wait_groups *picked)
{
	return order(picked, false);
}

const struct clew_sleep *clew_wait_groups_wait(const struct clew_wait_groups *picked,
					       uint32_t number)
{
	return &picked->groups[number].wait;
}

int clew_wait_groups_finish(struct clew_wait_groups *groups, enum clew_sum_by by,
			    const struct clew_trace *trace, struct clew_sum **ret_sums)
{
	*ret_sums = NULL;
	if (by == CLEW_SUM_BY_OBJECT && join_again(groups, trace) < 0)
		return -ENOMEM;
	*ret_sums = order(groups, by == CLEW_SUM_BY_HOLDER);
	return *ret_sums ? 0 : -ENOMEM;
}

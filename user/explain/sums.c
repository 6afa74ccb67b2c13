/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times of a list added up by a key. */
#include "explain/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const by_names[CLEW_SUM_BY_COUNT] = {
	[CLEW_SUM_BY_OBJECT] = "object", [CLEW_SUM_BY_KIND] = "kind",
	[CLEW_SUM_BY_TASK] = "task",	 [CLEW_SUM_BY_CALL] = "call",
	[CLEW_SUM_BY_HOLDER] = "holder",
};

const char *clew_sum_by_name(enum clew_sum_by by)
{
	return by_names[by];
}

struct entry {
	struct clew_sum_key key;
	uint64_t ns;
	uint64_t vain_ns;
	uint32_t item;
	bool vain;
};

static int add(struct clew_sums *sums, const struct entry *entry)
{
	struct vector *entries = &sums->entries;

	entries->item = sizeof(struct entry);
	if (vector_reserve(entries, entries->count + 1) < 0)
		return -ENOMEM;
	((struct entry *)entries->data)[entries->count++] = *entry;
	return 0;
}

int clew_sums_add(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns, uint32_t item)
{
	return add(sums, &(struct entry){.key = key, .ns = ns, .item = item});
}

int clew_sums_add_vain(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns, uint32_t item,
		       uint64_t vain_ns)
{
	return add(sums,
		   &(struct entry){
			   .key = key, .ns = ns, .item = item, .vain = true, .vain_ns = vain_ns});
}

int clew_sum_keys_compare(const struct clew_sum_key *a, const struct clew_sum_key *b)
{
	for (int i = 0; i < 4; i++)
		if (a->parts[i] != b->parts[i])
			return a->parts[i] < b->parts[i] ? -1 : 1;
	return 0;
}

/* By key, then by length, so that a percentile of a group is the item at its index. */
static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = clew_sum_keys_compare(&a->key, &b->key);

	if (order)
		return order;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	/* The earliest of equally long items is the last one, which names the group. */
	return a->item > b->item ? -1 : a->item < b->item;
}

static int compare_sums(const void *left, const void *right)
{
	const struct clew_sum *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->longest < b->longest ? -1 : a->longest > b->longest;
}

/* The place, among so many items in order, of the one that a share of them does not exceed. */
static size_t rank_of(size_t count, unsigned percent)
{
	size_t rank = (count * percent + 99) / 100;

	return rank ? rank - 1 : 0;
}

uint64_t clew_sum_percentile(const struct multiset *lengths, unsigned percent)
{
	return multiset_at(lengths, rank_of(lengths->count, percent));
}

static struct clew_sum sum_of(const struct entry *entries, size_t count)
{
	struct clew_sum sum = {
		.p50 = entries[rank_of(count, 50)].ns,
		.p99 = entries[rank_of(count, 99)].ns,
		.max = entries[count - 1].ns,
		.count = count,
		.longest = entries[count - 1].item,
	};

	for (size_t i = 0; i < count; i++) {
		sum.total += entries[i].ns;
		sum.vain += entries[i].vain;
		sum.vain_ns += entries[i].vain_ns;
	}
	return sum;
}

static void sort_entries(struct clew_sums *sums)
{
	if (sums->entries.count)
		qsort(sums->entries.data, sums->entries.count, sizeof(struct entry),
		      compare_entries);
}

/* The number of sorted entries from `from` on that are of one group. */
static size_t group_size(const struct clew_sums *sums, size_t from)
{
	const struct entry *entries = sums->entries.data;
	size_t to = from + 1;

	while (to < sums->entries.count &&
	       !clew_sum_keys_compare(&entries[to].key, &entries[from].key))
		to++;
	return to - from;
}

int clew_sums_make(struct clew_sums *sums, struct clew_sum **ret_groups, size_t *ret_count)
{
	const struct entry *entries = sums->entries.data;
	size_t count = 0;
	struct clew_sum *groups;

	sort_entries(sums);
	for (size_t from = 0; from < sums->entries.count; from += group_size(sums, from))
		count++;
	groups = calloc(count + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	*ret_count = count;
	count = 0;
	for (size_t from = 0, size; from < sums->entries.count; from += size) {
		size = group_size(sums, from);
		groups[count++] = sum_of(entries + from, size);
	}
	clew_sums_order(groups, count);
	*ret_groups = groups;
	return 0;
}

void clew_sums_order(struct clew_sum *groups, size_t count)
{
	if (count)
		qsort(groups, count, sizeof(*groups), compare_sums);
}

/* Each length as often as it occurs. 0 or -ENOMEM. */
static int pack_lengths(const struct entry *entries, size_t count, struct multiset *lengths)
{
	int r = 0;

	for (size_t from = 0, to; from < count && r == 0; from = to) {
		for (to = from + 1; to < count && entries[to].ns == entries[from].ns;)
			to++;
		r = multiset_add(lengths, entries[from].ns, to - from);
	}
	return r;
}

int clew_sums_each(struct clew_sums *sums,
		   int (*take)(void *context, const struct clew_sum_key *key,
			       const struct clew_sum *sum, const struct multiset *lengths),
		   void *context)
{
	const struct entry *entries = sums->entries.data;
	int r = 0;

	sort_entries(sums);
	for (size_t from = 0, size; from < sums->entries.count && r == 0; from += size) {
		struct multiset lengths = {};
		struct clew_sum sum;

		size = group_size(sums, from);
		sum = sum_of(entries + from, size);
		r = pack_lengths(entries + from, size, &lengths);
		if (r == 0)
			r = take(context, &entries[from].key, &sum, &lengths);
		multiset_done(&lengths);
	}
	return r;
}

void clew_sums_done(struct clew_sums *sums)
{
	vector_done(&sums->entries);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times of a list added up by a key. See sums.h. */
#include "words/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words/text.h"

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

/* By key, then by length, so that a percentile of a group is the item at its index. */
static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	for (int i = 0; i < 3; i++)
		if (a->key.parts[i] != b->key.parts[i])
			return a->key.parts[i] < b->key.parts[i] ? -1 : 1;
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

/* The length that a share of the items does not exceed. */
static uint64_t percentile(const struct entry *entries, size_t count, unsigned percent)
{
	size_t rank = (count * percent + 99) / 100;

	return entries[rank ? rank - 1 : 0].ns;
}

static struct clew_sum sum_of(const struct entry *entries, size_t count)
{
	struct clew_sum sum = {
		.p50 = percentile(entries, count, 50),
		.p99 = percentile(entries, count, 99),
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

int clew_sums_make(struct clew_sums *sums, struct clew_sum **ret_groups, size_t *ret_count)
{
	struct entry *entries = sums->entries.data;
	size_t count = sums->entries.count, group_count = 0;
	struct clew_sum *groups;

	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++)
		group_count +=
			!i || memcmp(&entries[i].key, &entries[i - 1].key, sizeof(entries[i].key));
	groups = calloc(group_count + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	*ret_count = group_count;
	group_count = 0;
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && !memcmp(&entries[to].key, &entries[from].key,
							  sizeof(entries[to].key));)
			to++;
		groups[group_count++] = sum_of(entries + from, to - from);
	}
	qsort(groups, group_count, sizeof(*groups), compare_sums);
	*ret_groups = groups;
	return 0;
}

void clew_sums_done(struct clew_sums *sums)
{
	vector_done(&sums->entries);
}

void clew_print_sums_heading(FILE *out, const char *name)
{
	fprintf(out, "%9s %8s %9s %9s %9s  %s\n", "in all", "count", "p50", "p99", "max", name);
}

void clew_print_sum(FILE *out, const struct clew_sum *sum)
{
	fprintf(out, "%9s %8zu %9s %9s %9s  ", CLEW_DURATION(sum->total), sum->count,
		CLEW_DURATION(sum->p50), CLEW_DURATION(sum->p99), CLEW_DURATION(sum->max));
}

void clew_print_sum_vain(FILE *out, const struct clew_sum *sum)
{
	if (sum->vain)
		fprintf(out, ", %zu of them for nothing (%s)", sum->vain,
			CLEW_DURATION(sum->vain_ns));
}

void clew_json_sum(struct clew_json *json, const struct clew_sum *sum)
{
	clew_json_unsigned(json, "count", sum->count);
	clew_json_unsigned(json, "total_ns", sum->total);
	clew_json_unsigned(json, "p50_ns", sum->p50);
	clew_json_unsigned(json, "p99_ns", sum->p99);
	clew_json_unsigned(json, "max_ns", sum->max);
	if (sum->vain) {
		clew_json_unsigned(json, "for_nothing", sum->vain);
		clew_json_unsigned(json, "for_nothing_ns", sum->vain_ns);
	}
}

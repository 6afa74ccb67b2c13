/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The short steps of an operation by their causes. */
#include "export/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "words/short_name.h"

static int compare_lengths(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a > *b ? -1 : *a < *b;
}

int export_least_length(const struct clew_why *why, size_t own, uint64_t *ret_least)
{
	uint64_t *lengths;

	*ret_least = 0;
	if (why->segment_count <= own)
		return 0;
	lengths = malloc(why->segment_count * sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < why->segment_count; i++)
		lengths[i] = clew_segment_length(&why->segments[i]);
	qsort(lengths, why->segment_count, sizeof(*lengths), compare_lengths);
	*ret_least = !own || lengths[own - 1] == lengths[own] ? lengths[own] + 1 : lengths[own - 1];
	free(lengths);
	return 0;
}

int export_causes_add(struct export_causes *causes, const struct clew_trace *trace,
		      const struct clew_segment *segment, size_t *ret_index)
{
	char what[CLEW_SHORT_NAME_SIZE];
	struct export_cause *cause;
	uint64_t key, *known;

	clew_segment_short_name(trace, segment, what);
	key = hash_text(HASH_SEED, what);
	known = map_get(&causes->known, key, segment->task);
	*ret_index = known ? (size_t)*known : causes->list.count;
	if (!known) {
		causes->list.item = sizeof(*cause);
		if (vector_reserve(&causes->list, causes->list.count + 1) < 0 ||
		    map_set(&causes->known, key, segment->task, *ret_index) < 0)
			return -ENOMEM;
		cause = (struct export_cause *)causes->list.data + causes->list.count++;
		*cause = (struct export_cause){
			.first = segment,
			.what = arena_copy(&causes->arena, what, strlen(what)),
		};
		if (!cause->what)
			return -ENOMEM;
	}
	cause = (struct export_cause *)causes->list.data + *ret_index;
	cause->ns += clew_segment_length(segment);
	cause->steps++;
	return 0;
}

static int largest_first(const void *left, const void *right)
{
	const struct export_cause *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

void export_causes_sort(struct export_causes *causes)
{
	if (causes->list.count)
		qsort(causes->list.data, causes->list.count, sizeof(struct export_cause),
		      largest_first);
}

void export_causes_done(struct export_causes *causes)
{
	vector_done(&causes->list);
	map_done(&causes->known);
	arena_done(&causes->arena);
}

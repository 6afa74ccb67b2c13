/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrows between announced calls of different threads. */
#include <errno.h>
#include <stdlib.h>

#include "export/slices.h"

static bool is_shown(const struct clew_export *export, const struct clew_activity *activity)
{
	return clew_export_wants(export, activity->task) &&
	       clew_export_has(export, activity->begin, activity->end);
}

static int add(struct vector *arrows, struct export_arrow arrow)
{
	if (vector_reserve(arrows, arrows->count + 1) < 0)
		return -ENOMEM;
	((struct export_arrow *)arrows->data)[arrows->count++] = arrow;
	return 0;
}

static int compare_arrows(const void *left, const void *right)
{
	const struct export_arrow *a = left, *b = right;

	if (a->activity != b->activity)
		return a->activity < b->activity ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

int export_arrows(const struct clew_export *export, struct vector *arrows)
{
	const struct clew_relation *relations;
	uint64_t number = 0;
	size_t count = 0;
	int r = 0;

	arrows->item = sizeof(struct export_arrow);
	if (!export->relations)
		return 0;
	relations = clew_relations_list(export->relations, &count);
	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct clew_activity *lower =
			clew_relations_lower(export->relations, &relations[i]);

		/* Nesting is seen without an arrow. */
		if (relations[i].nested || !is_shown(export, lower))
			continue;
		for (uint32_t k = 0; k < relations[i].upper_count && r >= 0; k++) {
			const struct clew_activity *upper =
				clew_relations_upper(export->relations, &relations[i], k);

			if (!is_shown(export, upper))
				continue;
			number++;
			r = add(arrows, (struct export_arrow){upper, number, false});
			if (r >= 0)
				r = add(arrows, (struct export_arrow){lower, number, true});
		}
	}
	if (arrows->count)
		qsort(arrows->data, arrows->count, sizeof(struct export_arrow), compare_arrows);
	return r;
}

const struct export_arrow *export_arrows_of(const struct vector *arrows,
					    const struct clew_activity *activity, size_t *ret_count)
{
	const struct export_arrow *all = arrows->data;
	size_t low = 0, high = arrows->count, end;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (all[middle].activity < activity)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < arrows->count && all[end].activity == activity; end++)
		;
	*ret_count = end - low;
	return all + low;
}

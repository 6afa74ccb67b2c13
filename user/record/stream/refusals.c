/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs that the kernel refused, and what is lost with them. */
#include "record/stream/refusals.h"

#include <stdio.h>
#include <string.h>

bool clew_refusals_add(struct clew_refusals *refusals, const struct clew_program_row *row,
		       const char *reason)
{
	struct clew_refusal *refusal = &refusals->of[refusals->count];

	for (size_t i = 0; i < refusals->count; i++)
		if (refusals->of[i].row == row)
			return false;
	if (refusals->count == CLEW_REFUSALS_MOST)
		return false;
	refusal->row = row;
	snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
	refusals->count++;
	return true;
}

const struct clew_refusal *clew_refusals_page_cache(const struct clew_refusals *refusals)
{
	for (size_t i = 0; i < refusals->count; i++)
		if (clew_program_feature(refusals->of[i].row)->flags & CLEW_PROGRAM_CACHE_CORE)
			return &refusals->of[i];
	return NULL;
}

const struct clew_refusal *clew_refusals_lost_feature(const struct clew_refusals *refusals,
						      const char *feature)
{
	const struct clew_refusal *refusal;

	for (size_t i = 0; i < refusals->count; i++)
		if (!strcmp(clew_program_feature(refusals->of[i].row)->feature, feature))
			return &refusals->of[i];
	for (size_t i = 0; i < clew_program_table_count; i++) {
		const struct clew_program_row *row = &clew_program_table[i];

		if (!row->feature || strcmp(row->feature, feature))
			continue;
		refusal = row->flags & CLEW_PROGRAM_PAGE_CACHE ? clew_refusals_page_cache(refusals)
							       : NULL;
		for (size_t n = 0; !refusal && n < CLEW_PROGRAM_NEEDS && row->needs[n]; n++)
			refusal = clew_refusals_lost_feature(refusals, row->needs[n]);
		if (refusal)
			return refusal;
	}
	return NULL;
}

const struct clew_refusal *clew_refusals_lost(const struct clew_refusals *refusals,
					      const struct clew_program_row *row)
{
	return refusals->count
		       ? clew_refusals_lost_feature(refusals, clew_program_feature(row)->feature)
		       : NULL;
}

/* True if an earlier row names the same feature, or belongs to the page cache that is lost as a
 * whole. */
static bool is_named(const struct clew_program_row *row, bool no_page_cache)
{
	for (const struct clew_program_row *before = clew_program_table; before < row; before++)
		if (before->feature &&
		    (!strcmp(before->feature, row->feature) ||
		     (no_page_cache && before->flags & row->flags & CLEW_PROGRAM_PAGE_CACHE)))
			return true;
	return false;
}

char *clew_refusals_text(const struct clew_refusals *refusals, const char *separator)
{
	bool no_page_cache = clew_refusals_page_cache(refusals), first = true;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < clew_program_table_count; i++) {
		const struct clew_program_row *row = &clew_program_table[i];
		const struct clew_refusal *refusal;
		const char *own;

		if (!row->feature || is_named(row, no_page_cache))
			continue;
		refusal = clew_refusals_lost(refusals, row);
		if (!refusal)
			continue;
		own = clew_program_feature(refusal->row)->feature;
		fputs(first ? "" : separator, out);
		first = false;
		if (no_page_cache && row->flags & CLEW_PROGRAM_PAGE_CACHE)
			fprintf(out, CLEW_PAGE_CACHE ": %s", refusal->reason);
		else if (!strcmp(own, row->feature))
			fprintf(out, "%s: %s", own, refusal->reason);
		else
			fprintf(out, "%s: not without %s", row->feature, own);
	}
	return fclose(out) ? NULL : text;
}

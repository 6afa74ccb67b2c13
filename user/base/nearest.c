/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The distance of two words. See nearest.h. */
#include "base/nearest.h"

#include <string.h>

unsigned word_distance(const char *a, const char *b)
{
	unsigned row[WORD_DISTANCE_MOST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > WORD_DISTANCE_MOST || b_length > WORD_DISTANCE_MOST)
		return WORD_DISTANCE_MOST;
	for (unsigned j = 0; j <= b_length; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a_length; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b_length; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_length];
}

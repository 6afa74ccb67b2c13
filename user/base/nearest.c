/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The distance of two words. */
#include "base/nearest.h"

#include <stdbool.h>
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

/* True if two neighbouring letters changed places. */
static bool is_swapped(const char *a, const char *b)
{
	size_t same = 0;

	while (a[same] && a[same] == b[same])
		same++;
	return a[same] && a[same + 1] && a[same] == b[same + 1] && a[same + 1] == b[same] &&
	       !strcmp(a + same + 2, b + same + 2);
}

void word_nearest_try(struct word_nearest *nearest, const char *known)
{
	size_t typed = strlen(nearest->typed);
	unsigned distance = word_distance(nearest->typed, known);

	if (is_swapped(nearest->typed, known))
		distance = 1;
	else if (typed > 1 && !strncmp(nearest->typed, known, typed))
		distance = 2;
	/* Half of a short word replaced is another word. */
	else if (distance > 2 || distance * 2 >= strlen(known))
		return;
	if (nearest->best && distance >= nearest->distance)
		return;
	nearest->best = known;
	nearest->distance = distance;
}

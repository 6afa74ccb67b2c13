/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides a capture into windows by what its index says of the chunks, as if the records of a
 * chunk were spread evenly over its time.
 */
#include "store/divide.h"

#include <errno.h>
#include <stdlib.h>

#define PIECES 16 /* of a window, at least: a chunk counts in pieces that are no larger */

struct piece {
	uint64_t end;
	uint64_t rows;
};

static int compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

static uint64_t pieces_of(const struct store_index_entry *entry, uint64_t rows)
{
	return 1 + entry->rows * PIECES / rows;
}

static size_t take_apart(const struct store_file *file, uint64_t rows, struct piece *ret_pieces)
{
	size_t count = 0;

	for (size_t i = file->records; i < file->count; i++) {
		const struct store_index_entry *entry = &file->entries[i];
		uint64_t pieces = pieces_of(entry, rows),
			 time = entry->last_time > entry->first_time
					? entry->last_time - entry->first_time
					: 0;

		for (uint64_t piece = 1; piece <= pieces; piece++)
			ret_pieces[count++] = (struct piece){
				.end = entry->last_time - time / pieces * (pieces - piece),
				.rows = entry->rows * piece / pieces -
					entry->rows * (piece - 1) / pieces};
	}
	qsort(ret_pieces, count, sizeof(*ret_pieces), compare);
	return count;
}

int store_divide(const struct store_file *file, uint64_t rows, uint64_t **ret_ends,
		 size_t *ret_count)
{
	size_t most = 1, count = 0, pieces;
	struct piece *sorted;
	uint64_t *ends, sum = 0;

	for (size_t i = file->records; i < file->count; i++)
		most += pieces_of(&file->entries[i], rows);
	sorted = malloc(most * sizeof(*sorted));
	ends = malloc(most * sizeof(*ends));
	if (!sorted || !ends) {
		free(sorted);
		free(ends);
		return -ENOMEM;
	}
	pieces = take_apart(file, rows, sorted);
	for (size_t i = 0; i < pieces; i++) {
		sum += sorted[i].rows;
		if (sum < rows || (count && ends[count - 1] == sorted[i].end))
			continue;
		ends[count++] = sorted[i].end;
		sum = 0;
	}
	/* A rest that is less than half a window is not worth one. */
	if (count && sum < rows / 2)
		count--;
	ends[count++] = UINT64_MAX;
	free(sorted);
	*ret_ends = ends;
	*ret_count = count;
	return 0;
}

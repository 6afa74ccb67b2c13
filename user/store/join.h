/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins segments of a recording (docs/file-format.md) to one capture, as if it had been recorded
 * in one file: what each further segment states again of waits is left out. Segments that are
 * missing are a gap on all CPUs, and the segment behind it is taken with all that it states.
 */
#ifndef CLEW_STORE_JOIN_H
#define CLEW_STORE_JOIN_H

#include "store/capture.h"

struct clew_join;

struct clew_join_segment {
	const struct clew_capture_info *info;
	const char *recording; /* NULL: it is no segment */
	uint64_t number;
};

/*
 * Opens a segment, which stays readable from then on whatever becomes of its name. In any order.
 * -EINVAL: it is no segment; -EXDEV: it is one of another recording than the first; or as
 * clew_reader_open().
 * The message has no name in it.
 */
int clew_join_new(struct clew_join **ret_join);
int clew_join_add(struct clew_join *join, const char *path, char *message, size_t message_size);

/* Sorts the segments. Returns how many there are. Segments that were added twice count once. */
size_t clew_join_sort(struct clew_join *join);
/* The segments in order, from 0. */
const struct clew_join_segment *clew_join_at(const struct clew_join *join, size_t number);

/* A value of the first one's description of itself, as clew_reader_meta(). */
const char *clew_join_meta(const struct clew_join *join, const char *key);

/*
 * Writes a capture of `count` segments from the number `first` on. *ret_missing: how many segments
 * are missing between them. 0 or -errno, with a message if it is a segment's.
 */
int clew_join_write(struct clew_join *join, size_t first, size_t count, const char *output,
		    uint64_t *ret_missing, char *message, size_t message_size);

/*
 * Calls `take` with each record of `count` segments from the number `first` on, as that capture has
 * them. 0, -errno, or what `take` returned if that is negative.
 */
int clew_join_each(struct clew_join *join, size_t first, size_t count,
		   int (*take)(void *context, const struct clew_header *record), void *context);
/* The reader of a segment, which stays the join's. */
const struct clew_reader *clew_join_reader(const struct clew_join *join, size_t number);

void clew_join_free(struct clew_join *join);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time that operations took and its causes, period by period, for a week: the sums of a few
 * classes and causes, whatever recordings they were made of.
 *
 * A directory has a file a day (UTC), of blocks, one a period. A block has a checksum, and its text
 * is compressed; one that is damaged is left out. Times are ns since 1970.
 */
#ifndef CLEW_COMPARE_HISTORY_H
#define CLEW_COMPARE_HISTORY_H

#include "compare/compare.h"

#define HISTORY_PERIOD	     120000000000ull /* ns */
#define HISTORY_HOUR	     3600000000000ull
#define HISTORY_DAYS	     7	/* that are kept beside the current one */
#define HISTORY_MOST_CLASSES 50 /* of a period; the others are the class "other" */
#define HISTORY_MOST_CAUSES  16 /* of a class; the others are the cause "other" */

/* A period on its way. */
struct history {
	struct compare compare; /* the names; its operations are only those of a capture */
	struct map places;	/* number of a class -> index of `classes` */
	struct vector classes;	/* struct history_class */
};

void history_begin(struct history *history);
/*
 * Adds the operations of the chosen tasks that end in a part of a capture, behind `from`, and the
 * load between these. The capture begins some time before, so that operations are whole.
 * *ret_cut: so many of them began before it nevertheless. With any of these nothing is added, and
 * more is to be read; `ret_cut` NULL: there is no more, and they are counted as cut. 0 or -ENOMEM.
 */
int history_take(struct history *history, const struct clew_trace *trace,
		 const struct clew_chosen *chosen, uint64_t from, uint64_t to, size_t *ret_cut);
/* Adds the losses and the cost of a segment. */
void history_count(struct history *history, const struct clew_capture_info *info);
/* Adds the operations that `history->compare` has of the side "before", which forgets them. 0 or
 * -ENOMEM. */
int history_add(struct history *history);
/*
 * Appends the period from .. to to its day's file in a directory that is there, and removes the
 * files of days that are too old. 0 or -errno.
 */
int history_write(const struct history *history, const char *directory, uint64_t from, uint64_t to);
void history_done(struct history *history);

struct history_found {
	size_t periods, damaged;
	uint64_t first, last; /* begin of the first period and end of the last one, 0 none */
};

/* Adds the periods that begin in from .. to, without `to`, to a side. 0 or -errno. */
int history_read(const char *directory, uint64_t from, uint64_t to, struct compare *compare,
		 enum compare_side_name side, struct history_found *ret_found);

#endif

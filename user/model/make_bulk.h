/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Making a whole trace at once: what its files share.
 *
 * Calls and returns come first: child k, counted over the spans with a parent,
 * has dependencies 2k (call) and 2k + 1 (return) and endpoints 4k .. 4k + 3:
 * origin and destination of the call, origin and destination of the return.
 */
#ifndef CLEW_MODEL_MAKE_BULK_H
#define CLEW_MODEL_MAKE_BULK_H

#include "model/make_internal.h"

/* Items of all spans: once they are distributed, span s has items ends[s - 1]
 * .. ends[s], the first span those from 0. */
struct lot {
	struct vector ends; /* size_t */
	struct vector items;
};

/* An endpoint of the current span. */
struct our_end {
	uint32_t endpoint, dependency;
};

struct bulk {
	struct clew_maker *maker;
	const struct clew_bulk *rows;
	uint32_t child_count;
	struct lot others;	/* sort_key: all events but the table's endpoints */
	struct lot ends;	/* uint32_t: rows of endpoints */
	struct vector events;	/* sort_key: of one span; endpoints are indexes of `ours` */
	struct vector ours;	/* our_end: of one span */
	struct vector suspends; /* make_suspend_row: children's, then the table's */
	struct vector labels;	/* uint32_t: strings of marks */
	struct vector es_of;	/* uint32_t: ES of each endpoint */
};

static inline uint32_t first_endpoint(const struct bulk *bulk)
{
	return 4 * bulk->child_count;
}

static inline uint32_t first_dependency(const struct bulk *bulk)
{
	return 2 * bulk->child_count;
}

static inline size_t lot_begin(const struct lot *lot, uint32_t span)
{
	return span ? ((const size_t *)lot->ends.data)[span - 1] : 0;
}

static inline size_t lot_end(const struct lot *lot, uint32_t span)
{
	return ((const size_t *)lot->ends.data)[span];
}

/* Says which row is wrong, and returns `r`. */
static inline int bulk_refuse(struct bulk *bulk, int r, const char *table, size_t row,
			      const char *what)
{
	return make_fail(bulk->maker, r, "row %zu of the %s: %s", row, table, what);
}

/* Distributes the rows to their spans, checks them, and counts the endpoints of
 * dependencies. */
int bulk_deal(struct bulk *bulk);
/* The number of events of a span. */
size_t bulk_event_count(const struct bulk *bulk, uint32_t span);
/* Collects the events of a span, in the order of a maker, in `events` and
 * `ours`, which have room. */
void bulk_gather(const struct bulk *bulk, uint32_t span);

#endif

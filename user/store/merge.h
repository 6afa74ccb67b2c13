/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The merge of streams of records by time. There are two parts.
 *
 * The order: a heap of the streams' heads, for whoever can ask a stream for its next
 * record, as the reader of a capture does. At equal times the stream of the lower order
 * comes first; within a stream the order of its records stays, whatever their times.
 *
 * The merge of streams that are fed, for records that arrive live. A stream without a
 * record holds up the others at its horizon, the time that no later record of it
 * precedes. Each stream has a queue of a fixed size.
 */
#ifndef CLEW_STORE_MERGE_H
#define CLEW_STORE_MERGE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>

/* ---- the order ---- */

struct store_head {
	uint64_t time;	/* of the stream's next record, or its horizon */
	uint32_t order; /* of streams at the same time */
	uint32_t input; /* which stream it is: the caller's number */
};

struct store_heads {
	struct store_head *heads; /* a heap, the earliest first */
	size_t count;
};

/* The user stream comes first, then the CPUs. */
uint32_t store_stream_order(unsigned stream);

static inline bool store_head_earlier(const struct store_head *a, const struct store_head *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

/* Restores the order below a head that has become later. */
static inline void store_heads_sink(struct store_heads *heap, size_t at)
{
	struct store_head *heads = heap->heads, head = heads[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count && store_head_earlier(&heads[child + 1], &heads[child]))
			child++;
		if (!store_head_earlier(&heads[child], &head))
			break;
		heads[at] = heads[child];
		at = child;
	}
	heads[at] = head;
}

/* Puts heads that are in any order in order. */
static inline void store_heads_order(struct store_heads *heap)
{
	for (size_t i = heap->count / 2; i-- > 0;)
		store_heads_sink(heap, i);
}

/* Removes the first head, whose stream has ended. */
static inline void store_heads_drop(struct store_heads *heap)
{
	heap->heads[0] = heap->heads[--heap->count];
	if (heap->count)
		store_heads_sink(heap, 0);
}

/* ---- streams that are fed ---- */

struct clew_merge;

/* For streams 0 .. cpus - 1 and CLEW_STREAM_USER, with a queue of at least `size` bytes each.
 * 0, -EINVAL or -ENOMEM. */
int clew_merge_new(unsigned cpus, size_t size, struct clew_merge **ret_merge);
void clew_merge_free(struct clew_merge *merge);

/*
 * Feeding. One thread at a time feeds a stream; streams may have different threads. None
 * of these functions waits, locks or asks for memory.
 */

/* Copies a record. -ENOBUFS: the stream's queue is full, -EINVAL: there is no such stream. */
int clew_merge_feed(struct clew_merge *merge, unsigned stream, const struct clew_header *record,
		    size_t size);

/* No record of the stream that is fed later is older than `horizon` (ns). A horizon never goes
 * back: the latest one holds. */
void clew_merge_advance(struct clew_merge *merge, unsigned stream, uint64_t horizon);

/* Nothing more comes, of any stream. */
void clew_merge_end(struct clew_merge *merge);

/*
 * Emits what is certain: in order of time, up to the first stream that has no record and
 * whose horizon is next. A record that is late, that is older than a horizon of its
 * stream that was used, is emitted at once, out of order, and counted. One thread at a
 * time runs the merge. The record lives during the call of `emit`, and a negative return
 * ends the run, which returns it; that record was emitted.
 */
int clew_merge_run(struct clew_merge *merge,
		   int (*emit)(void *context, const struct clew_header *record), void *context);

/*
 * Every record before this time has been emitted, late ones aside. For the
 * thread that runs the merge.
 */
uint64_t clew_merge_horizon(const struct clew_merge *merge);

/* Late records so far. For the thread that runs the merge. */
uint64_t clew_merge_late(const struct clew_merge *merge);

#endif

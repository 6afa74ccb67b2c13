/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What happens to pages, put in order of time: events come nearly in order and are
 * taken in order, some while after they happened.
 */
#ifndef CLEW_BUILDER_PAGE_QUEUE_H
#define CLEW_BUILDER_PAGE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ns, as a power of two, that a slot is long; all of them are 4 s. */
#define PAGE_SLOT_BITS 20
#define PAGE_SLOTS     4096u

struct clew_extent;
struct flight;

struct page_event {
	uint64_t at;
	struct clew_extent *extent; /* or */
	struct flight *flight;	    /* or, both NULL, everything is given up */
	uint32_t order;		    /* equal times: as they came */
	uint8_t stage;		    /* of the flight */
};

struct page_slot {
	struct page_event *events;
	uint32_t count, capacity;
};

struct page_queue {
	struct page_slot *slots;
	uint64_t first; /* number of the earliest slot that has not been taken from */
	size_t count;	/* in slots */
	uint32_t order;
	struct page_slot row; /* the slot that is being taken from, sorted */
	uint32_t row_at;
	size_t memory;
};

/* One from before what was taken already counts as happening next. 0 or -ENOMEM. */
int page_queue_put(struct page_queue *queue, struct page_event event);
/* The next one that happened at least a slot before `until`; false: there is none. */
bool page_queue_take(struct page_queue *queue, uint64_t until, struct page_event *ret_event);
/* What is taken after what was taken last, if both are at the same time; else NULL. */
static inline const struct page_event *page_queue_twin(const struct page_queue *queue)
{
	uint32_t at = queue->row_at;

	return at > 0 && at < queue->row.count &&
			       queue->row.events[at].at == queue->row.events[at - 1].at
		       ? &queue->row.events[at]
		       : NULL;
}
static inline bool page_queue_empty(const struct page_queue *queue)
{
	return queue->count == 0 && queue->row_at == queue->row.count;
}
void page_queue_done(struct page_queue *queue);

#endif

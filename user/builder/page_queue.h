/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue that puts events of pages in order of time. They are put nearly in order, and
 * taken in order, some time after they happened.
 */
#ifndef CLEW_BUILDER_PAGE_QUEUE_H
#define CLEW_BUILDER_PAGE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A slot covers 2^20 ns; all of them cover 4 s. */
#define PAGE_SLOT_BITS 20
#define PAGE_SLOTS     4096u

struct clew_extent;
struct flight;

struct page_event {
	uint64_t at;
	struct clew_extent *extent; /* or */
	struct flight *flight;	    /* or, both NULL, records were lost */
	uint32_t order;		    /* of equal times: as they were put */
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
	struct page_slot current; /* the slot that events are taken from, sorted */
	uint32_t current_at;
	size_t memory;
};

/* An event from before those already taken is taken next. 0 or -ENOMEM. */
int page_queue_put(struct page_queue *queue, struct page_event event);
/* The next event that happened at least a slot before `until`; false: there is none. */
bool page_queue_take(struct page_queue *queue, uint64_t until, struct page_event *ret_event);
/* The event after the one taken last, if both have the same time; else NULL. */
static inline const struct page_event *page_queue_twin(const struct page_queue *queue)
{
	uint32_t at = queue->current_at;

	return at > 0 && at < queue->current.count &&
			       queue->current.events[at].at == queue->current.events[at - 1].at
		       ? &queue->current.events[at]
		       : NULL;
}
static inline bool page_queue_empty(const struct page_queue *queue)
{
	return queue->count == 0 && queue->current_at == queue->current.count;
}
void page_queue_done(struct page_queue *queue);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of slots by time. A slot is sorted when events are first taken from it.
 */
#include "builder/page_queue.h"
#include <errno.h>
#include <stdlib.h>

/* Slots kept before the first event, for events that happened earlier. */
#define SLOTS_BEFORE 1024u

static struct page_slot *slot_at(const struct page_queue *queue, uint64_t number)
{
	return &queue->slots[number % PAGE_SLOTS];
}

int page_queue_put(struct page_queue *queue, struct page_event event)
{
	uint64_t number = event.at >> PAGE_SLOT_BITS;
	struct page_slot *slot;

	if (!queue->slots) {
		queue->slots = calloc(PAGE_SLOTS, sizeof(*queue->slots));
		if (!queue->slots)
			return -ENOMEM;
		queue->memory += PAGE_SLOTS * sizeof(*queue->slots);
	}
	if (page_queue_empty(queue) && number > queue->first + SLOTS_BEFORE)
		queue->first = number - SLOTS_BEFORE;
	if (number < queue->first)
		number = queue->first;
	if (number >= queue->first + PAGE_SLOTS)
		number = queue->first + PAGE_SLOTS - 1;
	slot = slot_at(queue, number);
	if (slot->count == slot->capacity) {
		uint32_t capacity = slot->capacity ? slot->capacity * 2 : 16;
		struct page_event *events = realloc(slot->events, capacity * sizeof(*events));

		if (!events)
			return -ENOMEM;
		queue->memory += (capacity - slot->capacity) * sizeof(*events);
		slot->events = events;
		slot->capacity = capacity;
	}
	event.order = queue->order++;
	slot->events[slot->count++] = event;
	queue->count++;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct page_event *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (int32_t)(a->order - b->order);
}

/* An insertion sort, as nearly all events are in order; else qsort. */
static void sort(struct page_slot *slot)
{
	uint32_t moves = 0;

	for (uint32_t i = 1; i < slot->count; i++) {
		struct page_event event = slot->events[i];
		uint32_t at = i;

		for (; at > 0 && compare(&slot->events[at - 1], &event) > 0; at--)
			slot->events[at] = slot->events[at - 1];
		slot->events[at] = event;
		moves += i - at;
		if (moves > 8 * slot->count) {
			qsort(slot->events, slot->count, sizeof(*slot->events), compare);
			return;
		}
	}
}

bool page_queue_take(struct page_queue *queue, uint64_t until, struct page_event *ret_event)
{
	uint64_t end = until >> PAGE_SLOT_BITS;

	while (queue->current_at == queue->current.count) {
		struct page_slot *slot;

		if (queue->count == 0 || queue->first >= end)
			return false;
		slot = slot_at(queue, queue->first++);
		if (slot->count == 0)
			continue;
		queue->memory -= queue->current.capacity * sizeof(*queue->current.events);
		free(queue->current.events);
		queue->current = *slot;
		queue->current_at = 0;
		queue->count -= slot->count;
		*slot = (struct page_slot){0};
		sort(&queue->current);
	}
	*ret_event = queue->current.events[queue->current_at++];
	return true;
}

void page_queue_done(struct page_queue *queue)
{
	for (unsigned i = 0; queue->slots && i < PAGE_SLOTS; i++)
		free(queue->slots[i].events);
	free(queue->slots);
	free(queue->current.events);
	*queue = (struct page_queue){0};
}

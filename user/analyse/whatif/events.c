/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events of a run, in order of time. */
#include "analyse/whatif/events.h"

static inline bool before(const struct event *a, const struct event *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	return (((uint64_t)a->kind << 32) | a->es) < (((uint64_t)b->kind << 32) | b->es);
}

int events_push(struct whatif *w, struct event event)
{
	size_t at;

	if (w->heap_count == w->heap_capacity) {
		size_t capacity = w->heap_capacity ? 2 * w->heap_capacity : 256;
		struct event *grown = reallocarray(w->heap, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		w->heap = grown;
		w->heap_capacity = capacity;
	}
	for (at = w->heap_count++; w->ordered && at > 0 && before(&event, &w->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		w->heap[at] = w->heap[(at - 1) / 2];
	w->heap[at] = event;
	return 0;
}

/* Puts an event in the place of the first. */
static void replace(struct whatif *w, struct event event)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < w->heap_count) {
		if (child + 1 < w->heap_count && before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!before(&w->heap[child], &event))
			break;
		w->heap[at] = w->heap[child];
		at = child;
	}
	w->heap[at] = event;
}

bool events_next(struct whatif *w, struct event *ret_event)
{
	if (w->holds && (!w->ordered || w->heap_count == 0 || before(&w->held, &w->heap[0]))) {
		*ret_event = w->held;
	} else if (w->heap_count == 0) {
		return false;
	} else if (!w->ordered) {
		*ret_event = w->heap[--w->heap_count];
	} else {
		*ret_event = w->heap[0];
		if (w->holds)
			replace(w, w->held);
		else if (--w->heap_count)
			replace(w, w->heap[w->heap_count]);
	}
	w->holds = false;
	return true;
}

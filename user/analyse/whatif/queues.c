/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queues while a trace is run again: who is first in one gets what it is for as soon as
 * that is free. Threads that arrive at one moment keep their recorded order.
 */
#include "analyse/whatif/queues.h"

#include "analyse/whatif/events.h"

int queues_add(struct whatif *w, const struct queue *queue)
{
	struct whatif_queues *q = w->queues;

	if (!(q->queue_count & (q->queue_count - 1))) {
		struct queue *grown = reallocarray(
			q->queues, q->queue_count ? 2 * (size_t)q->queue_count : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		q->queues = grown;
	}
	q->queues[q->queue_count] = *queue;
	q->queues[q->queue_count].first = q->queues[q->queue_count].last =
		q->queues[q->queue_count].let_go = CLEW_NONE;
	q->queue_count++;
	return 0;
}

int queues_add_section(struct whatif *w, const struct section *section)
{
	struct whatif_queues *q = w->queues;

	if (q->section_count == q->section_capacity) {
		uint32_t capacity = q->section_capacity ? 2 * q->section_capacity : 64;
		struct section *grown;

		if (q->section_count >= CLEW_NONE / 2)
			return -E2BIG;
		grown = reallocarray(q->sections, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		q->sections = grown;
		q->section_capacity = capacity;
	}
	q->sections[q->section_count++] = *section;
	return 0;
}

/* The last part of an ES of the trace. */
static uint32_t last_part(const struct whatif *w, uint32_t es)
{
	return w->moved ? w->moved[es + 1] - 1 : es;
}

/* The ES that begins at a cut. */
static uint32_t begin_at_cut(const struct whatif *w, uint32_t span, clew_time at)
{
	uint32_t es = clew_model_es_at(&w->base, span, at);

	while (w->base.es[es].start < at)
		es++;
	return es;
}

int queues_prepare(struct whatif *w)
{
	struct whatif_queues *q = w->queues;

	q->begin_of = calloc((size_t)w->base.es_count + 1, sizeof(*q->begin_of));
	q->release_of = calloc((size_t)w->base.es_count + 1, sizeof(*q->release_of));
	if (!q->begin_of || !q->release_of)
		return -ENOMEM;
	for (uint32_t i = q->section_count; i-- > 0;) {
		struct section *section = &q->sections[i];

		if (section->begin == CLEW_NONE)
			section->begin = begin_at_cut(w, section->span, section->begin_at);
		else if (w->moved)
			section->begin = w->moved[section->begin];
		section->from = CLEW_NONE;
		if (q->begin_of[section->begin] && section->waits) {
			/* First what it waits for, then what it has at once. */
			section->next_begun = q->begin_of[section->begin];
			q->begin_of[section->begin] = i + 1;
		} else if (q->begin_of[section->begin]) {
			struct section *first = &q->sections[q->begin_of[section->begin] - 1];

			section->next_begun = first->next_begun;
			first->next_begun = i + 1;
		} else {
			q->begin_of[section->begin] = i + 1;
		}
		if (!section->holds)
			continue;
		if (section->release == CLEW_NONE)
			section->release =
				clew_model_es_at(&w->base, section->span, section->release_at);
		else
			section->release = last_part(w, section->release);
		section->next_released = q->release_of[section->release];
		q->release_of[section->release] = i + 1;
	}
	return 0;
}

void queues_done(struct whatif *w)
{
	if (!w->queues)
		return;
	free(w->queues->sections);
	free(w->queues->queues);
	free(w->queues->begin_of);
	free(w->queues->release_of);
	free(w->queues);
}

/* Behind all that arrived before, or are before it at this moment. */
static void queue_up(struct whatif_queues *q, uint32_t number)
{
	struct section *section = &q->sections[number];
	struct queue *queue = &q->queues[section->queue];
	uint32_t before = queue->last;

	while (before != CLEW_NONE && q->sections[before].entered_at == section->entered_at &&
	       before > number)
		before = q->sections[before].before;
	section->before = before;
	section->behind = before == CLEW_NONE ? queue->first : q->sections[before].behind;
	*(before == CLEW_NONE ? &queue->first : &q->sections[before].behind) = number;
	*(section->behind == CLEW_NONE ? &queue->last : &q->sections[section->behind].before) =
		number;
	q->waiting++;
}

static int let_go(struct whatif *w, uint32_t number, clew_time at)
{
	struct section *section = &w->queues->sections[number];
	struct queue *queue = &w->queues->queues[section->queue];

	/* A thread that never came to it has nothing to release. */
	if (section->over || !section->granted) {
		section->over = true;
		return 0;
	}
	section->over = true;
	queue->in_use--;
	queue->let_go = number;
	queue->let_go_at = at;
	return events_plan(w, at, section->queue, EVENT_GRANT);
}

/* First what it waits for, then all that it has at once: who comes at the same moment comes before
 * or behind all of it. */
int queues_enter(struct whatif *w, uint32_t es, clew_time at)
{
	struct whatif_queues *q = w->queues;
	bool waits = false;
	int r = 0;

	for (uint32_t number = q->begin_of[es]; number && r == 0;
	     number = q->sections[number - 1].next_begun) {
		struct section *section = &q->sections[number - 1];

		waits |= !section->granted;
		if (!section->entered) {
			section->entered = true;
			section->entered_at = at;
			queue_up(q, number - 1);
			r = events_plan(w, at, section->queue, EVENT_GRANT);
		}
		if (section->waits && !section->granted)
			break;
	}
	for (uint32_t number = q->begin_of[es]; number && r == 0;
	     number = q->sections[number - 1].next_begun)
		if (!q->sections[number - 1].holds && q->sections[number - 1].granted)
			r = let_go(w, number - 1, at);
	return r < 0 ? r : !waits;
}

static bool has_all(const struct whatif_queues *q, uint32_t es)
{
	for (uint32_t number = q->begin_of[es]; number; number = q->sections[number - 1].next_begun)
		if (!q->sections[number - 1].granted)
			return false;
	return true;
}

int queues_grant(struct whatif *w, uint32_t number, clew_time at)
{
	struct whatif_queues *q = w->queues;
	struct queue *queue = &q->queues[number];
	int r = 0;

	while (queue->first != CLEW_NONE && queue->in_use < queue->capacity && r == 0) {
		uint32_t first = queue->first;
		struct section *section = &q->sections[first];
		clew_time start;

		queue->first = section->behind;
		*(section->behind == CLEW_NONE ? &queue->last
					       : &q->sections[section->behind].before) = CLEW_NONE;
		q->waiting--;
		section->granted = true;
		section->granted_at = at;
		if (queue->let_go != CLEW_NONE && queue->let_go_at == at &&
		    (section->waits || section->entered_at < at))
			section->from = queue->let_go;
		queue->in_use += !section->over;
		if (__builtin_add_overflow(
			    at, section->wakes && section->from == CLEW_NONE ? 0 : section->delay,
			    &start))
			return -EOVERFLOW;
		if (section->waits || has_all(q, section->begin))
			r = events_plan(w, start, section->begin, EVENT_START);
	}
	return r;
}

int queues_release(struct whatif *w, uint32_t es, clew_time at)
{
	struct whatif_queues *q = w->queues;
	int r = 0;

	for (uint32_t number = q->release_of[es]; number && r == 0;
	     number = q->sections[number - 1].next_released)
		r = let_go(w, number - 1, at);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sections of a trace whose queues are to be served again: those of locks and of
 * devices, and the cuts that they need.
 */
#include "analyse/whatif/queues.h"

/* Sections that begin or end within an ES cut it. */
static int add_cuts(struct whatif *w)
{
	struct whatif_queues *q = w->queues;
	size_t capacity = (size_t)w->end_count + 2 * (size_t)q->section_count;
	struct added_end *ends;

	if (capacity >= CLEW_NONE)
		return -E2BIG;
	ends = reallocarray(w->ends, capacity + 1, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	w->ends = ends;
	for (uint32_t i = 0; i < q->section_count; i++) {
		const struct section *section = &q->sections[i];

		if (section->begin == CLEW_NONE)
			ends[w->end_count++] = (struct added_end){.span = section->span,
								  .dependency = CLEW_NONE,
								  .at = section->begin_at};
		if (section->holds && section->release == CLEW_NONE)
			ends[w->end_count++] = (struct added_end){.span = section->span,
								  .dependency = CLEW_NONE,
								  .at = section->release_at};
	}
	return 0;
}

int whatif_sections(struct whatif *w)
{
	uint32_t added = w->end_count;
	int r = 0;

	if (!(w->resources & (RESOURCE_LOCKS | RESOURCE_DEVICES)))
		return 0;
	w->queues = calloc(1, sizeof(*w->queues));
	if (!w->queues)
		return -ENOMEM;
	if (w->resources & RESOURCE_LOCKS)
		r = whatif_find_locks(w);
	if (r == 0 && w->resources & RESOURCE_DEVICES)
		r = whatif_find_devices(w);
	if (r == 0)
		r = add_cuts(w);
	w->cut_count = w->end_count - added;
	for (uint32_t i = 0; i < w->queues->section_count; i++) {
		const struct section *section = &w->queues->sections[i];
		bool lock = w->queues->queues[section->queue].lock;

		w->result.lock_waits += lock && section->waits;
		w->result.requests += !lock;
	}
	whatif_count(w, RESOURCE_LOCKS, w->result.lock_waits);
	whatif_count(w, RESOURCE_DEVICES, w->result.requests);
	return r;
}

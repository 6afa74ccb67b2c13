/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frees the sets of writers that nothing refers to any more. Sets are referred to by the
 * epochs of pages, by the parts of bios, by the blocks that a journal's transactions
 * touched, and by what loop devices carry. Runs between records, when no function holds
 * the number of a set.
 */
#include "builder/builder.h"
#include "builder/pages.h"
#include <errno.h>
#include <stdlib.h>

static void keep_touched(const struct epoch_table *epochs, uint64_t *keep,
			 const struct map *touched)
{
	for (size_t i = 0; i < touched->capacity; i++)
		if (touched->slots[i].used)
			epoch_sets_keep(epochs, keep, (uint32_t)touched->slots[i].value);
}

int build_sets_sweep(struct clew_builder *builder)
{
	struct epoch_table *epochs = &builder->pages.epochs;
	uint64_t *keep;
	int r;

	keep = calloc(epochs->set_count / 64 + 1, sizeof(*keep));
	if (!keep)
		return -ENOMEM;
	epoch_keep_sets(epochs, keep);
	keep_touched(epochs, keep, &builder->journals.touched);
	keep_touched(epochs, keep, &builder->journals.touched_before);
	for (const struct flight *flight = builder->pages.flights; flight;
	     flight = flight->list_next)
		for (uint32_t i = 0; i < flight->part_count; i++)
			epoch_sets_keep(epochs, keep, flight->parts[i].set);
	build_origins_keep(builder, keep);
	r = epoch_sets_sweep(epochs, keep);
	free(keep);
	return r;
}

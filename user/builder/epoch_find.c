/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Findings from epochs of pages: who wrote what a bio carries, which pages nobody used, and what
 * the table keeps.
 */
#include "builder/epoch_chunk.h"
#include <errno.h>
#include <stdlib.h>

static uint32_t writers_of(struct epoch_table *table, const struct epoch *epoch)
{
	return epoch->set || !epoch->opener ? epoch->set : epoch_set_with(table, 0, epoch->opener);
}

static struct epoch **carried_by(struct segment *segment, const struct flight *flight)
{
	struct epoch **place = &segment->epochs;

	while (*place && (*place)->flight != flight)
		place = &(*place)->next;
	return place;
}

/*
 * The tasks that had written to a page when its bio landed. An extent has one begin. For
 * its later pages it is only known that they were written before the extent was
 * emitted, which may be after the landing.
 */
static uint32_t written_by(struct epoch_table *table, const struct epoch *epoch,
			   const struct epoch_visit *visit, bool hooked)
{
	const bool written = epoch->writer != 0;
	const bool sure =
		epoch->began || (written ? epoch->write_until : epoch->until) <= visit->landed;

	if (epoch->doubtful && epoch->doubtful_until > visit->landed) {
		uint32_t set = epoch_set_without(table, epoch->set_before, epoch->doubtful);

		return sure && set != UINT32_MAX ? epoch_set_with(table, set, epoch->writer) : set;
	}
	if (written && !sure)
		return epoch->set_before;
	if (epoch->set || hooked)
		return epoch->set;
	/* The task that made the folio dirty need not have written to this page. */
	return sure ? writers_of(table, epoch) : 0;
}

/* Later epochs that are open may be in the bio too. Pages in flight are copies, or take off
 * later. */
static int land_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			struct epoch_visit *visit)
{
	struct epoch *epoch = *carried_by(segment, visit->flight);
	bool hooked = map_get(&table->hooked, visit->range->device, 0);

	(void)offset;
	if (epoch)
		epoch->landed = true;
	/* Writes to a page on its way to the journal are kept out of it. */
	for (const struct epoch *next = epoch && !epoch->copied ? epoch->next : NULL; next;
	     next = next->next) {
		uint32_t set = next->flight ? 0 : written_by(table, next, visit, hooked);

		epoch->later = set == UINT32_MAX ? set : epoch_set_union(table, epoch->later, set);
		if (epoch->later == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

int epoch_land(struct epoch_table *table, const struct file_range *range,
	       const struct flight *flight, uint64_t at)
{
	struct epoch_visit visit = {
		.range = range, .segment = land_segment, .flight = flight, .landed = at};

	return epoch_visit_range(table, &visit);
}

static int find_in_segment(struct epoch_table *table, struct segment *segment,
			   const struct flight *flight, bool over, struct epoch_finding *finding)
{
	struct epoch **place = carried_by(segment, flight);

	if (!*place)
		return 0;
	finding->known = (*place)->opened;
	finding->begin = (*place)->begin;
	finding->set = finding->known ? writers_of(table, *place) : 0;
	if (finding->set == UINT32_MAX)
		return -ENOMEM;
	finding->guessed = finding->set && !(*place)->set && (*place)->large;
	finding->later = finding->known ? (*place)->later : 0;
	if (over)
		epoch_remove(table, place);
	return 0;
}

/* Extends the finding before by the next one, or emits the one before. */
static int join(struct epoch_finding *whole, const struct epoch_finding *next, epoch_found found,
		void *context)
{
	int r = 0;

	if (whole->bytes && whole->offset + whole->bytes == next->offset &&
	    whole->set == next->set && whole->later == next->later && whole->known == next->known &&
	    whole->guessed == next->guessed) {
		whole->bytes += next->bytes;
		whole->begin = next->begin < whole->begin ? next->begin : whole->begin;
		return 0;
	}
	if (whole->bytes)
		r = found(context, whole);
	*whole = *next;
	return r;
}

int epoch_flight(struct epoch_table *table, const struct file_range *range,
		 const struct flight *flight, bool over, epoch_found found, void *context)
{
	uint64_t page = range->offset >> EPOCH_PAGE_BITS, end = epoch_page_end(range),
		 range_end = range->offset + range->bytes;
	struct epoch_finding whole = {0};
	int r = 0;

	while (page < end && r >= 0) {
		uint64_t index = page >> CHUNK_BITS, base = index << CHUNK_BITS,
			 to = base + CHUNK_PAGES;
		struct chunk *chunk = NULL;
		uint32_t file;

		r = epoch_file_number(table, range, false, &file);
		if (r >= 0 && file != UINT32_MAX)
			chunk = epoch_chunk_find(table, file, index);
		to = end < to ? end : to;
		if (chunk && over &&
		    (epoch_chunk_cut(table, chunk, page - base) < 0 ||
		     epoch_chunk_cut(table, chunk, to - base) < 0))
			return -ENOMEM;
		for (unsigned i = 0; page < to && r >= 0;) {
			struct segment *segment =
				chunk && i < chunk->count ? &chunk->segments[i] : NULL;
			struct epoch_finding next = {.offset = page << EPOCH_PAGE_BITS};
			uint64_t until = to;

			if (segment && base + segment->end <= page) {
				i++;
				continue;
			}
			if (segment && base + segment->first > page)
				until = base + segment->first < to ? base + segment->first : to;
			else if (segment) {
				until = base + segment->end < to ? base + segment->end : to;
				r = find_in_segment(table, segment, flight, over, &next);
			}
			next.bytes = (until - page) << EPOCH_PAGE_BITS;
			if (next.offset < range->offset) {
				next.bytes -= range->offset - next.offset;
				next.offset = range->offset;
			}
			if (next.offset + next.bytes > range_end)
				next.bytes = range_end - next.offset;
			if (r >= 0)
				r = join(&whole, &next, found, context);
			page = until;
		}
		if (chunk && over)
			epoch_chunk_drop_empty(table, range, chunk);
	}
	return r >= 0 && whole.bytes ? found(context, &whole) : r;
}

int epoch_each_unused(const struct epoch_table *table, epoch_asked asked, void *context)
{
	struct file_range *files = calloc((size_t)table->file_count + 1, sizeof(*files));
	int r = files ? 0 : -ENOMEM;

	for (size_t i = 0; files && i < table->files.capacity; i++) {
		const struct map_slot *slot = &table->files.slots[i];

		if (slot->used)
			files[slot->value] =
				(struct file_range){.inode = slot->key, .device = slot->part};
	}
	for (size_t i = 0; i < table->chunks.capacity && r >= 0; i++) {
		const struct chunk *chunk = (struct chunk *)(uintptr_t)table->chunks.slots[i].value;

		for (unsigned k = 0; table->chunks.slots[i].used && k < chunk->count && r >= 0;
		     k++) {
			const struct segment *segment = &chunk->segments[k];
			struct file_range *range = &files[chunk->file];

			if (!epoch_is_unused(table, segment, range->inode))
				continue;
			range->offset = ((chunk->index << CHUNK_BITS) + segment->first)
					<< EPOCH_PAGE_BITS;
			range->bytes = epoch_segment_bytes(segment);
			r = asked(context, range, segment->asker, segment->asked_at);
		}
	}
	free(files);
	return r;
}

void epoch_keep_sets(const struct epoch_table *table, uint64_t *keep)
{
	for (size_t i = 0; i < table->chunks.capacity; i++) {
		const struct chunk *chunk = (struct chunk *)(uintptr_t)table->chunks.slots[i].value;

		for (unsigned k = 0; table->chunks.slots[i].used && k < chunk->count; k++)
			for (const struct epoch *epoch = chunk->segments[k].epochs; epoch;
			     epoch = epoch->next) {
				epoch_sets_keep(table, keep, epoch->set);
				epoch_sets_keep(table, keep, epoch->set_before);
				epoch_sets_keep(table, keep, epoch->doubtful);
				epoch_sets_keep(table, keep, epoch->later);
			}
	}
}

void epoch_forget(struct epoch_table *table)
{
	epoch_chunks_forget(table);
}

void epoch_done(struct epoch_table *table)
{
	epoch_chunks_done(table);
	free(table->sets);
	free(table->uses_ended);
	map_done(&table->hooked);
	map_done(&table->written);
	map_done(&table->set_nodes);
	map_done(&table->set_sums);
	*table = (struct epoch_table){0};
}

size_t epoch_memory(const struct epoch_table *table)
{
	return table->memory + map_memory(&table->files) + map_memory(&table->chunks) +
	       map_memory(&table->written) + map_memory(&table->set_nodes) +
	       map_memory(&table->set_sums) + table->set_capacity * sizeof(*table->sets) +
	       table->file_capacity * (sizeof(*table->file_chunks) + sizeof(*table->file_taken) +
				       sizeof(*table->file_used));
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chunks, segments and epochs of pages. */
#include "builder/epoch_chunk.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES (1ull << EPOCH_PAGE_BITS)
/* The most bytes of one event: a larger range is damaged or invented. */
#define RANGE_MOST (1ull << 30)

#define BLOCK_EPOCHS 1000u
struct epoch_block {
	struct epoch_block *next;
	struct epoch epochs[BLOCK_EPOCHS];
};

/* ---- epochs ---- */

struct epoch *epoch_new(struct epoch_table *table)
{
	struct epoch *epoch = table->free_epochs;

	if (!epoch) {
		struct epoch_block *block = malloc(sizeof(*block));

		if (!block)
			return NULL;
		table->memory += sizeof(*block);
		table->epoch_blocks++;
		block->next = table->blocks;
		table->blocks = block;
		for (unsigned i = 0; i < BLOCK_EPOCHS; i++) {
			block->epochs[i].next = table->free_epochs;
			table->free_epochs = &block->epochs[i];
		}
		epoch = table->free_epochs;
	}
	table->free_epochs = epoch->next;
	table->epochs++;
	*epoch = (struct epoch){0};
	return epoch;
}

size_t epoch_free_bytes(const struct epoch_table *table)
{
	return (table->epoch_blocks * BLOCK_EPOCHS - table->epochs) * sizeof(struct epoch);
}

static void epoch_free(struct epoch_table *table, struct epoch *epoch)
{
	epoch->next = table->free_epochs;
	table->free_epochs = epoch;
	table->epochs--;
}

static int clone_epochs(struct epoch_table *table, const struct epoch *from,
			struct epoch **ret_epochs)
{
	struct epoch **place = ret_epochs;

	*place = NULL;
	for (; from; from = from->next) {
		struct epoch *copy = epoch_new(table);

		if (!copy)
			return -ENOMEM;
		*copy = *from;
		copy->next = NULL;
		*place = copy;
		place = &copy->next;
	}
	return 0;
}

void epoch_remove(struct epoch_table *table, struct epoch **place)
{
	struct epoch *epoch = *place;

	*place = epoch->next;
	epoch_free(table, epoch);
}

/* ---- chunks and segments ---- */

int epoch_file_number(struct epoch_table *table, const struct file_range *range, bool make,
		      uint32_t *ret_file)
{
	const uint64_t *known = map_get(&table->files, range->inode, range->device);
	uint32_t file;

	if (known || !make) {
		*ret_file = known ? (uint32_t)*known : UINT32_MAX;
		return 0;
	}
	file = table->free_file_count ? table->free_files[table->free_file_count - 1]
				      : table->file_count;
	if (file >= table->file_capacity) {
		size_t capacity = table->file_capacity ? table->file_capacity * 2 : 256;
		uint32_t *chunks = realloc(table->file_chunks, capacity * sizeof(*chunks));
		uint64_t *taken, *used;

		if (!chunks)
			return -ENOMEM;
		table->file_chunks = chunks;
		taken = realloc(table->file_taken, capacity * sizeof(*taken));
		if (!taken)
			return -ENOMEM;
		table->file_taken = taken;
		used = realloc(table->file_used, capacity * sizeof(*used));
		if (!used)
			return -ENOMEM;
		table->file_used = used;
		table->file_capacity = capacity;
	}
	if (map_set(&table->files, range->inode, range->device, file) < 0)
		return -ENOMEM;
	if (table->free_file_count)
		table->free_file_count--;
	else
		table->file_count++;
	table->file_chunks[file] = 0;
	table->file_taken[file] = 0;
	table->file_used[file] = 0;
	*ret_file = file;
	return 0;
}

void epoch_file_forget(struct epoch_table *table, const struct file_range *range, uint32_t file)
{
	if (table->free_file_count == table->free_file_capacity) {
		uint32_t capacity = table->free_file_capacity ? table->free_file_capacity * 2 : 64;
		uint32_t *files = realloc(table->free_files, capacity * sizeof(*files));

		if (!files)
			return; /* the file stays, without chunks */
		table->free_files = files;
		table->free_file_capacity = capacity;
	}
	map_remove(&table->files, range->inode, range->device);
	table->free_files[table->free_file_count++] = file;
}

struct chunk *epoch_chunk_find(const struct epoch_table *table, uint32_t file, uint64_t index)
{
	const uint64_t *found = map_get(&table->chunks, index, file);

	return found ? (struct chunk *)(uintptr_t)*found : NULL;
}

static struct chunk *chunk_get(struct epoch_table *table, uint32_t file, uint64_t index)
{
	struct chunk *chunk = epoch_chunk_find(table, file, index);

	if (chunk)
		return chunk;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->index = index;
	chunk->file = file;
	if (map_set(&table->chunks, index, file, (uintptr_t)chunk) < 0) {
		free(chunk);
		return NULL;
	}
	table->file_chunks[file]++;
	table->memory += sizeof(*chunk);
	return chunk;
}

void epoch_chunk_free(struct epoch_table *table, struct chunk *chunk)
{
	for (unsigned i = 0; i < chunk->count; i++)
		while (chunk->segments[i].epochs)
			epoch_remove(table, &chunk->segments[i].epochs);
	table->memory -= sizeof(*chunk) + chunk->capacity * sizeof(*chunk->segments);
	free(chunk->segments);
	free(chunk);
}

static struct segment *insert_segment(struct epoch_table *table, struct chunk *chunk, unsigned at)
{
	if (chunk->count == chunk->capacity) {
		uint16_t capacity = chunk->capacity ? chunk->capacity * 2 : 1;
		struct segment *segments = realloc(chunk->segments, capacity * sizeof(*segments));

		if (!segments)
			return NULL;
		table->memory += (capacity - chunk->capacity) * sizeof(*segments);
		chunk->segments = segments;
		chunk->capacity = capacity;
	}
	memmove(&chunk->segments[at + 1], &chunk->segments[at],
		(chunk->count - at) * sizeof(*chunk->segments));
	chunk->count++;
	chunk->segments[at] = (struct segment){0};
	return &chunk->segments[at];
}

int epoch_chunk_cut(struct epoch_table *table, struct chunk *chunk, unsigned page)
{
	for (unsigned i = 0; i < chunk->count; i++) {
		struct segment *part = &chunk->segments[i], *rest;

		if (part->end <= page)
			continue;
		if (part->first >= page)
			return 0;
		rest = insert_segment(table, chunk, i + 1);
		if (!rest)
			return -ENOMEM;
		part = &chunk->segments[i];
		*rest = *part;
		part->end = rest->first = (uint8_t)page;
		return clone_epochs(table, part->epochs, &rest->epochs);
	}
	return 0;
}

/* Makes segments so that every page from `first` up to `end` is in one. */
static int fill(struct epoch_table *table, struct chunk *chunk, unsigned first, unsigned end)
{
	for (unsigned i = 0; first < end; i++) {
		struct segment *next = i < chunk->count ? &chunk->segments[i] : NULL;

		if (next && next->end <= first)
			continue;
		if (!next || next->first > first) {
			unsigned to = next && next->first < end ? next->first : end;
			struct segment *segment = insert_segment(table, chunk, i);

			if (!segment)
				return -ENOMEM;
			segment->first = (uint8_t)first;
			segment->end = (uint8_t)to;
			first = to;
		} else {
			first = next->end;
		}
	}
	return 0;
}

void epoch_chunk_drop_empty(struct epoch_table *table, const struct file_range *range,
			    struct chunk *chunk)
{
	unsigned kept = 0;
	uint32_t file = chunk->file;

	for (unsigned i = 0; i < chunk->count; i++)
		if (chunk->segments[i].epochs ||
		    (chunk->segments[i].asker && !chunk->segments[i].used))
			chunk->segments[kept++] = chunk->segments[i];
	chunk->count = (uint16_t)kept;
	if (kept)
		return;
	map_remove(&table->chunks, chunk->index, file);
	epoch_chunk_free(table, chunk);
	if (--table->file_chunks[file] == 0)
		epoch_file_forget(table, range, file);
}

uint64_t epoch_page_end(const struct file_range *range)
{
	uint64_t bytes = range->bytes < RANGE_MOST ? range->bytes : RANGE_MOST;

	if (range->bytes == 0 || range->offset > UINT64_MAX - 2 * RANGE_MOST)
		return 0;
	return (range->offset + bytes + PAGE_BYTES - 1) >> EPOCH_PAGE_BITS;
}

/* True if an epoch of the segment is in flight. */
static bool is_flying(const struct segment *segment)
{
	for (const struct epoch *epoch = segment->epochs; epoch; epoch = epoch->next)
		if (epoch->flight && !epoch->landed)
			return true;
	return false;
}

static int part_first(struct epoch_table *table, struct chunk *chunk, unsigned first)
{
	for (unsigned i = 0; i < chunk->count; i++)
		if (chunk->segments[i].first == first)
			return is_flying(&chunk->segments[i])
				       ? epoch_chunk_cut(table, chunk, first + 1)
				       : 0;
	return 0;
}

int epoch_visit_range(struct epoch_table *table, struct epoch_visit *visit)
{
	uint64_t page = visit->range->offset >> EPOCH_PAGE_BITS;
	uint64_t end = epoch_page_end(visit->range);
	uint32_t file;
	int r;

	if (end <= page)
		return 0;
	r = epoch_file_number(table, visit->range, visit->make, &file);
	if (r >= 0 && visit->make)
		table->file_used[file] = visit->begin;
	while (r >= 0 && file != UINT32_MAX && page < end) {
		uint64_t index = page >> CHUNK_BITS, chunk_end = (index + 1) << CHUNK_BITS,
			 to = end < chunk_end ? end : chunk_end;
		unsigned first = page & (CHUNK_PAGES - 1),
			 last = (unsigned)(to - (index << CHUNK_BITS));
		struct chunk *chunk = visit->make ? chunk_get(table, file, index)
						  : epoch_chunk_find(table, file, index);

		page = to;
		if (!chunk) {
			if (visit->make)
				return -ENOMEM;
			continue;
		}
		r = epoch_chunk_cut(table, chunk, first);
		if (r >= 0)
			r = epoch_chunk_cut(table, chunk, last);
		if (r >= 0 && visit->make)
			r = fill(table, chunk, first, last);
		if (r >= 0 && visit->parts &&
		    first == (visit->range->offset >> EPOCH_PAGE_BITS) - (index << CHUNK_BITS))
			r = part_first(table, chunk, first);
		for (unsigned i = 0; i < chunk->count && r >= 0; i++)
			if (chunk->segments[i].first >= first && chunk->segments[i].end <= last)
				r = visit->segment(
					table, &chunk->segments[i],
					((index << CHUNK_BITS) + chunk->segments[i].first)
						<< EPOCH_PAGE_BITS,
					visit);
		epoch_chunk_drop_empty(table, visit->range, chunk);
		if (r >= 0 && page < end)
			r = epoch_file_number(table, visit->range, visit->make, &file);
	}
	return r;
}

void epoch_chunks_forget(struct epoch_table *table)
{
	for (size_t i = 0; i < table->chunks.capacity; i++)
		if (table->chunks.slots[i].used)
			epoch_chunk_free(table,
					 (struct chunk *)(uintptr_t)table->chunks.slots[i].value);
	map_done(&table->chunks);
	map_done(&table->files);
	table->file_count = table->free_file_count = 0;
}

void epoch_chunks_done(struct epoch_table *table)
{
	epoch_chunks_forget(table);
	while (table->blocks) {
		struct epoch_block *block = table->blocks;

		table->blocks = block->next;
		free(block);
	}
	free(table->free_files);
	free(table->file_chunks);
	free(table->file_taken);
	free(table->file_used);
}

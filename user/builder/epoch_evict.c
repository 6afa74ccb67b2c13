/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A limit of what is known of pages: when there is no more room, the files that were used
 * least recently are forgotten, and counted. Each time it is about half of all, so that the
 * search costs little for each event.
 */
#include "builder/epoch_chunk.h"

#include <stdlib.h>

#include "base/sort.h"

/* The files, by the moment of the last event of each. */
struct eviction {
	struct sort_key *keys, *spare;
	struct file_range *files; /* by number */
	bool *goes;		  /* by number */
};

static bool list_files(const struct epoch_table *table, struct eviction *eviction)
{
	size_t count = 0;

	eviction->keys = malloc((table->files.count + 1) * sizeof(*eviction->keys));
	eviction->spare = malloc((table->files.count + 1) * sizeof(*eviction->spare));
	eviction->files = calloc(table->file_count + 1u, sizeof(*eviction->files));
	eviction->goes = calloc(table->file_count + 1u, sizeof(*eviction->goes));
	if (!eviction->keys || !eviction->spare || !eviction->files || !eviction->goes)
		return false;
	for (size_t i = 0; i < table->files.capacity; i++) {
		const struct map_slot *slot = &table->files.slots[i];

		if (!slot->used)
			continue;
		eviction->files[slot->value] =
			(struct file_range){.inode = slot->key, .device = slot->part};
		eviction->keys[count++] = (struct sort_key){.key = table->file_used[slot->value],
							    .index = (uint32_t)slot->value};
	}
	sort_keys(eviction->keys, eviction->spare, count);
	return true;
}

/* The oldest files that have half of all chunks. */
static void choose(const struct epoch_table *table, struct eviction *eviction)
{
	size_t chunks = 0;

	for (size_t i = 0; i < table->files.count && 2 * chunks < table->chunks.count; i++) {
		uint32_t file = eviction->keys[i].index;

		chunks += table->file_chunks[file];
		eviction->goes[file] = true;
	}
}

/* Frees the chunks of the chosen files. False: no memory, and nothing is freed. */
static bool drop_chunks(struct epoch_table *table, const struct eviction *eviction)
{
	struct map kept = {0};

	for (size_t i = 0; i < table->chunks.capacity; i++) {
		const struct map_slot *slot = &table->chunks.slots[i];

		if (!slot->used || eviction->goes[slot->part])
			continue;
		if (map_set(&kept, slot->key, slot->part, slot->value) < 0) {
			map_done(&kept);
			return false;
		}
	}
	for (size_t i = 0; i < table->chunks.capacity; i++) {
		struct chunk *chunk = (struct chunk *)(uintptr_t)table->chunks.slots[i].value;

		if (!table->chunks.slots[i].used || !eviction->goes[chunk->file])
			continue;
		table->given_up += chunk->count;
		epoch_chunk_free(table, chunk);
	}
	map_done(&table->chunks);
	table->chunks = kept;
	return true;
}

static bool evict(struct epoch_table *table, struct eviction *eviction)
{
	if (!list_files(table, eviction))
		return false;
	choose(table, eviction);
	if (!drop_chunks(table, eviction))
		return false;
	for (uint32_t file = 0; file < table->file_count; file++) {
		if (!eviction->goes[file])
			continue;
		table->file_chunks[file] = 0;
		epoch_file_forget(table, &eviction->files[file], file);
	}
	return true;
}

/* Epochs that are free stay in memory, and are room for others. */
static size_t used(const struct epoch_table *table)
{
	return table->memory - epoch_free_bytes(table) + map_memory(&table->files) +
	       map_memory(&table->chunks);
}

void epoch_make_room(struct epoch_table *table)
{
	struct eviction eviction = {0};

	/* The rest is for sets of writers, and for what waits until all that came before is known.
	 */
	if (!table->most || used(table) < table->most * 3 / 8)
		return;
	if (!evict(table, &eviction)) {
		table->given_up += table->epochs;
		epoch_forget(table);
	}
	free(eviction.keys);
	free(eviction.spare);
	free(eviction.files);
	free(eviction.goes);
}

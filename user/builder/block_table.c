/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bios in flight, by address and by the sector at which they begin, and the disks.
 */
#include "builder/block.h"
#include "builder/builder.h"
#include <errno.h>
#include <stdlib.h>

/* With more slots than this the table is not searched for the bio that covers a sector: so many
 * bios at once are those whose end was lost. */
#define SLOTS_SEARCHED 32768u

struct bio *block_bio_find(const struct block_table *table, uint64_t address)
{
	const uint64_t *found = address ? map_get(&table->bios, address, 0) : NULL;

	return found ? (struct bio *)(uintptr_t)*found : NULL;
}

struct bio *block_bio_at(const struct block_table *table, uint32_t device, uint64_t sector,
			 bool covers)
{
	const uint64_t *found = map_get(&table->places, sector, device);

	if (found)
		return (struct bio *)(uintptr_t)*found;
	covers = covers && table->bios.capacity <= SLOTS_SEARCHED;
	for (size_t i = 0; covers && i < table->bios.capacity; i++) {
		struct bio *bio = (struct bio *)(uintptr_t)table->bios.slots[i].value;

		if (table->bios.slots[i].used && bio->device == device && bio->sector <= sector &&
		    sector - bio->sector < bio->bytes >> BLOCK_SECTOR_BITS)
			return bio;
	}
	return NULL;
}

int block_place_add(struct block_table *table, struct bio *bio)
{
	uint64_t *found = map_get(&table->places, bio->sector, bio->device);

	bio->next = found ? (struct bio *)(uintptr_t)*found : NULL;
	return map_set(&table->places, bio->sector, bio->device, (uintptr_t)bio);
}

void block_place_remove(struct block_table *table, struct bio *bio)
{
	uint64_t *found = map_get(&table->places, bio->sector, bio->device);
	struct bio *at = found ? (struct bio *)(uintptr_t)*found : NULL;

	if (at == bio) {
		if (bio->next)
			*found = (uintptr_t)bio->next;
		else
			map_remove(&table->places, bio->sector, bio->device);
	} else {
		while (at && at->next != bio)
			at = at->next;
		if (at)
			at->next = bio->next;
	}
	bio->next = NULL;
}

void block_bio_forget(struct block_table *table, struct bio *bio)
{
	block_place_remove(table, bio);
	map_remove(&table->bios, bio->address, 0);
	bio->next = table->free_bios;
	table->free_bios = bio;
}

struct disk *block_disk(struct block_table *table, uint32_t device)
{
	const uint64_t *place = map_get(&table->disk_places, device, 0);

	if (place)
		return &table->disks[*place];
	if (table->disk_count == table->disk_capacity) {
		size_t capacity = table->disk_capacity ? table->disk_capacity * 2 : 8;
		struct disk *disks = realloc(table->disks, capacity * sizeof(*disks));

		if (!disks)
			return NULL;
		table->memory += (capacity - table->disk_capacity) * sizeof(*disks);
		table->disks = disks;
		table->disk_capacity = capacity;
	}
	if (map_set(&table->disk_places, device, 0, table->disk_count) < 0)
		return NULL;
	table->disks[table->disk_count] = (struct disk){.device = device};
	return &table->disks[table->disk_count++];
}

static void free_requests(struct request *request)
{
	while (request) {
		struct request *older = request->older;

		free(request);
		request = older;
	}
}

void build_blocks_done(struct clew_builder *builder)
{
	struct block_table *table = &builder->blocks;

	for (size_t i = 0; i < table->bios.capacity; i++)
		if (table->bios.slots[i].used)
			free((struct bio *)(uintptr_t)table->bios.slots[i].value);
	while (table->free_bios) {
		struct bio *bio = table->free_bios;

		table->free_bios = bio->next;
		free(bio);
	}
	for (size_t i = 0; i < table->requests.capacity; i++)
		if (table->requests.slots[i].used)
			free_requests((struct request *)(uintptr_t)table->requests.slots[i].value);
	map_done(&table->bios);
	map_done(&table->places);
	map_done(&table->requests);
	map_done(&table->disk_places);
	free(table->disks);
	*table = (struct block_table){0};
}

size_t build_blocks_memory(const struct clew_builder *builder)
{
	const struct block_table *table = &builder->blocks;

	return table->memory + map_memory(&table->bios) + map_memory(&table->places) +
	       map_memory(&table->requests);
}

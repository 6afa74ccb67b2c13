/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Through a loop device: the writers of a page of the backing file are the writers of
 * what the device's request carried there, not the device's worker.
 *
 * Before a request of the device is issued, a record gives its position in the file,
 * which gives the position of every sector of the device. When the pages of an upper
 * request are settled, its writers are kept as origins of the sectors, until the lower
 * file's page is written to its disk. An origin that had landed when the lower bio was
 * queued is in no later bio.
 */
#include "builder/backing.h"
#include "builder/block.h"
#include "builder/builder.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_MAJOR   7u
#define SECTOR_BITS  9u
#define ORIGINS_MOST (1u << 20)
#define NO_ORIGIN    UINT32_MAX

struct backing {
	uint64_t inode;
	uint64_t begin; /* position of the device's first sector in the file */
	uint32_t device;
	uint32_t disk;
};

struct backing_origin {
	uint64_t queued;
	uint64_t landed;
	uint32_t set;
	uint32_t next; /* an earlier one of the same 4096 bytes, or a free one */
};

static const struct backing *backing_of_file(const struct backing_table *table, uint64_t inode,
					     uint32_t device)
{
	const uint64_t *found = table->files.count ? map_get(&table->files, inode, device) : NULL;

	return found ? &table->backings[*found] : NULL;
}

bool build_is_backing(const struct clew_builder *builder, uint64_t inode, uint32_t device)
{
	return backing_of_file(&builder->backings, inode, device) != NULL;
}

uint32_t build_disk_over(const struct clew_builder *builder, uint64_t inode, uint32_t device)
{
	const struct backing *backing = backing_of_file(&builder->backings, inode, device);

	return backing ? backing->disk : 0;
}

bool build_is_backed(uint32_t disk)
{
	return CLEW_DEVICE_MAJOR(disk) == LOOP_MAJOR;
}

void build_feed_backing(struct clew_builder *builder, const struct clew_pages *record)
{
	builder->backings.pending = *record;
}

int build_backing_issued(struct clew_builder *builder, const struct clew_request *record)
{
	struct backing_table *table = &builder->backings;
	const struct clew_pages *pending = &table->pending;
	uint64_t sectors = record->sector << SECTOR_BITS;
	const uint64_t *found;
	struct backing *backing;

	if (!pending->request || pending->request != record->request ||
	    !build_is_backed(record->device) || pending->offset < sectors)
		return 0;
	table->pending.request = 0;
	found = map_get(&table->disks, record->device, 0);
	if (!found) {
		if (table->count == table->capacity) {
			uint32_t capacity = table->capacity ? table->capacity * 2 : 4;

			backing = realloc(table->backings, capacity * sizeof(*backing));
			if (!backing)
				return -ENOMEM;
			table->backings = backing;
			table->capacity = capacity;
		}
		if (map_set(&table->disks, record->device, 0, table->count) < 0)
			return -ENOMEM;
		backing = &table->backings[table->count++];
	} else {
		backing = &table->backings[*found];
		if (backing->inode == pending->inode && backing->device == pending->device)
			return 0;
		map_remove(&table->files, backing->inode, backing->device);
	}
	*backing = (struct backing){.inode = pending->inode,
				    .begin = pending->offset - sectors,
				    .device = pending->device,
				    .disk = record->device};
	return map_set(&table->files, backing->inode, backing->device,
		       (uint64_t)(backing - table->backings));
}

/* ---- origins ---- */

static void forget_origins(struct backing_table *table)
{
	map_done(&table->places);
	table->origin_count = 0;
	table->free_origin = NO_ORIGIN;
}

static int new_origin(struct backing_table *table, uint32_t *ret_origin)
{
	if (table->origin_count && table->free_origin != NO_ORIGIN) {
		*ret_origin = table->free_origin;
		table->free_origin = table->origins[*ret_origin].next;
		return 0;
	}
	if (table->origin_count == ORIGINS_MOST)
		forget_origins(table);
	if (table->origin_count == table->origin_capacity) {
		uint32_t capacity = table->origin_capacity ? table->origin_capacity * 2 : 256;
		struct backing_origin *origins =
			realloc(table->origins, capacity * sizeof(*origins));

		if (!origins)
			return -ENOMEM;
		table->origins = origins;
		table->origin_capacity = capacity;
	}
	if (!table->origin_count)
		table->free_origin = NO_ORIGIN;
	*ret_origin = table->origin_count++;
	return 0;
}

int build_origin_add(struct clew_builder *builder, uint32_t disk, const struct build_origin *origin)
{
	struct backing_table *table = &builder->backings;
	uint64_t place = origin->sector >> (EPOCH_PAGE_BITS - SECTOR_BITS);
	uint64_t end = place + (origin->bytes >> EPOCH_PAGE_BITS);

	for (; place < end; place++) {
		const uint64_t *found = map_get(&table->places, place, disk);
		uint32_t next = found ? (uint32_t)*found : NO_ORIGIN, at;

		/* The same tasks rewrite it. */
		if (next != NO_ORIGIN && table->origins[next].set == origin->set) {
			table->origins[next].landed = origin->landed;
			continue;
		}
		if (new_origin(table, &at) < 0)
			return -ENOMEM;
		/* new_origin() may have dropped all origins. */
		if (!map_get(&table->places, place, disk))
			next = NO_ORIGIN;
		table->origins[at] = (struct backing_origin){.queued = origin->queued,
							     .landed = origin->landed,
							     .set = origin->set,
							     .next = next};
		if (map_set(&table->places, place, disk, at) < 0)
			return -ENOMEM;
	}
	return 0;
}

int build_origin_take(struct clew_builder *builder, const struct file_range *page, uint64_t at,
		      uint32_t *ret_set)
{
	struct backing_table *table = &builder->backings;
	const struct backing *backing = backing_of_file(table, page->inode, page->device);
	uint64_t place;
	uint64_t *found;
	uint32_t first, *link;

	*ret_set = 0;
	if (!backing || page->offset < backing->begin)
		return 0;
	place = (page->offset - backing->begin) >> EPOCH_PAGE_BITS;
	found = map_get(&table->places, place, backing->disk);
	if (!found)
		return 0;
	first = (uint32_t)*found;
	for (link = &first; *link != NO_ORIGIN;) {
		struct backing_origin *origin = &table->origins[*link];
		uint32_t freed = *link;

		if (origin->queued > at) {
			link = &origin->next;
			continue;
		}
		*ret_set = epoch_set_union(&builder->pages.epochs, *ret_set, origin->set);
		if (*ret_set == UINT32_MAX)
			return -ENOMEM;
		if (origin->landed > at) {
			link = &origin->next;
			continue;
		}
		*link = origin->next;
		origin->next = table->free_origin;
		table->free_origin = freed;
	}
	if (first == NO_ORIGIN)
		map_remove(&table->places, place, backing->disk);
	else
		*found = first;
	return 0;
}

void build_origins_keep(const struct clew_builder *builder, uint64_t *keep)
{
	const struct backing_table *table = &builder->backings;

	for (uint32_t i = 0; i < table->origin_count; i++)
		epoch_sets_keep(&builder->pages.epochs, keep, table->origins[i].set);
}

void build_backings_done(struct clew_builder *builder)
{
	struct backing_table *table = &builder->backings;

	free(table->backings);
	free(table->origins);
	map_done(&table->files);
	map_done(&table->disks);
	map_done(&table->places);
}

size_t build_backings_memory(const struct clew_builder *builder)
{
	const struct backing_table *table = &builder->backings;

	return table->capacity * sizeof(*table->backings) +
	       table->origin_capacity * sizeof(*table->origins) + map_memory(&table->files) +
	       map_memory(&table->disks) + map_memory(&table->places);
}

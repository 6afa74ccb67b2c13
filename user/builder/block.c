/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bios, until a request takes them over, or they end on a device that has no requests.
 * The bios of a request are found by the sectors at which they begin, whatever was
 * merged into it.
 */
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/pages.h"
#include "builder/task.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIOS_MOST 262144u

/* Gives up the pages of a bio, unless a request took them over. */
static int lose_flight(struct clew_builder *builder, struct bio *bio)
{
	struct flight *flight = bio->flight;

	bio->flight = NULL;
	return flight ? build_flight_land(builder, flight, CLEW_TIME_OPEN) : 0;
}

static int lose_bio(struct clew_builder *builder, struct bio *bio)
{
	int r = lose_flight(builder, bio);

	block_bio_forget(&builder->blocks, bio);
	return r;
}

/* Bios whose end was lost pile up: all are given up at once. */
static void forget_all(struct clew_builder *builder)
{
	struct block_table *table = &builder->blocks;

	for (size_t i = 0; i < table->bios.capacity; i++) {
		struct bio *bio = (struct bio *)(uintptr_t)table->bios.slots[i].value;

		if (!table->bios.slots[i].used)
			continue;
		lose_flight(builder, bio);
		bio->next = table->free_bios;
		table->free_bios = bio;
	}
	map_done(&table->bios);
	map_done(&table->places);
}

static struct bio *bio_new(struct clew_builder *builder, const struct clew_bio *record)
{
	struct block_table *table = &builder->blocks;
	struct bio *bio;

	if (table->bios.count >= BIOS_MOST)
		forget_all(builder);
	bio = table->free_bios;
	if (bio) {
		table->free_bios = bio->next;
	} else {
		bio = malloc(sizeof(*bio));
		if (!bio)
			return NULL;
		table->memory += sizeof(*bio);
	}
	*bio = (struct bio){
		.address = record->bio,
		.sector = record->sector,
		.queued = builder->now,
		.inode = record->inode,
		.index = record->index,
		.bytes = record->bytes,
		.device = record->device,
		.operation = record->operation,
		.file_device = record->file_device,
		.task = build_nobody(record->task) ? CLEW_NO_TASK : record->task,
		.upper = CLEW_NO_REQUEST,
		.number = CLEW_NO_REQUEST,
		.swap = record->header.flags & CLEW_BIO_SWAP,
	};
	if (map_set(&table->bios, bio->address, 0, (uintptr_t)bio) < 0 ||
	    block_place_add(table, bio) < 0) {
		map_remove(&table->bios, bio->address, 0);
		bio->next = table->free_bios;
		table->free_bios = bio;
		return NULL;
	}
	return bio;
}

/* Notes that a bio needs a flush of the device's cache. */
static int note_flush(struct clew_builder *builder, const struct bio *bio)
{
	struct disk *disk;

	if (!(bio->operation & (BLOCK_PREFLUSH | BLOCK_FUA)))
		return 0;
	disk = block_disk(&builder->blocks, bio->device);
	if (!disk)
		return -ENOMEM;
	/* One flush serves all bios that need one before it is issued. A disk with FUA needs none
	 * for a FUA write, so a bio that asks for a flush replaces that write here. */
	if (disk->flush_wanted && !(disk->flush_by_fua && bio->operation & BLOCK_PREFLUSH))
		return 0;
	disk->flush_by_fua = !(bio->operation & BLOCK_PREFLUSH);
	disk->flush_queued = bio->queued;
	disk->flush_task = bio->task;
	disk->flush_why = bio->why;
	disk->flush_wanted = true;
	return 0;
}

static int feed_queue(struct clew_builder *builder, const struct clew_bio *record)
{
	struct block_table *table = &builder->blocks;
	struct bio *bio = block_bio_find(table, record->bio);
	uint64_t upper = CLEW_NO_REQUEST;
	uint32_t task = CLEW_NO_TASK;
	int r;

	/* The rest of a bio that was split is queued again unchanged. A bio that was remapped keeps
	 * the request above it. */
	if (bio && bio->queued_again && bio->device == record->device &&
	    bio->sector == record->sector) {
		bio->queued_again = false;
		return 0;
	}
	if (bio) {
		if (bio->device == record->device && bio->sector == record->sector) {
			upper = bio->upper;
			task = bio->task;
		}
		r = lose_bio(builder, bio);
		if (r < 0)
			return r;
	}
	bio = bio_new(builder, record);
	if (!bio)
		return -ENOMEM;
	/* It was made below one that a limit had held back, whose submitter is known. */
	if (bio->task == CLEW_NO_TASK && upper != CLEW_NO_REQUEST)
		bio->task = task;
	block_limit_take(builder, bio);
	bio->why = build_why_written(builder, record);
	r = build_flight_new(builder, record, bio, &bio->flight);
	if (r < 0)
		return r;
	if (upper == CLEW_NO_REQUEST && record->parent)
		upper = block_upper_at(builder, record->parent, record->bytes);
	bio->upper = upper == CLEW_NO_REQUEST ? block_upper_of(builder, bio) : upper;
	if (block_adopt(builder, bio)) {
		block_bio_forget(table, bio);
		return 0;
	}
	return note_flush(builder, bio);
}

static int feed_remap(struct clew_builder *builder, const struct clew_bio *record)
{
	struct block_table *table = &builder->blocks;
	struct bio *bio = block_bio_find(table, record->bio);
	struct bio *upper = block_bio_at(table, record->from_device, record->from_sector, true);

	if (upper && upper->address != record->bio && upper->number == CLEW_NO_REQUEST)
		upper->number = table->numbers++;
	if (bio && bio == upper) {
		/* The same bio continues at another sector. */
		block_place_remove(table, bio);
		bio->device = record->device;
		bio->sector = record->sector;
		return block_place_add(table, bio);
	}
	if (bio && lose_bio(builder, bio) < 0)
		return -ENOMEM;
	bio = bio_new(builder, record);
	if (!bio)
		return -ENOMEM;
	if (upper) {
		bio->upper = upper->number;
		bio->swap = upper->swap;
		if (bio->task == CLEW_NO_TASK)
			bio->task = upper->task;
		if (bio->inode == 0) {
			bio->inode = upper->inode;
			bio->index = upper->index;
			bio->file_device = upper->file_device;
		}
	}
	return 0;
}

static int feed_split(struct clew_builder *builder, const struct clew_bio *record)
{
	struct block_table *table = &builder->blocks;
	struct bio *whole = block_bio_find(table, record->parent),
		   *front = block_bio_find(table, record->bio), *part;

	if (front && lose_bio(builder, front) < 0)
		return -ENOMEM;
	part = bio_new(builder, record);
	if (!part)
		return -ENOMEM;
	if (!whole || whole->device != record->device || whole->sector != record->sector ||
	    whole->bytes <= record->bytes)
		return 0;
	part->queued = whole->queued;
	part->released = whole->released;
	part->group = whole->group;
	part->limited = whole->limited;
	part->task = whole->task;
	part->inode = whole->inode;
	part->index = whole->index;
	part->file_device = whole->file_device;
	part->upper = whole->upper;
	part->why = whole->why;
	part->swap = whole->swap;
	if (whole->flight &&
	    build_flight_split(builder, whole->flight, record->bytes, &part->flight) < 0)
		return -ENOMEM;
	block_place_remove(table, whole);
	whole->sector += record->bytes >> BLOCK_SECTOR_BITS;
	whole->bytes -= record->bytes;
	whole->queued_again = true;
	return block_place_add(table, whole);
}

/* On a device without requests the bio itself is emitted as a request. */
static int feed_complete(struct clew_builder *builder, const struct clew_bio *record)
{
	struct block_table *table = &builder->blocks;
	struct bio *bio = block_bio_find(table, record->bio);
	struct clew_block_request block;
	int r = 0;

	if (!bio)
		return 0;
	block = (struct clew_block_request){
		.sector = bio->sector,
		.queued = bio->queued,
		.released = bio->released,
		.group = bio->group,
		.limited = bio->limited,
		.issued = later(bio->queued, bio->released),
		.completed = builder->now,
		.inode = bio->inode,
		.index = bio->index,
		.number = bio->number == CLEW_NO_REQUEST ? table->numbers++ : bio->number,
		.bytes = bio->bytes,
		.device = bio->device,
		.operation = bio->operation,
		.file_device = bio->file_device,
		.submitter = bio->task,
		.reason = bio->why.reason,
		.reason_task = bio->why.task,
		.swap = bio->swap,
	};
	if (bio->flight) {
		bio->flight->request = block.number;
		bio->flight->sector = bio->sector;
		r = build_flight_land(builder, bio->flight, builder->now);
		bio->flight = NULL;
	}
	block_bio_forget(table, bio);
	if (r < 0)
		return r;
	r = build_emit(builder,
		       (struct clew_finding){.tag = CLEW_FINDING_SERVED, .request = &block});
	return r < 0 ? r
		     : build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_REQUEST,
								 .request = &block});
}

int build_feed_bio(struct clew_builder *builder, const struct clew_bio *record)
{
	if (record->bio == 0)
		return 0;
	switch (record->header.flags & CLEW_BIO_KIND) {
	case CLEW_BIO_QUEUE:
		return feed_queue(builder, record);
	case CLEW_BIO_REMAP:
		return feed_remap(builder, record);
	case CLEW_BIO_SPLIT:
		return feed_split(builder, record);
	case CLEW_BIO_COMPLETE:
		return feed_complete(builder, record);
	default:
		return 0;
	}
}

int block_feed_part(struct clew_builder *builder, const struct clew_request *record)
{
	struct clew_bio queued = {.header = record->header,
				  .bio = record->bio,
				  .sector = record->sector,
				  .inode = record->inode,
				  .index = UINT64_MAX,
				  .bytes = record->bytes,
				  .device = record->device,
				  .file_device = record->file_device,
				  .operation = record->operation,
				  .task = record->task};
	struct bio *bio;
	int r;

	queued.header.flags = CLEW_BIO_QUEUE;
	r = feed_queue(builder, &queued);
	bio = r < 0 ? NULL : block_bio_find(&builder->blocks, record->bio);
	if (!bio)
		return r;
	bio->queued = earlier(record->queued, builder->now);
	if (!bio->flight || record->offset == CLEW_NO_OFFSET)
		return 0;
	bio->flight->queued = bio->queued;
	return build_feed_pages(builder, &(struct clew_pages){.bio = record->bio,
							      .inode = record->inode,
							      .offset = record->offset,
							      .bytes = record->bytes,
							      .device = record->file_device});
}

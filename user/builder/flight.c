/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flights: the pages of bios from when a bio is queued until the writers of its pages
 * are known. The positions of pages in files come in pieces, some with the bio and some
 * in records after it.
 */
#include "builder/backing.h"
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/journal.h"
#include "builder/pages.h"
#include <errno.h>
#include <stdlib.h>

static int add_part(struct clew_builder *builder, struct flight *flight, const struct part *part)
{
	if (flight->part_count == flight->part_capacity) {
		uint32_t capacity = flight->part_capacity ? flight->part_capacity * 2 : 4;
		struct part *parts = realloc(flight->parts, capacity * sizeof(*parts));

		if (!parts)
			return -ENOMEM;
		builder->pages.memory += (capacity - flight->part_capacity) * sizeof(*parts);
		flight->parts = parts;
		flight->part_capacity = capacity;
	}
	flight->parts[flight->part_count++] = *part;
	return 0;
}

static int flight_new(struct clew_builder *builder, struct flight **ret_flight)
{
	struct page_table *table = &builder->pages;
	struct flight *flight = table->free_flights;
	struct part *parts = NULL;
	uint32_t capacity = 0;

	if (flight) {
		table->free_flights = flight->next;
		parts = flight->parts;
		capacity = flight->part_capacity;
	} else {
		flight = malloc(sizeof(*flight));
		if (!flight)
			return -ENOMEM;
		table->memory += sizeof(*flight);
	}
	*flight = (struct flight){
		.parts = parts,
		.part_capacity = capacity,
		.request = CLEW_NO_REQUEST,
		.list_next = table->flights,
	};
	if (table->flights)
		table->flights->list_previous = flight;
	table->flights = flight;
	*ret_flight = flight;
	return 0;
}

void flight_free(struct page_table *table, struct flight *flight)
{
	*(flight->list_previous ? &flight->list_previous->list_next : &table->flights) =
		flight->list_next;
	if (flight->list_next)
		flight->list_next->list_previous = flight->list_previous;
	flight->next = table->free_flights;
	table->free_flights = flight;
}

/* Adds a part; metadata page by page, as each block has its own set of tasks. */
static int put_part(struct clew_builder *builder, struct flight *flight, const struct part *whole)
{
	int r = 0;

	if (!flight->metadata)
		return add_part(builder, flight, whole);
	for (uint64_t done = 0; done < whole->range.bytes && r >= 0;
	     done += 1u << EPOCH_PAGE_BITS) {
		struct part part = *whole;

		part.range.offset += done;
		part.range.bytes = earlier(whole->range.bytes - done, 1u << EPOCH_PAGE_BITS);
		part.at += (uint32_t)done;
		part.set =
			build_touched_by(builder, (uint32_t)whole->range.inode, part.range.offset);
		r = add_part(builder, flight, &part);
	}
	return r;
}

int build_flight_new(struct clew_builder *builder, const struct clew_bio *record,
		     const struct bio *bio, struct flight **ret_flight)
{
	struct flight *flight;
	int r;

	*ret_flight = NULL;
	if (!(builder->wanted & BUILD_PAGE_TAGS) || record->inode == 0 || record->bytes == 0)
		return 0;
	r = flight_new(builder, &flight);
	if (r < 0)
		return r;
	flight->queued = builder->now;
	flight->sector = record->sector;
	flight->bytes = record->bytes;
	flight->disk = record->device;
	flight->task = bio->task;
	flight->why = bio->why;
	flight->write = (record->operation & BLOCK_OPERATION) == BLOCK_WRITE;
	flight->direct = record->index == UINT64_MAX;
	flight->journal = record->header.flags & CLEW_BIO_JOURNAL;
	flight->frozen = record->header.flags & CLEW_BIO_FROZEN;
	if (flight->write && !flight->direct)
		build_is_disk_page(builder, record->inode, record->file_device, record->device,
				   &flight->metadata);
	/* For direct and compressed I/O the position in the file comes in a later record. */
	if (!flight->direct && record->contiguous)
		r = put_part(builder, flight,
			     &(struct part){.range = {.inode = record->inode,
						      .device = record->file_device,
						      .offset = record->index << EPOCH_PAGE_BITS,
						      .bytes = earlier(record->contiguous,
								       record->bytes)}});
	*ret_flight = flight;
	return r < 0 ? r
		     : page_queue_put(&builder->pages.queue,
				      (struct page_event){.at = flight->queued, .flight = flight});
}

int build_feed_pages(struct clew_builder *builder, const struct clew_pages *record)
{
	struct bio *bio = block_bio_find(&builder->blocks, record->bio);
	struct flight *flight = bio ? bio->flight : NULL;

	if (record->header.flags == CLEW_PAGES_BACKING) {
		build_feed_backing(builder, record);
		return 0;
	}
	if (!flight || record->at >= flight->bytes || record->bytes == 0)
		return 0;
	if (record->at == 0 && flight->part_count == 0 && record->bytes > flight->bytes)
		flight->squeezed = true;
	return put_part(
		builder, flight,
		&(struct part){.at = record->at,
			       .range = {.inode = record->inode,
					 .device = record->device,
					 .offset = record->offset,
					 .bytes = flight->squeezed
							  ? record->bytes
							  : earlier(record->bytes,
								    flight->bytes - record->at)}});
}

int build_flight_split(struct clew_builder *builder, struct flight *whole, uint32_t bytes,
		       struct flight **ret_front)
{
	struct flight *front;
	uint32_t kept = 0;
	int r = flight_new(builder, &front);

	*ret_front = NULL;
	if (r < 0)
		return r;
	front->queued = whole->queued;
	front->sector = whole->sector;
	front->bytes = bytes;
	front->disk = whole->disk;
	front->task = whole->task;
	front->why = whole->why;
	front->write = whole->write;
	front->direct = whole->direct;
	front->metadata = whole->metadata;
	front->journal = whole->journal;
	front->frozen = whole->frozen;
	/* Compressed pages are on the disk only when the whole bio is. */
	for (uint32_t i = 0; i < whole->part_count && !whole->squeezed; i++) {
		struct part part = whole->parts[i];

		if (part.at < bytes) {
			struct part ahead = part;
			uint32_t taken = (uint32_t)earlier(part.range.bytes, bytes - part.at);

			ahead.range.bytes = taken;
			r = add_part(builder, front, &ahead);
			if (r < 0)
				return r;
			if (part.range.bytes == taken)
				continue;
			part.range.offset += taken;
			part.range.bytes -= taken;
			part.at += taken;
		}
		part.at -= bytes;
		whole->parts[kept++] = part;
	}
	whole->part_count = whole->squeezed ? whole->part_count : kept;
	whole->bytes -= (uint32_t)earlier(bytes, whole->bytes);
	whole->sector += bytes >> BLOCK_SECTOR_BITS;
	*ret_front = front;
	return page_queue_put(&builder->pages.queue,
			      (struct page_event){.at = front->queued, .flight = front});
}

int build_flight_land(struct clew_builder *builder, struct flight *flight, uint64_t at)
{
	if (flight->landed)
		return 0;
	flight->landed = at;
	return page_queue_put(
		&builder->pages.queue,
		(struct page_event){
			.at = later(at == CLEW_TIME_OPEN ? builder->now : at, flight->queued),
			.flight = flight,
			.stage = FLIGHT_LANDS});
}

int build_flight_direct(struct clew_builder *builder, const struct clew_block_request *block,
			uint64_t offset)
{
	struct flight *flight;
	int r;

	if (!build_wants(builder, CLEW_FINDING_PAGES) || offset == CLEW_NO_OFFSET ||
	    block->inode == 0)
		return 0;
	r = flight_new(builder, &flight);
	if (r < 0)
		return r;
	flight->queued = block->queued;
	flight->landed = builder->now;
	flight->sector = block->sector;
	flight->bytes = block->bytes;
	flight->disk = block->device;
	flight->task = block->submitter;
	flight->request = block->number;
	flight->write = (block->operation & BLOCK_OPERATION) == BLOCK_WRITE;
	flight->direct = true;
	r = add_part(builder, flight,
		     &(struct part){.range = {.inode = block->inode,
					      .device = block->file_device,
					      .offset = offset,
					      .bytes = block->bytes}});
	if (r < 0)
		return r;
	return page_queue_put(
		&builder->pages.queue,
		(struct page_event){.at = builder->now + (build_is_backing(builder, block->inode,
									   block->file_device)
								  ? BUILD_UPPER_MOST
								  : 0),
				    .flight = flight,
				    .stage = FLIGHT_SETTLED});
}

void flights_done(struct page_table *table)
{
	while (table->flights)
		flight_free(table, table->flights);
	while (table->free_flights) {
		struct flight *flight = table->free_flights;

		table->free_flights = flight->next;
		free(flight->parts);
		free(flight);
	}
}

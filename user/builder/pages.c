/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From touches of pages and bios that carry them to who wrote what a request carries.
 *
 * A touch is told when it is over, up to a while after it began, and a bio's pages in
 * pieces: so both wait, in order of when they happened, until nothing earlier is to
 * be expected. A flight, the pages of one bio, is looked at twice: when its bio was
 * queued it takes the oldest open epoch of each page, and when it lands what was
 * written meanwhile may be in it too.
 */
#include "builder/block.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SENT_MOST 262144u
/* ns: a row of writes that touched a page is told of as a whole, at an interrupt that may be late.
 */
#define ROW_MOST (3ull * CLEW_EXTENT_AGE)
/* ns: an upper request ends so much after all that was made of it below. */
#define UPPER_MOST 3000000000ull

static int put_event(struct clew_builder *builder, struct page_event event)
{
	return page_queue_put(&builder->pages.queue, event);
}

static uint64_t page_start(uint64_t offset)
{
	return offset >> EPOCH_PAGE_BITS << EPOCH_PAGE_BITS;
}

static uint64_t page_end(uint64_t offset)
{
	return page_start(offset + (1u << EPOCH_PAGE_BITS) - 1);
}

static int put_extent(struct clew_builder *builder, const struct clew_extent *record, uint8_t event)
{
	struct page_table *table = &builder->pages;
	struct clew_extent *extent = table->free_extents;

	if (extent) {
		table->free_extents = (struct clew_extent *)(uintptr_t)extent->inode;
	} else {
		extent = malloc(sizeof(*extent));
		if (!extent)
			return -ENOMEM;
		table->memory += sizeof(*extent);
	}
	*extent = *record;
	extent->header.flags = event;
	if (record->header.flags & CLEW_EXTENT_ONCE)
		extent->header.time = record->begin;
	if (event == CLEW_EXTENT_DIRTY) {
		extent->offset = page_start(record->offset);
		extent->bytes = page_end(record->offset + record->bytes) - extent->offset;
	}
	extent->begin = earlier(record->begin, builder->now);
	extent->task = build_nobody(record->task) ? CLEW_NO_TASK : record->task;
	if (event == CLEW_EXTENT_DIRTY && build_dirtied(builder, extent) < 0)
		return -ENOMEM;
	return put_event(builder, (struct page_event){.at = extent->begin, .extent = extent});
}

int build_feed_extent(struct clew_builder *builder, const struct clew_extent *record)
{
	uint8_t event = record->header.flags;
	int r;

	/* The pages that calls wrote to are dirtied first. */
	if (event == (CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN)) {
		r = put_extent(builder, record, CLEW_EXTENT_DIRTY);
		if (r < 0)
			return r;
		event = CLEW_EXTENT_WRITE;
	}
	event &= (__u8)~CLEW_EXTENT_ONCE;
	return event <= CLEW_EXTENT_AGAIN ? put_extent(builder, record, event) : 0;
}

int build_pages_lost(struct clew_builder *builder)
{
	return put_event(builder, (struct page_event){.at = builder->now});
}

/* ---- flights ---- */

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

static int new_flight(struct clew_builder *builder, struct flight **ret_flight)
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
		.request = CLEW_NO_NUMBER,
		.list_next = table->flights,
	};
	if (table->flights)
		table->flights->list_previous = flight;
	table->flights = flight;
	*ret_flight = flight;
	return 0;
}

static void free_flight(struct page_table *table, struct flight *flight)
{
	*(flight->list_previous ? &flight->list_previous->list_next : &table->flights) =
		flight->list_next;
	if (flight->list_next)
		flight->list_next->list_previous = flight->list_previous;
	flight->next = table->free_flights;
	table->free_flights = flight;
}

/* Of metadata page by page, as each block has those that touched it. */
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
		     const struct why_written *why, struct flight **ret_flight)
{
	struct flight *flight;
	int r;

	*ret_flight = NULL;
	if (!(builder->wanted & BUILD_PAGE_TAGS) || record->inode == 0 || record->bytes == 0)
		return 0;
	r = new_flight(builder, &flight);
	if (r < 0)
		return r;
	flight->queued = builder->now;
	flight->sector = record->sector;
	flight->bytes = record->bytes;
	flight->disk = record->device;
	flight->task = build_nobody(record->task) ? CLEW_NO_TASK : record->task;
	flight->why = *why;
	flight->write = (record->operation & BLOCK_OPERATION) == BLOCK_WRITE;
	flight->direct = record->index == UINT64_MAX;
	if (flight->write && !flight->direct)
		build_is_disk_page(builder, record->inode, record->file_device, record->device,
				   &flight->metadata);
	/* Of direct I/O, and of what is compressed, the place in the file is told behind it. */
	if (!flight->direct && record->contiguous)
		r = put_part(builder, flight,
			     &(struct part){.range = {.inode = record->inode,
						      .device = record->file_device,
						      .offset = record->index << EPOCH_PAGE_BITS,
						      .bytes = earlier(record->contiguous,
								       record->bytes)}});
	*ret_flight = flight;
	return r < 0 ? r
		     : put_event(builder,
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
	int r = new_flight(builder, &front);

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
	/* Compressed pages are on the disk when all of it is. */
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
	return put_event(builder, (struct page_event){.at = front->queued, .flight = front});
}

int build_flight_land(struct clew_builder *builder, struct flight *flight, uint64_t at)
{
	if (flight->landed)
		return 0;
	flight->landed = at;
	return put_event(builder,
			 (struct page_event){.at = later(at == CLEW_TIME_OPEN ? builder->now : at,
							 flight->queued),
					     .flight = flight,
					     .stage = FLIGHT_LANDS});
}

/* ---- what is found ---- */

struct finding_context {
	struct clew_builder *builder;
	const struct flight *flight;
	const struct part *part;
};

static struct clew_object file_object(const struct file_range *range)
{
	return (struct clew_object){.kind = CLEW_OBJECT_FILE,
				    .number = range->inode,
				    .device = range->device,
				    .descriptor = -1};
}

/* One of several touched it so that it had to be written. */
static enum clew_evidence evidence_of(const struct clew_builder *builder, uint32_t touchers)
{
	return touchers && builder->pages.epochs.sets[touchers].count > 1 ? CLEW_EVIDENCE_CANDIDATE
									  : CLEW_EVIDENCE_EXACT;
}

/* From a writer to the task whose pass over the file took its pages; once a pass. */
static int send_edge(struct clew_builder *builder, const struct flight *flight,
		     const struct part *part, uint32_t writer, uint64_t dirtied)
{
	struct page_table *table = &builder->pages;
	uint64_t key = flight->why.pass ? flight->why.pass : flight->queued << 32;
	struct clew_edge edge = {
		.from_at = dirtied,
		.to_at = flight->queued,
		.from = writer,
		.to = flight->task,
		.type = CLEW_EDGE_WRITEBACK,
		.evidence = evidence_of(builder, part->set),
		.context = CLEW_WAKE_TASK,
		.object = file_object(&part->range),
	};

	if (writer == flight->task || writer == CLEW_NO_TASK || flight->task == CLEW_NO_TASK ||
	    build_dropped(builder, CLEW_EDGE_WRITEBACK) || map_get(&table->sent, key, writer))
		return 0;
	if (table->sent.count >= SENT_MOST)
		map_done(&table->sent);
	if (map_set(&table->sent, key, writer, 1) < 0)
		return -ENOMEM;
	return build_send_edge(builder, &edge);
}

/* Those that touched a block of metadata, of which one or another changed it. */
static int note_touchers(struct clew_builder *builder, const struct flight *flight,
			 const struct part *part)
{
	const struct epoch_table *epochs = &builder->pages.epochs;
	int r = 0;

	for (uint32_t set = part->set; set && r >= 0; set = epochs->sets[set].parent)
		r = send_edge(builder, flight, part, epochs->sets[set].task, flight->queued);
	return r;
}

static int note_writers(void *pointer, const struct epoch_finding *finding)
{
	const struct finding_context *context = pointer;
	struct clew_builder *builder = context->builder;
	const struct task_set *sets = builder->pages.epochs.sets;
	int r = 0;

	for (uint32_t set = finding->set; set && r >= 0; set = sets[set].parent)
		r = send_edge(builder, context->flight, context->part, sets[set].task,
			      finding->begin);
	return r;
}

static int send_stretch(const struct finding_context *context, const struct epoch_finding *finding)
{
	struct clew_builder *builder = context->builder;
	const struct epoch_table *epochs = &builder->pages.epochs;
	const struct part *part = context->part;
	struct vector *writers = &builder->pages.writers;
	uint32_t count = finding->set ? epochs->sets[finding->set].count : 0;
	bool squeezed = context->flight->squeezed;
	uint32_t later_most = finding->later ? epochs->sets[finding->later].count : 0,
		 later_count = 0;
	struct clew_page_extent extent = {
		.inode = part->range.inode,
		.device = part->range.device,
		.offset = finding->offset,
		.bytes = finding->bytes,
		.sector = context->flight->sector +
			  (squeezed ? 0
				    : (part->at + finding->offset - part->range.offset) >>
					      BLOCK_SECTOR_BITS),
		.dirtied = finding->begin,
		.request = context->flight->request,
		.evidence = evidence_of(builder, part->set),
		.known = finding->known,
	};
	uint32_t *tasks;

	if (vector_reserve(writers, (size_t)count + later_most + 1) < 0)
		return -ENOMEM;
	tasks = writers->data;
	epoch_set_tasks(epochs, finding->set, tasks);
	epoch_set_tasks(epochs, finding->later, tasks + count);
	for (uint32_t i = 0; i < later_most; i++)
		if (!epoch_set_has(epochs, finding->set, tasks[count + i]))
			tasks[count + later_count++] = tasks[count + i];
	extent.writers = tasks;
	extent.writer_count = count + later_count;
	extent.later_count = later_count;
	if (context->flight->write && extent.writer_count &&
	    build_is_backed(context->flight->disk)) {
		struct build_origin origin = {.sector = extent.sector,
					      .bytes = squeezed ? context->flight->bytes
								: extent.bytes,
					      .queued = context->flight->queued,
					      .landed = context->flight->landed,
					      .set = epoch_set_union(&builder->pages.epochs,
								     finding->set, finding->later)};

		if (origin.set == UINT32_MAX ||
		    build_origin_add(builder, context->flight->disk, &origin) < 0)
			return -ENOMEM;
	}
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_PAGES, .pages = &extent});
}

/* Of a file behind a loop device, page by page with whoever is behind it. */
static int send_backing(const struct finding_context *context, const struct epoch_finding *finding)
{
	uint64_t end = finding->offset + finding->bytes;
	struct epoch_finding stretch = *finding;
	struct file_range page = {.inode = context->part->range.inode,
				  .device = context->part->range.device};
	int r = 0;

	stretch.bytes = 0;
	for (page.offset = finding->offset; page.offset < end && r >= 0;
	     page.offset += page.bytes) {
		uint32_t set, later = 0;

		page.bytes =
			earlier(end, ((page.offset >> EPOCH_PAGE_BITS) + 1) << EPOCH_PAGE_BITS) -
			page.offset;
		r = build_origin_take(context->builder, &page, context->flight->queued, &set);
		if (r < 0)
			return r;
		if (!set) {
			set = finding->set;
			later = finding->later;
		}
		if (stretch.bytes && (set != stretch.set || later != stretch.later)) {
			r = send_stretch(context, &stretch);
			stretch.offset = page.offset;
			stretch.bytes = 0;
		}
		stretch.set = set;
		stretch.later = later;
		stretch.bytes += page.bytes;
	}
	return r < 0 || !stretch.bytes ? r : send_stretch(context, &stretch);
}

static int send_extent(void *pointer, const struct epoch_finding *finding)
{
	const struct finding_context *context = pointer;
	const struct file_range *range = &context->part->range;

	if (context->flight->write &&
	    build_is_backing(context->builder, range->inode, range->device))
		return send_backing(context, finding);
	return send_stretch(context, finding);
}

static int take_off(struct clew_builder *builder, struct flight *flight)
{
	struct finding_context context = {.builder = builder, .flight = flight};
	int r = 0;

	for (uint32_t i = 0; flight->write && !flight->direct && i < flight->part_count && r >= 0;
	     i++) {
		context.part = &flight->parts[i];
		r = epoch_take_off(&builder->pages.epochs, &context.part->range, flight,
				   flight->queued);
		if (r >= 0 && flight->metadata)
			r = note_touchers(builder, flight, context.part);
		else if (r >= 0 && build_wants(builder, CLEW_FINDING_EDGE))
			r = epoch_flight(&builder->pages.epochs, &context.part->range, flight,
					 false, note_writers, &context);
	}
	return r;
}

/* The task's own memory. */
static int send_direct(struct finding_context *context)
{
	const struct flight *flight = context->flight;
	const struct part *part = context->part;
	struct epoch_finding finding = {
		.offset = part->range.offset, .bytes = part->range.bytes, .begin = flight->queued};

	if (flight->write && flight->task != CLEW_NO_TASK) {
		finding.known = true;
		finding.set = epoch_set_with(&context->builder->pages.epochs, 0, flight->task);
		if (finding.set == UINT32_MAX)
			return -ENOMEM;
	}
	return send_extent(context, &finding);
}

int build_flight_direct(struct clew_builder *builder, const struct clew_block_request *block,
			uint64_t offset)
{
	struct flight *flight;
	int r;

	if (!build_wants(builder, CLEW_FINDING_PAGES) || offset == CLEW_NO_OFFSET ||
	    block->inode == 0)
		return 0;
	r = new_flight(builder, &flight);
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
	return put_event(builder, (struct page_event){.at = builder->now +
							    (build_is_backing(builder, block->inode,
									      block->file_device)
								     ? UPPER_MOST
								     : 0),
						      .flight = flight,
						      .stage = FLIGHT_SETTLED});
}

static int ignore_finding(void *context, const struct epoch_finding *finding)
{
	(void)context;
	(void)finding;
	return 0;
}

static int settle(struct clew_builder *builder, struct flight *flight)
{
	struct finding_context context = {.builder = builder, .flight = flight};
	bool told = build_wants(builder, CLEW_FINDING_PAGES) && flight->request != CLEW_NO_NUMBER;
	int r = 0;

	for (uint32_t i = 0; i < flight->part_count && r >= 0; i++) {
		const struct part *part = context.part = &flight->parts[i];

		if (flight->direct)
			r = told ? send_direct(&context) : 0;
		else if (flight->write)
			r = epoch_flight(&builder->pages.epochs, &part->range, flight, true,
					 told && !flight->metadata ? send_extent : ignore_finding,
					 &context);
		if (r >= 0 && told && flight->metadata)
			r = send_stretch(&context,
					 &(struct epoch_finding){.offset = part->range.offset,
								 .bytes = part->range.bytes,
								 .set = part->set,
								 .known = part->set});
		if (r >= 0 && told && !flight->direct && !flight->write)
			r = send_extent(&context,
					&(struct epoch_finding){.offset = part->range.offset,
								.bytes = part->range.bytes});
	}
	free_flight(&builder->pages, flight);
	return r;
}

/* Whether what it carries is of a file behind a loop device: then its upper request is to be
 * settled before it. */
static bool is_lower(const struct clew_builder *builder, const struct flight *flight)
{
	return flight->write && flight->part_count &&
	       build_is_backing(builder, flight->parts[0].range.inode,
				flight->parts[0].range.device);
}

static int advance(struct clew_builder *builder, struct flight *flight, enum flight_stage stage)
{
	int r = 0;

	switch (stage) {
	case FLIGHT_TAKES_OFF:
		return take_off(builder, flight);
	case FLIGHT_LANDS:
		for (uint32_t i = 0;
		     flight->write && !flight->direct && i < flight->part_count && r >= 0; i++)
			r = epoch_land(&builder->pages.epochs, &flight->parts[i].range, flight,
				       flight->landed);
		/* A write that seemed to be before its bio may prove to have been behind it. */
		if (r >= 0)
			r = put_event(builder,
				      (struct page_event){
					      .at = later(flight->landed == CLEW_TIME_OPEN
								  ? 0
								  : flight->landed,
							  flight->queued) +
						    ROW_MOST +
						    (is_lower(builder, flight) ? UPPER_MOST : 0),
					      .flight = flight,
					      .stage = FLIGHT_SETTLED});
		return r;
	case FLIGHT_SETTLED:
		return settle(builder, flight);
	}
	return 0;
}

/* ---- touches ---- */

struct touch_context {
	struct clew_builder *builder;
	const struct clew_extent *extent;
};

static int send_touch(struct clew_builder *builder, const struct clew_touch *touch)
{
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_TOUCH, .touch = touch});
}

static int send_unused(void *pointer, uint64_t offset, uint64_t bytes, uint32_t asker)
{
	const struct touch_context *context = pointer;
	const struct clew_extent *extent = context->extent;

	return send_touch(context->builder, &(struct clew_touch){
						    .begin = extent->begin,
						    .end = extent->header.time,
						    .inode = extent->inode,
						    .device = extent->device,
						    .offset = offset,
						    .bytes = bytes,
						    .task = asker,
						    .event = CLEW_TOUCH_UNUSED,
					    });
}

/* From who asked for pages to another who used them. */
static int send_used(void *pointer, uint64_t offset, uint64_t bytes, uint32_t asker,
		     uint64_t asked_at)
{
	const struct touch_context *context = pointer;
	const struct clew_extent *extent = context->extent;
	struct clew_edge edge = {
		.from_at = asked_at,
		.to_at = extent->begin,
		.from = asker,
		.to = extent->task,
		.type = CLEW_EDGE_READAHEAD,
		.evidence = CLEW_EVIDENCE_EXACT,
		.context = CLEW_WAKE_TASK,
		.object = {.kind = CLEW_OBJECT_FILE,
			   .number = extent->inode,
			   .device = extent->device,
			   .descriptor = -1},
	};

	(void)offset;
	(void)bytes;
	if (asker == extent->task || extent->task == CLEW_NO_TASK ||
	    build_dropped(context->builder, CLEW_EDGE_READAHEAD))
		return 0;
	return build_send_edge(context->builder, &edge);
}

/* Whether a DIRTY extent is one of whose pages calls wrote each: then that is told next. */
static bool is_written(const struct clew_extent *extent, const struct page_event *next)
{
	const struct clew_extent *write = next ? next->extent : NULL;

	return write && write->header.flags == CLEW_EXTENT_WRITE && write->task == extent->task &&
	       write->inode == extent->inode && write->device == extent->device &&
	       page_start(write->offset) == extent->offset &&
	       page_end(write->offset + write->bytes) == extent->offset + extent->bytes;
}

static int touch(struct clew_builder *builder, const struct clew_extent *extent)
{
	struct epoch_table *epochs = &builder->pages.epochs;
	struct file_range range = {.inode = extent->inode,
				   .device = extent->device,
				   .offset = extent->offset,
				   .bytes = extent->bytes};
	struct touch_context context = {.builder = builder, .extent = extent};
	uint8_t event = extent->header.flags;
	int r = 0;

	switch (extent->header.flags) {
	case CLEW_EXTENT_DIRTY:
		r = epoch_dirty(epochs, &range, extent->task, extent->begin, extent->header.time,
				is_written(extent, page_queue_twin(&builder->pages.queue)));
		break;
	case CLEW_EXTENT_WRITE:
	case CLEW_EXTENT_STORE:
		r = epoch_write(epochs, &range, extent->task, extent->begin, extent->header.time);
		break;
	case CLEW_EXTENT_DROP:
		r = epoch_drop(epochs, &range, send_unused, &context);
		break;
	case CLEW_EXTENT_CLEAR:
		return epoch_clear(epochs, &range);
	case CLEW_EXTENT_ADD:
		if (extent->task != CLEW_NO_TASK)
			r = epoch_ask(epochs, &range, extent->task, extent->begin);
		break;
	case CLEW_EXTENT_USE:
		r = epoch_use(epochs, &range, send_used, &context);
		break;
	case CLEW_EXTENT_AGAIN:
		/* It is a writer of these pages already. */
		event = CLEW_EXTENT_WRITE;
		break;
	}
	return r < 0 ? r
		     : send_touch(builder, &(struct clew_touch){
						   .begin = extent->begin,
						   .end = extent->header.time,
						   .inode = extent->inode,
						   .device = extent->device,
						   .offset = extent->offset,
						   .bytes = extent->bytes,
						   .task = extent->task,
						   .event = event,
					   });
}

static int send_left(void *pointer, const struct file_range *range, uint32_t asker,
		     uint64_t asked_at)
{
	struct clew_builder *builder = pointer;

	return send_touch(builder, &(struct clew_touch){
					   .begin = asked_at,
					   .end = builder->now,
					   .inode = range->inode,
					   .device = range->device,
					   .offset = range->offset,
					   .bytes = range->bytes,
					   .task = asker,
					   .event = CLEW_TOUCH_UNUSED,
				   });
}

int build_pages_drain(struct clew_builder *builder, uint64_t now, bool all)
{
	struct page_table *table = &builder->pages;
	uint64_t until = all ? UINT64_MAX : now > BUILD_PAGES_GRACE ? now - BUILD_PAGES_GRACE : 0;
	struct page_event event;
	int r = 0;

	for (struct flight *flight = all ? table->flights : NULL; flight && r >= 0;
	     flight = flight->list_next)
		r = build_flight_land(builder, flight, CLEW_TIME_OPEN);
	while (r >= 0 && page_queue_take(&table->queue, until, &event)) {
		if (event.extent) {
			r = touch(builder, event.extent);
			event.extent->inode = (uintptr_t)table->free_extents;
			table->free_extents = event.extent;
		} else if (!event.flight) {
			epoch_forget(&table->epochs);
		} else {
			r = advance(builder, event.flight, (enum flight_stage)event.stage);
		}
	}
	return r >= 0 && all ? epoch_each_unused(&table->epochs, send_left, builder) : r;
}

void build_pages_done(struct clew_builder *builder)
{
	struct page_table *table = &builder->pages;
	struct page_event event;

	while (page_queue_take(&table->queue, UINT64_MAX, &event))
		free(event.extent);
	while (table->free_extents) {
		struct clew_extent *extent = table->free_extents;

		table->free_extents = (struct clew_extent *)(uintptr_t)extent->inode;
		free(extent);
	}
	while (table->flights)
		free_flight(table, table->flights);
	while (table->free_flights) {
		struct flight *flight = table->free_flights;

		table->free_flights = flight->next;
		free(flight->parts);
		free(flight);
	}
	page_queue_done(&table->queue);
	map_done(&table->sent);
	vector_done(&table->writers);
	epoch_done(&table->epochs);
}

size_t build_pages_memory(const struct clew_builder *builder)
{
	const struct page_table *table = &builder->pages;

	return table->memory + table->queue.memory + epoch_memory(&table->epochs) +
	       map_memory(&table->sent) + table->writers.bytes;
}

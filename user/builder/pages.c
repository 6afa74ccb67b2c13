/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Acts of tasks on pages of the page cache, in order of time.
 *
 * An extent is recorded when it is over, some time after it began, and the pages of a
 * bio are recorded in pieces. Extents and flights therefore wait in a queue, in order
 * of when they happened, until nothing earlier is still to come.
 */
#include "builder/pages.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/epoch.h"
#include "builder/writeback.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	if ((event & CLEW_EXTENT_KIND) == CLEW_EXTENT_DIRTY) {
		extent->offset = page_start(record->offset);
		extent->bytes = page_end(record->offset + record->bytes) - extent->offset;
	}
	extent->begin = earlier(record->begin, builder->now);
	extent->task = build_nobody(record->task) ? CLEW_NO_TASK : record->task;
	if ((event & CLEW_EXTENT_KIND) == CLEW_EXTENT_DIRTY && build_dirtied(builder, extent) < 0)
		return -ENOMEM;
	/* Known before the first event of the device is handled. */
	if (event == CLEW_EXTENT_WRITE && !map_get(&table->calls, record->device, 0) &&
	    map_set(&table->calls, record->device, 0, 1) < 0)
		return -ENOMEM;
	return put_event(builder, (struct page_event){.at = extent->begin, .extent = extent});
}

int build_feed_extent(struct clew_builder *builder, const struct clew_extent *record)
{
	uint8_t event = record->header.flags;
	bool known;
	int r;

	/* One record for pages that were dirtied by a write call: the dirtying comes first. */
	if (event == (CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN)) {
		r = put_extent(builder, record, CLEW_EXTENT_DIRTY);
		if (r < 0)
			return r;
		event = CLEW_EXTENT_WRITE;
	}
	if ((event & CLEW_EXTENT_KIND) == CLEW_EXTENT_DROP)
		return put_extent(builder, record, event);
	known = map_get(&builder->pages.calls, record->device, 0);
	/* The journal names the writers of a disk's own pages. Where no write is recorded, the task
	   that made a page dirty is all that is known. */
	if (event == CLEW_EXTENT_REDIRTY &&
	    (!known || clew_is_disk_inode(record->device, record->inode)))
		event = CLEW_EXTENT_DIRTY;
	if (event == CLEW_EXTENT_ZERO && !known)
		return 0;
	event &= (__u8)~CLEW_EXTENT_ONCE;
	return (event & CLEW_EXTENT_KIND) <= CLEW_EXTENT_ZERO ? put_extent(builder, record, event)
							      : 0;
}

int build_pages_lost(struct clew_builder *builder)
{
	return put_event(builder, (struct page_event){.at = builder->now});
}

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

/* The edge from the task that read pages in to another task that used them first. */
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

/* True if write calls wrote each page of a DIRTY extent: then the WRITE extent comes next. */
static bool is_written(const struct clew_extent *extent, const struct page_event *next)
{
	const struct clew_extent *write = next ? next->extent : NULL;

	return write && write->header.flags == CLEW_EXTENT_WRITE && write->task == extent->task &&
	       write->inode == extent->inode && write->device == extent->device &&
	       page_start(write->offset) == extent->offset &&
	       page_end(write->offset + write->bytes) == extent->offset + extent->bytes;
}

static int send_act(struct clew_builder *builder, const struct clew_extent *extent, uint8_t event,
		    uint64_t bytes)
{
	return send_touch(builder, &(struct clew_touch){
					   .begin = extent->begin,
					   .end = extent->header.time,
					   .inode = extent->inode,
					   .device = extent->device,
					   .offset = extent->offset,
					   .bytes = bytes,
					   .task = extent->task,
					   .event = event,
				   });
}

static int dirty(struct clew_builder *builder, const struct clew_extent *extent,
		 const struct file_range *range)
{
	struct page_table *table = &builder->pages;
	uint64_t bytes;
	struct epoch_dirtying by = {
		.task = extent->task,
		.begin = extent->begin,
		.until = extent->header.time,
		.own = is_written(extent, page_queue_twin(&table->queue)),
		.large = extent->header.flags & CLEW_EXTENT_LARGE,
	};
	int r = epoch_dirty(&table->epochs, range, &by, &bytes);

	if (!map_get(&table->calls, extent->device, 0) ||
	    clew_is_disk_inode(extent->device, extent->inode))
		bytes = extent->bytes;
	return r < 0 || !bytes ? r : send_act(builder, extent, CLEW_TOUCH_DIRTY, bytes);
}

static int write_or_store(struct clew_builder *builder, const struct clew_extent *extent,
			  const struct file_range *range)
{
	struct page_table *table = &builder->pages;
	struct clew_extent pages = *extent;
	uint64_t bytes;
	int r = epoch_write(&table->epochs, range, extent->task, extent->begin, extent->header.time,
			    &bytes);

	pages.offset = page_start(extent->offset);
	if (r >= 0 && bytes && map_get(&table->calls, extent->device, 0))
		r = send_act(builder, &pages, CLEW_TOUCH_DIRTY, bytes);
	/* Nobody asked for the bytes that a call zeroes besides. */
	return r < 0 || extent->header.flags == CLEW_EXTENT_ZERO
		       ? r
		       : send_act(builder, extent, extent->header.flags, extent->bytes);
}

static int send_again(void *pointer, uint64_t offset, uint64_t bytes)
{
	const struct touch_context *context = pointer;
	struct clew_extent pages = *context->extent;

	if (pages.task == CLEW_NO_TASK)
		return 0;
	pages.offset = offset;
	return send_act(context->builder, &pages, CLEW_TOUCH_AGAIN, bytes);
}

/* Pages leave the page cache. */
static int drop(struct touch_context *context, const struct file_range *range)
{
	struct page_table *table = &context->builder->pages;
	const struct clew_extent *extent = context->extent;
	int r = extent->header.flags & CLEW_EXTENT_EVICTED
			? evicted_add(&table->evicted, range)
			: evicted_remove(&table->evicted, range, NULL, NULL);

	if (r >= 0 && extent->header.flags & CLEW_EXTENT_DELETED)
		r = send_act(context->builder, extent, CLEW_TOUCH_DELETED, extent->bytes);
	if (r >= 0)
		r = epoch_drop(&table->epochs, range, send_unused, context);
	return r < 0 ? r : send_act(context->builder, extent, CLEW_TOUCH_DROP, extent->bytes);
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

	switch (event) {
	case CLEW_EXTENT_DIRTY:
	case CLEW_EXTENT_DIRTY | CLEW_EXTENT_LARGE:
		return dirty(builder, extent, &range);
	case CLEW_EXTENT_REDIRTY:
		return epoch_redirty(epochs, &range);
	case CLEW_EXTENT_WRITE:
	case CLEW_EXTENT_STORE:
	case CLEW_EXTENT_ZERO:
		return write_or_store(builder, extent, &range);
	case CLEW_EXTENT_DROP:
	case CLEW_EXTENT_DROP | CLEW_EXTENT_DELETED:
	case CLEW_EXTENT_DROP | CLEW_EXTENT_EVICTED:
		return drop(&context, &range);
	case CLEW_EXTENT_CLEAR:
		return epoch_clear(epochs, &range);
	case CLEW_EXTENT_ADD:
		if (extent->task != CLEW_NO_TASK)
			r = epoch_ask(epochs, &range, extent->task, extent->begin);
		if (r >= 0)
			r = evicted_remove(&builder->pages.evicted, &range, send_again, &context);
		break;
	case CLEW_EXTENT_USE:
		if (extent->bytes == 0)
			return epoch_uses_end(epochs, extent->inode, extent->begin);
		r = epoch_use(epochs, &range, send_used, &context);
		break;
	case CLEW_EXTENT_AGAIN:
		/* The task is a writer of these pages already. */
		event = CLEW_EXTENT_WRITE;
		break;
	}
	return r < 0 ? r : send_act(builder, extent, event, extent->bytes);
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
			evicted_done(&table->evicted);
		} else {
			r = flight_advance(builder, event.flight, (enum flight_stage)event.stage);
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
	flights_done(table);
	page_queue_done(&table->queue);
	map_done(&table->calls);
	map_done(&table->sent);
	vector_done(&table->writers);
	evicted_done(&table->evicted);
	epoch_done(&table->epochs);
}

size_t build_pages_memory(const struct clew_builder *builder)
{
	const struct page_table *table = &builder->pages;

	return table->memory + table->queue.memory + epoch_memory(&table->epochs) +
	       map_memory(&table->evicted.files) + map_memory(&table->evicted.chunks) +
	       map_memory(&table->calls) + map_memory(&table->sent) + table->writers.bytes;
}

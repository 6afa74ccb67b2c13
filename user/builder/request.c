/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Block requests, from the first record of one to its end. An address belongs to a
 * request until another one is made there. Ended requests are kept for a while, because
 * the record of a wake, which names its request, is written only when the woken task
 * runs.
 *
 * The submitter of a request comes from its first bio, not from the task that issued
 * it. A flush of a device's cache has no bio: it belongs to the task that last asked
 * for one.
 */
#include "builder/backing.h"
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/pages.h"
#include "builder/task.h"
#include "builder/work.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ns: the task that issues a loop device's request queues the work item this soon. */
#define LOOP_NEAR 1000000ull

static struct request *latest_at(const struct block_table *table, uint64_t address)
{
	const uint64_t *found = map_get(&table->requests, address, 0);

	return found ? (struct request *)(uintptr_t)*found : NULL;
}

struct request *build_request_at(const struct clew_builder *builder, uint64_t address, uint64_t at)
{
	struct request *request = latest_at(&builder->blocks, address);

	/* A request that was completed only in part has no end yet. */
	while (request && (request->first_completed == 0 || request->first_completed > at))
		request = request->older;
	return request;
}

struct clew_link build_request_link(const struct request *request, uint64_t at)
{
	const struct clew_block_request *block = &request->block;

	return block_link(block, block->issued ? block->issued : request->flushed,
			  earlier(later(block->completed, request->first_completed), at));
}

static int send_request(struct clew_builder *builder, const struct request *request)
{
	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_REQUEST,
							 .request = &request->block});
}

static void unlist(struct clew_builder *builder, struct request *request)
{
	struct disk *disk = block_disk(&builder->blocks, request->block.device);

	if (!request->listed || !disk)
		return;
	disk->orphans -= request->orphan != 0;
	request->orphan = 0;
	*(request->previous ? &request->previous->next : &disk->first) = request->next;
	*(request->next ? &request->next->previous : &disk->last) = request->previous;
	request->next = request->previous = NULL;
	request->listed = false;
}

static int list(struct clew_builder *builder, struct request *request)
{
	struct disk *disk = block_disk(&builder->blocks, request->block.device);

	if (!disk)
		return -ENOMEM;
	request->next = NULL;
	request->previous = disk->last;
	*(disk->last ? &disk->last->next : &disk->first) = request;
	disk->last = request;
	request->listed = true;
	return 0;
}

static int land_flights(struct clew_builder *builder, struct request *request, uint64_t at)
{
	int r = 0;

	while (request->flights && r >= 0) {
		struct flight *flight = request->flights;

		request->flights = flight->next;
		r = build_flight_land(builder, flight, at);
	}
	return r;
}

/* Emits and frees the requests at this address that ended too long ago to be looked up. */
static int forget_past(struct clew_builder *builder, struct request *latest)
{
	while (latest->oldest != latest) {
		struct request *old = latest->oldest;
		int r;

		if (latest->older_count < BUILD_PAST_MOST &&
		    old->first_completed + BUILD_PAST > builder->now)
			return 0;
		r = land_flights(builder, old, CLEW_TIME_OPEN);
		if (r >= 0 && !old->merged)
			r = send_request(builder, old);
		latest->oldest = old->newer;
		latest->oldest->older = NULL;
		latest->older_count--;
		unlist(builder, old);
		free(old);
		builder->blocks.memory -= sizeof(*old);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Copies the fields that the first bio gives. */
static void take_bio(struct clew_block_request *block, const struct bio *bio)
{
	block->queued = bio->queued;
	block->released = bio->released;
	block->group = bio->group;
	block->limited = bio->limited;
	block->submitter = bio->task;
	block->inode = bio->inode;
	block->index = bio->index;
	block->file_device = bio->file_device;
	block->reason = bio->why.reason;
	block->reason_task = bio->why.task;
	block->swap = bio->swap;
}

/* The pages of a bio become the request's. */
static void take_flight(struct request *request, struct bio *bio)
{
	struct flight *flight = bio->flight;

	if (!flight)
		return;
	bio->flight = NULL;
	flight->request = request->block.number;
	flight->sector = bio->sector;
	flight->next = request->flights;
	request->flights = flight;
}

/* From its first bio if that is known. A flush belongs to the task that last asked for one. */
static int find_submitter(struct clew_builder *builder, const struct clew_request *record,
			  struct clew_block_request *block)
{
	const struct bio *bio = block_bio_find(&builder->blocks, record->bio);

	if (bio) {
		take_bio(block, bio);
	} else if ((record->operation & BLOCK_OPERATION) == BLOCK_FLUSH) {
		struct disk *disk = block_disk(&builder->blocks, record->device);

		if (!disk)
			return -ENOMEM;
		block->sector = UINT64_MAX;
		block->bytes = 0;
		block->submitter = disk->flush_task;
		block->reason = disk->flush_why.reason;
		block->reason_task = disk->flush_why.task;
		block->queued = disk->flush_wanted ? disk->flush_queued : builder->now;
		disk->flush_wanted = false;
	} else if (!build_nobody(record->task)) {
		const struct task *task = build_task_find(builder, record->task);

		/* A worker may issue what others queued. */
		block->submitter =
			task && (task->worker || task->kworker) ? CLEW_NO_TASK : record->task;
	}
	return 0;
}

static int new_request(struct clew_builder *builder, const struct clew_request *record,
		       struct request **ret_request)
{
	struct block_table *table = &builder->blocks;
	struct request *older = latest_at(table, record->request),
		       *request = calloc(1, sizeof(*request));
	bool complete = record->header.flags == CLEW_REQUEST_COMPLETE;
	int r;

	if (!request)
		return -ENOMEM;
	request->address = record->request;
	request->allocated = record->allocated;
	request->older = older;
	request->oldest = older ? older->oldest : request;
	request->older_count = older ? older->older_count + 1 : 0;
	request->upper = CLEW_NO_REQUEST;
	request->block = (struct clew_block_request){
		.number = table->numbers++,
		.sector = record->sector,
		.bytes = record->bytes,
		.device = record->device,
		.operation = record->operation,
		.queued = record->allocated && record->allocated < builder->now ? record->allocated
			  : complete						? 0
										: builder->now,
	};
	r = map_set(&table->requests, record->request, 0, (uintptr_t)request);
	if (r < 0) {
		free(request);
		return r;
	}
	table->memory += sizeof(*request);
	if (older)
		older->newer = request;
	if (older && older->first_completed == 0)
		older->first_completed = builder->now; /* its end was lost */
	if (older && !older->block.completed)
		older->block.reused = builder->now;
	if (older)
		unlist(builder, older);
	r = find_submitter(builder, record, &request->block);
	if (r < 0)
		return r;
	*ret_request = request;
	return forget_past(builder, request);
}

/* Finds the request of a record, or makes it where the address has a new one. */
static int request_of(struct clew_builder *builder, const struct clew_request *record,
		      struct request **ret_request)
{
	struct request *request = latest_at(&builder->blocks, record->request);
	bool begins = record->header.flags == CLEW_REQUEST_ISSUE ||
		      record->header.flags == CLEW_REQUEST_WHOLE;

	if (request && !request->merged && !(request->ended && begins) &&
	    (request->allocated == record->allocated || !record->allocated ||
	     !request->allocated)) {
		*ret_request = request;
		return 0;
	}
	return new_request(builder, record, ret_request);
}

/* Takes over the bios that go to the device with a request, wherever they were merged in. */
static int take_bios(struct clew_builder *builder, struct request *request)
{
	struct block_table *table = &builder->blocks;
	struct clew_block_request *block = &request->block;
	uint64_t at = block->sector, end = at + (block->bytes >> BLOCK_SECTOR_BITS);
	uint64_t last_upper = CLEW_NO_REQUEST;
	int r = 0;

	while (at < end && r >= 0) {
		struct bio *bio = block_bio_at(table, block->device, at, false);

		if (!bio || bio->bytes == 0)
			break;
		if (bio->queued < block->queued || block->submitter == CLEW_NO_TASK)
			take_bio(block, bio);
		if (bio->upper != CLEW_NO_REQUEST && bio->upper != last_upper) {
			struct clew_below below = {.upper = bio->upper, .lower = block->number};

			last_upper = bio->upper;
			r = build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_BELOW,
								      .below = &below});
		}
		at += bio->bytes >> BLOCK_SECTOR_BITS;
		take_flight(request, bio);
		block_bio_forget(table, bio);
	}
	return r;
}

static int feed_issue(struct clew_builder *builder, const struct clew_request *record,
		      struct request *request)
{
	struct block_table *table = &builder->blocks;
	struct clew_block_request *block = &request->block;
	struct disk *disk = block_disk(table, record->device);
	int r;

	if (!disk)
		return -ENOMEM;
	if ((record->operation & BLOCK_OPERATION) == BLOCK_FLUSH)
		disk->flush_issued = builder->now;
	if (CLEW_DEVICE_MAJOR(record->device) == BLOCK_LOOP_MAJOR)
		disk->issues[disk->next_issue++ % DISK_ISSUES] = (struct disk_issue){
			.at = builder->now,
			.task = build_nobody(record->task) ? CLEW_NO_TASK : record->task};
	if (block->issued)
		return 0;
	block->issued = builder->now;
	if ((record->operation & BLOCK_OPERATION) != BLOCK_FLUSH) {
		block->sector = record->sector;
		block->bytes = record->bytes;
	}
	r = list(builder, request);
	if (r >= 0 && record->bio && block->bytes && !block_bio_find(table, record->bio)) {
		request->orphan = record->bio;
		disk->orphans++;
	}
	return r < 0 ? r : take_bios(builder, request);
}

bool block_adopt(struct clew_builder *builder, struct bio *bio)
{
	struct disk *disk = block_disk(&builder->blocks, bio->device);

	for (struct request *request = disk && disk->orphans ? disk->first : NULL; request;
	     request = request->next) {
		if (request->orphan != bio->address || request->block.sector != bio->sector)
			continue;
		take_bio(&request->block, bio);
		take_flight(request, bio);
		request->block.queued = earlier(bio->queued, request->block.issued);
		request->orphan = 0;
		disk->orphans--;
		return true;
	}
	return false;
}

/* Remembers with the submitter that this request ended: it may wait for several. */
static int note_ended(struct clew_builder *builder, const struct request *request)
{
	struct task *task = build_nobody(request->block.submitter)
				    ? NULL
				    : build_task_find(builder, request->block.submitter);

	if (!task || task->state == TASK_DEAD)
		return 0;
	for (uint32_t i = task->ended_count; i > 0 && i + 8 > task->ended_count; i--) {
		if (task->ended[i - 1].number == request->block.number) {
			task->ended[i - 1].end = builder->now;
			return 0;
		}
	}
	if (task->ended_count >= BUILD_AND)
		return 0;
	if (task->ended_count == task->ended_capacity) {
		uint32_t capacity = task->ended_capacity ? task->ended_capacity * 2 : 8;
		struct clew_link *larger = realloc(task->ended, capacity * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		builder->blocks.memory += (capacity - task->ended_capacity) * sizeof(*larger);
		task->ended = larger;
		task->ended_capacity = capacity;
	}
	task->ended[task->ended_count++] = build_request_link(request, builder->now);
	return 0;
}

static int feed_request_complete(struct clew_builder *builder, const struct clew_request *record,
				 struct request *request)
{
	struct block_table *table = &builder->blocks;
	struct clew_block_request *block = &request->block;
	struct bio *bio = block_bio_find(table, record->bio);
	const struct disk *disk = block_disk(table, record->device);
	int r;

	if (request->first_completed == 0)
		request->first_completed = builder->now;
	request->done += record->bytes;
	/* A request that only waits for a flush ends without having been issued. One that is
	 * written and flushed ends twice. */
	if (!block->issued && disk && disk->flush_issued >= block->queued)
		request->flushed = disk->flush_issued;
	if (request->done < block->bytes && record->error == 0)
		return 0;
	block->completed = builder->now;
	if (!request->ended && bio && !block->issued) {
		take_flight(request, bio);
		block_bio_forget(table, bio);
	}
	block->again = request->ended;
	request->ended = true;
	unlist(builder, request);
	r = build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_SERVED,
						      .request = &request->block});
	if (r >= 0)
		r = land_flights(builder, request, builder->now);
	return r < 0 ? r : note_ended(builder, request);
}

/* A WHOLE record has what other requests get from their bios and their issue. */
static void take_whole(struct clew_block_request *block, const struct clew_request *record)
{
	block->sector = record->sector;
	block->bytes = record->bytes;
	block->queued = record->queued;
	block->issued = record->issued;
	block->submitter = build_nobody(record->task) ? CLEW_NO_TASK : record->task;
	block->inode = record->inode;
	block->file_device = record->file_device;
	block->index = UINT64_MAX;
	block->reason = CLEW_REQUEST_REASON_DIRECT;
}

int build_feed_request(struct clew_builder *builder, const struct clew_request *record)
{
	struct request *request;
	int r;

	if (record->header.flags == CLEW_REQUEST_PART)
		return block_feed_part(builder, record);
	r = request_of(builder, record, &request);
	if (r < 0)
		return r;
	switch (record->header.flags) {
	case CLEW_REQUEST_ISSUE:
		r = build_backing_issued(builder, record);
		return r < 0 ? r : feed_issue(builder, record, request);
	case CLEW_REQUEST_COMPLETE:
		return feed_request_complete(builder, record, request);
	case CLEW_REQUEST_WHOLE:
		take_whole(&request->block, record);
		r = build_flight_direct(builder, &request->block, record->offset);
		return r < 0 ? r : feed_request_complete(builder, record, request);
	case CLEW_REQUEST_MERGE:
		unlist(builder, request);
		request->merged = true;
		request->first_completed = builder->now;
		return 0;
	default:
		return 0;
	}
}

uint64_t block_upper_at(struct clew_builder *builder, uint64_t address, uint32_t bytes)
{
	struct request *request = latest_at(&builder->blocks, address);

	if (!request || request->ended)
		return CLEW_NO_REQUEST;
	request->covered += bytes;
	return request->block.number;
}

/*
 * A loop device's worker handles one request after the other. A bio of the worker serves
 * the oldest request of the same direction that is not yet covered by bios. A flush may
 * need any bio.
 */
uint64_t block_upper_of(struct clew_builder *builder, const struct bio *bio)
{
	struct task *task = bio->task == CLEW_NO_TASK ? NULL : build_task_find(builder, bio->task);
	uint32_t device = task ? build_loop_device(task) : 0;
	struct request *only = NULL, *match = NULL;
	struct disk *disk;

	if (!device || bio->device == device)
		return CLEW_NO_REQUEST;
	disk = block_disk(&builder->blocks, device);
	if (!disk || !disk->first)
		return CLEW_NO_REQUEST;
	only = disk->first == disk->last ? disk->first : NULL;
	for (struct request *request = disk->first; request && !match; request = request->next) {
		bool flush = (request->block.operation & BLOCK_OPERATION) == BLOCK_FLUSH;
		bool reads = (request->block.operation & BLOCK_OPERATION) == BLOCK_READ;

		if (reads == ((bio->operation & BLOCK_OPERATION) == BLOCK_READ) &&
		    (flush || request->covered < request->block.bytes))
			match = request;
	}
	match = match ? match : only;
	if (!match)
		return CLEW_NO_REQUEST;
	match->covered += bio->bytes;
	return match->block.number;
}

uint32_t build_issued_before(const struct clew_builder *builder, uint32_t task, uint64_t at)
{
	const struct block_table *table = &builder->blocks;
	uint32_t device = 0;
	uint64_t best = 0;

	for (size_t i = 0; i < table->disk_count; i++) {
		const struct disk *disk = &table->disks[i];

		for (unsigned k = 0; k < DISK_ISSUES; k++) {
			const struct disk_issue *issue = &disk->issues[k];

			if (issue->at > best && issue->at <= at && issue->at + LOOP_NEAR > at &&
			    issue->task == task) {
				best = issue->at;
				device = disk->device;
			}
		}
	}
	return device;
}

int build_blocks_finish(struct clew_builder *builder)
{
	struct block_table *table = &builder->blocks;
	int r = 0;

	for (size_t i = 0; i < table->requests.capacity && r >= 0; i++) {
		if (!table->requests.slots[i].used)
			continue;
		for (const struct request *request =
			     (struct request *)(uintptr_t)table->requests.slots[i].value;
		     request && r >= 0; request = request->older)
			r = request->merged ? 0 : send_request(builder, request);
	}
	/* Bios on devices without requests, for which other bios were made. */
	for (size_t i = 0; i < table->bios.capacity && r >= 0; i++) {
		const struct bio *bio = (struct bio *)(uintptr_t)table->bios.slots[i].value;
		struct clew_block_request block;

		if (!table->bios.slots[i].used || bio->number == CLEW_NO_REQUEST)
			continue;
		if (bio->flight)
			bio->flight->request = bio->number;
		block = (struct clew_block_request){.number = bio->number,
						    .sector = bio->sector,
						    .bytes = bio->bytes,
						    .device = bio->device,
						    .operation = bio->operation,
						    .queued = bio->queued,
						    .issued = later(bio->queued, bio->released)};
		take_bio(&block, bio);
		r = build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_REQUEST,
							      .request = &block});
	}
	return r;
}

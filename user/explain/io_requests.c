/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums over requests.
 *
 * A page's bytes count once for its file: in the request of the highest disk that
 * carries the page. Each disk's own count is a level.
 */
#include "explain/io_internal.h"
#include <errno.h>
#include <stdlib.h>

struct clew_io_device *io_device_of(struct sums *sums, uint32_t device)
{
	const uint64_t *known = map_get(&sums->device_places, device, 0);
	size_t count = sums->devices.count;

	if (known)
		return (struct clew_io_device *)sums->devices.data + *known;
	if (vector_reserve(&sums->devices, count + 1) < 0 ||
	    map_set(&sums->device_places, device, 0, count) < 0)
		return NULL;
	sums->devices.count++;
	((struct clew_io_device *)sums->devices.data)[count] =
		(struct clew_io_device){.device = device};
	return (struct clew_io_device *)sums->devices.data + count;
}

int io_add_level(struct sums *sums, uint32_t file, uint32_t task, uint32_t device, uint64_t bytes)
{
	uint64_t key = (uint64_t)file << 32 | task;
	const uint64_t *known = map_get(&sums->level_places, key, device);
	size_t at = known ? *known : sums->levels.count;
	struct clew_io_level *level;

	if (!known && (vector_reserve(&sums->levels, at + 1) < 0 ||
		       map_set(&sums->level_places, key, device, at) < 0))
		return -ENOMEM;
	level = (struct clew_io_level *)sums->levels.data + at;
	if (!known) {
		*level = (struct clew_io_level){.file = file, .task = task, .device = device};
		sums->levels.count++;
	}
	level->bytes += bytes;
	return 0;
}

static bool is_direct(const struct clew_block_request *block)
{
	return block->reason == CLEW_REQUEST_REASON_DIRECT;
}

static void count_moved(struct clew_io_file *file, const struct clew_block_request *block,
			uint64_t bytes)
{
	if (io_does(block, CLEW_REQUEST_READ))
		file->read_bytes += bytes;
	else if (io_does(block, CLEW_REQUEST_WRITE))
		file->written_bytes += bytes;
}

int io_find_uppers(struct sums *sums)
{
	sums->uppers = calloc(sums->request_count + 1, sizeof(*sums->uppers));
	if (!sums->uppers)
		return -ENOMEM;
	for (size_t i = 0; i < sums->request_count; i++)
		for (uint32_t k = 0; k < sums->requests[i].lower_count; k++)
			if (sums->requests[i].lower[k] < sums->request_count)
				sums->uppers[sums->requests[i].lower[k]] = i + 1;
	return 0;
}

/* True if the request was made below for one that carries pages of the same file. */
static bool is_below(const struct sums *sums, const struct clew_trace_request *request,
		     const struct clew_page_extent *extent)
{
	uint64_t upper = sums->uppers[request - sums->requests];
	const struct clew_trace_request *above = upper ? &sums->requests[upper - 1] : NULL;

	for (uint32_t i = 0; above && i < above->page_count; i++)
		if (above->pages[i].inode == extent->inode &&
		    above->pages[i].device == extent->device)
			return true;
	return false;
}

/* The part of an extent's bytes that the chosen tasks wrote; all of them if all are chosen. */
static uint64_t bytes_of_chosen(const struct sums *sums, const struct clew_page_extent *extent,
				uint64_t bytes)
{
	uint64_t part = 0;

	if (!sums->chosen->wants)
		return bytes;
	for (uint32_t i = 0; i < extent->writer_count; i++)
		if (clew_is_chosen(sums->chosen, sums->trace, extent->writers[i]))
			part += bytes / extent->writer_count;
	return part;
}

/* `bytes`: the extent's size on the disk. */
static int add_extent(struct sums *sums, const struct clew_trace_request *request,
		      const struct clew_page_extent *extent, uint64_t bytes)
{
	bool below = is_below(sums, request, extent);
	uint32_t device = request->block.device, number;
	uint64_t counted = bytes;
	int r = 0;

	if (io_file_of(sums, extent->inode, extent->device, request->block.queued, &number) < 0)
		return -ENOMEM;
	if (io_does(&request->block, CLEW_REQUEST_WRITE))
		counted = bytes_of_chosen(sums, extent, bytes);
	else if (!clew_is_chosen(sums->chosen, sums->trace, request->block.submitter))
		counted = 0;
	if (!below)
		count_moved(io_file_at(sums, number), &request->block, counted);
	if (!io_does(&request->block, CLEW_REQUEST_WRITE))
		return 0;
	if (extent->writer_count == 0 && !counted)
		return 0;
	if (extent->writer_count == 0) {
		io_file_at(sums, number)->unknown_bytes += below ? 0 : bytes;
		return io_add_level(sums, number, CLEW_NO_TASK, device, bytes);
	}
	for (uint32_t i = 0; i < extent->writer_count && r >= 0; i++) {
		uint64_t part = bytes / extent->writer_count;
		struct clew_io_share *share;

		if (!clew_is_chosen(sums->chosen, sums->trace, extent->writers[i]))
			continue;
		share = io_share_of(sums, number, extent->writers[i]);
		if (!share)
			return -ENOMEM;
		share->written_bytes += below ? 0 : part;
		share->passed_bytes += below || !extent->above ? 0 : part;
		r = io_add_level(sums, number, extent->writers[i], device, part);
	}
	return r;
}

/* Counts what the request moved at its device. NULL when memory runs out. */
static struct clew_io_device *count_device(struct sums *sums,
					   const struct clew_block_request *block)
{
	struct clew_io_device *device = io_device_of(sums, block->device);

	if (!device)
		return NULL;
	device->requests++;
	device->bytes[clew_request_operation(block->operation, block->bytes)] += block->bytes;
	if (block->reason < CLEW_REQUEST_REASON_COUNT &&
	    (io_does(block, CLEW_REQUEST_READ) || io_does(block, CLEW_REQUEST_WRITE)))
		device->reason_bytes[block->reason] += block->bytes;
	return device;
}

/* Adds the request's extents to their files. The sum of the pages may exceed what the request
 * moves, where extents are compressed: each then counts by its part. ret_bytes: what they add up
 * to. */
static int add_extents(struct sums *sums, const struct clew_trace_request *request,
		       uint64_t *ret_bytes)
{
	const struct clew_block_request *block = &request->block;
	uint64_t here = (uint64_t)(request - sums->requests), all = 0, sum = 0;
	int r = 0;

	for (uint32_t i = 0; i < request->page_count; i++)
		all += request->pages[i].bytes;
	for (uint32_t i = 0; i < request->page_count && r >= 0; i++) {
		const struct clew_page_extent *extent = &request->pages[i];
		uint64_t bytes =
			all > block->bytes ? extent->bytes * block->bytes / all : extent->bytes;
		const uint64_t *counted;
		uint32_t number;

		sum += bytes;
		r = add_extent(sums, request, extent, bytes);
		if (r < 0 ||
		    io_file_of(sums, extent->inode, extent->device, block->queued, &number) < 0)
			return -ENOMEM;
		counted = map_get(&sums->counted, number, 0);
		if (counted && *counted == here)
			continue;
		io_file_at(sums, number)->requests++;
		r = map_set(&sums->counted, number, 0, here);
	}
	*ret_bytes = sum;
	return r;
}

/* Direct I/O: no touch reports these bytes. */
static int add_direct(struct sums *sums, const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	struct clew_io_share *share;
	uint32_t number;

	if (io_file_of(sums, block->inode, block->file_device, block->queued, &number) < 0)
		return -ENOMEM;
	if (request->page_count == 0) {
		io_file_at(sums, number)->requests++;
		count_moved(io_file_at(sums, number), block, block->bytes);
	}
	if (!io_does(block, CLEW_REQUEST_WRITE))
		return 0;
	share = io_share_of(sums, number, block->submitter);
	if (!share)
		return -ENOMEM;
	share->asked_bytes += block->bytes;
	if (request->page_count == 0) {
		share->written_bytes += block->bytes;
		if (io_add_level(sums, number, block->submitter, block->device, block->bytes) < 0)
			return -ENOMEM;
	}
	io_file_at(sums, number)->asked_bytes += block->bytes;
	return 0;
}

int io_add_request(struct sums *sums, const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	struct clew_io_device *device;
	uint64_t of_files = 0;
	int r;

	if (!clew_request_is_chosen(sums->chosen, sums->trace, request))
		return 0;
	device = count_device(sums, block);
	if (!device)
		return -ENOMEM;
	r = add_extents(sums, request, &of_files);
	if (io_does(block, CLEW_REQUEST_WRITE))
		device->file_bytes += of_files;
	if (r < 0 || !is_direct(block) || !block->inode ||
	    !clew_is_chosen(sums->chosen, sums->trace, block->submitter))
		return r;
	return add_direct(sums, request);
}

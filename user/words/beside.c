/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that were in flight at a disk at the same time.
 *
 * Requests are sorted by when they were queued, and are in flight for a short
 * time: only a limited number of those queued earlier is searched.
 */
#include "words/beside.h"

#include "base/map.h"
#include "base/vector.h"
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "words/file.h"
#include "words/hosts.h"
#include "words/object.h"
#include "words/writers.h"

#define LOOKED_AT 4096

struct found {
	struct map seen;  /* indexes of requests that were counted */
	struct map files; /* file, or operation without data -> index in `sums` */
	struct vector sums;
	struct vector begins,
		ends; /* uint64_t: the begins and ends of the requests beside one segment */
};

static bool does(uint32_t operation, enum clew_request_operation what)
{
	return clew_request_operation(operation, 1) == what;
}

static bool moves_data(uint32_t operation)
{
	return !does(operation, CLEW_REQUEST_DISCARD) && !does(operation, CLEW_REQUEST_ZEROES);
}

static int add(struct found *found, const struct clew_block_request *block, uint32_t place,
	       struct clew_beside *beside)
{
	/* Not the number of any file's inode. */
	uint64_t file = moves_data(block->operation)
				? block->inode
				: UINT64_MAX - clew_request_operation(block->operation, 1);
	const uint64_t *known = map_get(&found->files, file, block->file_device);
	struct clew_beside_file *sums;
	size_t at = known ? *known : found->sums.count;
	int r = map_set(&found->seen, place, 0, 1);

	if (r >= 0 && !known) {
		r = vector_reserve(&found->sums, at + 1);
		if (r >= 0)
			r = map_set(&found->files, file, block->file_device, at);
		if (r >= 0) {
			sums = found->sums.data;
			sums[at] = (struct clew_beside_file){.inode = block->inode,
							     .file_device = block->file_device,
							     .example = place,
							     .operation = block->operation};
			found->sums.count++;
		}
	}
	if (r < 0)
		return r;
	sums = (struct clew_beside_file *)found->sums.data + at;
	sums->bytes += block->bytes;
	sums->requests++;
	beside->bytes += block->bytes;
	beside->requests++;
	return 0;
}

static int compare_moments(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The most that were in flight at one moment of a segment. */
static uint32_t at_once(struct found *found)
{
	const uint64_t *begins = found->begins.data, *ends = found->ends.data;
	size_t count = found->begins.count, over = 0, most = 0;

	if (count == 0)
		return 0;
	qsort(found->begins.data, count, sizeof(*begins), compare_moments);
	qsort(found->ends.data, count, sizeof(*ends), compare_moments);
	for (size_t i = 0; i < count; i++) {
		while (over < i && ends[over] <= begins[i])
			over++;
		most = i + 1 - over > most ? i + 1 - over : most;
	}
	return (uint32_t)most;
}

static int add_moments(struct found *found, uint64_t begin, uint64_t end)
{
	size_t count = found->begins.count;

	if (vector_reserve(&found->begins, count + 1) < 0 ||
	    vector_reserve(&found->ends, count + 1) < 0)
		return -ENOMEM;
	((uint64_t *)found->begins.data)[found->begins.count++] = begin;
	((uint64_t *)found->ends.data)[found->ends.count++] = end;
	return 0;
}

static int look_before(const struct clew_trace *trace, const struct clew_segment *segment,
		       const struct clew_link *link, struct found *found,
		       struct clew_beside *beside)
{
	const struct clew_block_request *own;
	uint64_t before;
	uint32_t most;
	size_t count, low = 0, high;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);
	int r = 0;

	/* A request that an I/O limit holds back has not reached the disk yet. */
	if (!link || link->kind != CLEW_LINK_REQUEST || link->number >= count ||
	    segment->kind == CLEW_WAIT_THROTTLE)
		return 0;
	own = &requests[link->number].block;
	before = own->issued && own->issued <= segment->start ? own->issued : segment->end;
	found->begins.count = found->ends.count = 0;
	for (high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (requests[middle].block.queued < before)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low;
	     i-- > 0 && i + LOOKED_AT >= low && requests[i].over > segment->start && r >= 0;) {
		const struct clew_block_request *block = &requests[i].block;
		uint64_t begin = block->issued > segment->start ? block->issued : segment->start,
			 until = requests[i].until;

		if (block->device != own->device || i == link->number || !block->issued ||
		    !clew_hosts_same(trace, segment->task, block->submitter) ||
		    block->issued >= before || until <= segment->start ||
		    (!block->completed && until <= begin) || block->bytes == 0)
			continue;
		r = add_moments(found, begin, until);
		if (r >= 0 && !map_get(&found->seen, i, 0))
			r = add(found, block, (uint32_t)i, beside);
	}
	most = at_once(found);
	beside->at_once = most > beside->at_once ? most : beside->at_once;
	return r;
}

static void keep_largest(const struct found *found, struct clew_beside *beside)
{
	const struct clew_beside_file *sums = found->sums.data;

	for (size_t i = 0; i < found->sums.count; i++) {
		uint32_t at = beside->file_count;

		while (at > 0 && beside->files[at - 1].bytes < sums[i].bytes)
			at--;
		if (at == CLEW_BESIDE_SHOWN)
			continue;
		if (beside->file_count < CLEW_BESIDE_SHOWN)
			beside->file_count++;
		memmove(&beside->files[at + 1], &beside->files[at],
			(beside->file_count - at - 1) * sizeof(beside->files[0]));
		beside->files[at] = sums[i];
	}
}

int clew_beside_find(const struct clew_trace *trace, const struct clew_segment *const *segments,
		     size_t count, struct clew_beside *ret_beside)
{
	struct found found = {.sums = {.item = sizeof(struct clew_beside_file)},
			      .begins = {.item = sizeof(uint64_t)},
			      .ends = {.item = sizeof(uint64_t)}};
	struct clew_beside beside = {0};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = look_before(trace, segments[i], segments[i]->link, &found, &beside);
	/*
	 * People know the disk that was asked by its name. The disks below it
	 * count only where no other request was at that one.
	 */
	for (size_t i = 0; i < count && r >= 0 && !beside.requests; i++)
		r = look_before(trace, segments[i], segments[i]->below, &found, &beside);
	keep_largest(&found, &beside);
	map_done(&found.seen);
	map_done(&found.files);
	vector_done(&found.sums);
	vector_done(&found.begins);
	vector_done(&found.ends);
	if (r < 0)
		return r;
	*ret_beside = beside;
	return 0;
}

static uint64_t queued_at(const struct clew_trace *trace, const struct clew_beside_file *file)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	return file->example < count ? requests[file->example].block.queued : CLEW_TIME_OPEN;
}

void clew_print_beside(FILE *out, const struct clew_trace *trace, const struct clew_beside *beside)
{
	uint64_t told = 0, data = beside->bytes;

	if (!beside->requests)
		return;
	for (uint32_t i = 0; i < beside->file_count; i++)
		if (!moves_data(beside->files[i].operation))
			data -= beside->files[i].bytes;
	fprintf(out, ", behind %s%u other request%s there%s",
		beside->at_once > 1 && beside->at_once < beside->requests ? "up to " : "",
		beside->at_once, beside->at_once == 1 ? "" : "s",
		beside->at_once < beside->requests ? " at a time, in all " : ": ");
	for (uint32_t i = 0; i < beside->file_count; i++) {
		const struct clew_beside_file *file = &beside->files[i];

		/*
		 * Small shares are left out. A discard is compared with
		 * discards: a large one moves less data than a small write.
		 */
		if (i && file->bytes < (moves_data(file->operation) ? data : beside->bytes) / 8)
			continue;
		fprintf(out, "%s%s%s", i ? "; " : "", CLEW_BYTES(file->bytes),
			moves_data(file->operation) ? " for " : "");
		if (!moves_data(file->operation))
			fputs(does(file->operation, CLEW_REQUEST_DISCARD) ? " discarded"
									  : " zeroed",
			      out);
		else if (file->inode)
			clew_print_file(out, trace, file->file_device, file->inode,
					queued_at(trace, file));
		else
			fputs("an unknown file", out);
		clew_print_writers(out, trace, file->example);
		told += file->bytes;
	}
	if (told < beside->bytes)
		fprintf(out, "; %s for others", CLEW_BYTES(beside->bytes - told));
}

void clew_json_beside(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_beside *beside)
{
	clew_json_object(json, "beside");
	clew_json_unsigned(json, "requests", beside->requests);
	clew_json_unsigned(json, "at_once", beside->at_once);
	clew_json_unsigned(json, "bytes", beside->bytes);
	clew_json_array(json, "files");
	for (uint32_t i = 0; i < beside->file_count; i++) {
		const struct clew_beside_file *file = &beside->files[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "path",
				 clew_file_path(trace, file->file_device, file->inode,
						queued_at(trace, file)));
		clew_json_device(json, file->file_device);
		clew_json_unsigned(json, "ino", file->inode);
		clew_json_string(json, "op",
				 moves_data(file->operation)
					 ? NULL
					 : clew_request_operation_name(file->operation, 1));
		clew_json_unsigned(json, "requests", file->requests);
		clew_json_unsigned(json, "bytes", file->bytes);
		clew_json_request_writers(json, trace, file->example);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_object_end(json);
}

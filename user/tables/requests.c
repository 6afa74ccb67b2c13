/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of block requests, and of whose pages of files each carries. */
#include <clew/tokens.h>

#include "tables/internal.h"
#include "trace/name.h"
#include "words/file.h"
#include "words/object.h"

enum {
	REQUEST_ID,
	REQUEST_DEVICE,
	REQUEST_OP,
	REQUEST_SECTOR,
	REQUEST_BYTES,
	REQUEST_QUEUED,
	REQUEST_ISSUED,
	REQUEST_COMPLETED,
	REQUEST_QUEUE_NS,
	REQUEST_DEVICE_NS,
	REQUEST_TID,
	REQUEST_COMM,
	REQUEST_REASON,
	REQUEST_REASON_TID,
	REQUEST_REASON_BY,
	REQUEST_PATH,
	REQUEST_WOKE
};

static const struct clew_column request_columns[] = {
	[REQUEST_ID] = CLEW_INTEGER("id", "number of the request"),
	[REQUEST_DEVICE] = CLEW_TEXT("device", "name of the disk"),
	[REQUEST_OP] = CLEW_TEXT("op", "read, write, flush, discard, .."),
	[REQUEST_SECTOR] = CLEW_INTEGER("sector", "of 512 bytes; NULL: a flush has none"),
	[REQUEST_BYTES] = CLEW_INTEGER("bytes", "its size"),
	[REQUEST_QUEUED] = CLEW_INTEGER("queued", "when it was made; NULL unknown"),
	[REQUEST_ISSUED] = CLEW_INTEGER("issued", "when the device got it; NULL never"),
	[REQUEST_COMPLETED] = CLEW_INTEGER("completed", "when it was done; NULL not seen"),
	[REQUEST_QUEUE_NS] = CLEW_INTEGER("queue_ns", "from queued to issued"),
	[REQUEST_DEVICE_NS] = CLEW_INTEGER("device_ns", "from issued to completed"),
	[REQUEST_TID] = CLEW_INTEGER("tid", "the thread that submitted it"),
	[REQUEST_COMM] = CLEW_TEXT("comm", "name of that thread"),
	[REQUEST_REASON] = CLEW_TEXT("reason", "why it was made, as in clew requests"),
	[REQUEST_REASON_TID] = CLEW_INTEGER("reason_tid", "the thread that made it necessary"),
	[REQUEST_REASON_BY] = CLEW_TEXT("reason_by", "name of that thread"),
	[REQUEST_PATH] = CLEW_TEXT("path", "the file whose page comes first in it"),
	[REQUEST_WOKE] = CLEW_INTEGER("woke", "how many threads its end woke"),
	{},
};

static size_t request_count(struct table_source *source)
{
	size_t count;

	clew_trace_requests(source->trace, &count);
	return count;
}

static const struct clew_trace_request *request_at(const struct table_source *source, size_t item)
{
	size_t count;

	return clew_trace_requests(source->trace, &count) + item;
}

static size_t request_parts(const struct table_source *source, size_t item)
{
	const struct clew_trace_request *request = request_at(source, item);
	uint64_t start = request->block.queued ?: request->block.issued;

	return start <= source->to && request->until >= source->from &&
	       clew_request_is_chosen(&source->chosen, source->trace, request);
}

static const char *path_of(const struct table_source *source, uint32_t device, uint64_t inode,
			   uint64_t at)
{
	const char *path = inode ? clew_file_path(source->trace, device, inode, at) : NULL;

	return path && path[0] ? path : NULL;
}

/* Columns about times. */
static void request_time_value(const struct clew_block_request *block, unsigned column,
			       struct clew_cell *value)
{
	switch (column) {
	case REQUEST_QUEUED:
		clew_set_known(value, block->queued, 0);
		break;
	case REQUEST_ISSUED:
		clew_set_known(value, block->issued, 0);
		break;
	case REQUEST_COMPLETED:
		clew_set_known(value, block->completed, 0);
		break;
	case REQUEST_QUEUE_NS:
		if (block->queued && block->issued >= block->queued)
			clew_set_number(value, block->issued - block->queued);
		break;
	case REQUEST_DEVICE_NS:
		if (block->issued && block->completed >= block->issued)
			clew_set_number(value, block->completed - block->issued);
		break;
	}
}

static void request_plain_value(const struct table_source *source,
				const struct clew_trace_request *request, unsigned column,
				struct clew_cell *value)
{
	const struct clew_block_request *block = &request->block;

	switch (column) {
	case REQUEST_OP:
		clew_set_string(value, clew_request_operation_name(block->operation, block->bytes));
		break;
	case REQUEST_SECTOR:
		if (clew_has_sector(block))
			clew_set_number(value, block->sector);
		break;
	case REQUEST_BYTES:
		clew_set_number(value, block->bytes);
		break;
	case REQUEST_TID:
		clew_set_tid(source->trace, block->submitter, value);
		break;
	case REQUEST_COMM:
		clew_set_comm(source->trace, block->submitter, block->queued, value);
		break;
	case REQUEST_REASON:
		clew_set_string(value, clew_request_reason_name(block->reason));
		break;
	case REQUEST_REASON_TID:
		clew_set_tid(source->trace, block->reason_task, value);
		break;
	case REQUEST_REASON_BY:
		clew_set_comm(source->trace, block->reason_task, block->queued, value);
		break;
	case REQUEST_PATH:
		clew_set_string(value,
				path_of(source, block->file_device, block->inode, block->queued));
		break;
	case REQUEST_WOKE:
		clew_set_number(value, request->woke_count);
		break;
	}
}

static int request_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_trace_request *request = request_at(source, cursor->item);

	if (column == REQUEST_ID)
		clew_set_number(value, cursor->item);
	else if (column == REQUEST_DEVICE)
		return clew_set_copy(&cursor->text, CLEW_DISK(source->trace, request->block.device),
				     value);
	else if (column >= REQUEST_QUEUED && column <= REQUEST_DEVICE_NS)
		request_time_value(&request->block, column, value);
	else
		request_plain_value(source, request, column, value);
	return 0;
}

const struct table table_requests = {.name = "requests",
				     .meaning = "block requests",
				     .columns = request_columns,
				     .count = request_count,
				     .parts = request_parts,
				     .value = request_value};

/* ---- whose pages they carry ---- */

enum {
	FILE_REQUEST,
	FILE_PATH,
	FILE_OFFSET,
	FILE_BYTES,
	FILE_DIRTIED,
	FILE_WRITER_TID,
	FILE_WRITER
};

static const struct clew_column file_columns[] = {
	[FILE_REQUEST] = CLEW_INTEGER("request", "the request, requests.id"),
	[FILE_PATH] = CLEW_TEXT("path", "a file of which it carries a range"),
	[FILE_OFFSET] = CLEW_INTEGER("offset", "of the range in the file, bytes"),
	[FILE_BYTES] = CLEW_INTEGER("bytes", "length of the range"),
	[FILE_DIRTIED] = CLEW_INTEGER("dirtied", "when the first of it was written to memory"),
	[FILE_WRITER_TID] = CLEW_INTEGER(
		"writer_tid",
		"a thread that wrote to it since it was clean, a row each; NULL unknown"),
	[FILE_WRITER] = CLEW_TEXT("writer", "name of that thread"),
	{},
};

/* A range has a row for each writer, and one if none is known. */
static size_t rows_of(const struct clew_page_extent *extent)
{
	return extent->writer_count ?: 1;
}

static size_t file_parts(const struct table_source *source, size_t item)
{
	const struct clew_trace_request *request = request_at(source, item);
	size_t rows = 0;

	if (!request_parts(source, item))
		return 0;
	for (uint32_t i = 0; i < request->page_count; i++)
		rows += rows_of(&request->pages[i]);
	return rows;
}

static int file_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_trace_request *request = request_at(source, cursor->item);
	const struct clew_page_extent *extent = request->pages;
	size_t writer = cursor->part;
	uint32_t task;

	for (; writer >= rows_of(extent); extent++)
		writer -= rows_of(extent);
	task = extent->writer_count ? extent->writers[writer] : CLEW_NO_TASK;
	switch (column) {
	case FILE_REQUEST:
		clew_set_number(value, cursor->item);
		break;
	case FILE_PATH:
		clew_set_string(value, path_of(source, extent->device, extent->inode,
					       request->block.queued));
		break;
	case FILE_OFFSET:
		clew_set_number(value, extent->offset);
		break;
	case FILE_BYTES:
		clew_set_number(value, extent->bytes);
		break;
	case FILE_DIRTIED:
		clew_set_known(value, extent->dirtied, 0);
		break;
	case FILE_WRITER_TID:
		clew_set_tid(source->trace, task, value);
		break;
	case FILE_WRITER:
		clew_set_comm(source->trace, task, request->block.queued, value);
		break;
	}
	return 0;
}

const struct table table_request_files = {
	.name = "request_files",
	.meaning = "ranges of files that requests carry, and who wrote to them",
	.columns = file_columns,
	.count = request_count,
	.parts = file_parts,
	.value = file_value};

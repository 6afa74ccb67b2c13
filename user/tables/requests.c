/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of block requests, and of whose pages of files each carries. */
#include <clew/tokens.h>

#include "answers/requests/requests.h"
#include "tables/internal.h"
#include "words/file.h"

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

static const void *request_item(const struct table_source *source, size_t item)
{
	return request_at(source, item);
}

const struct table table_requests = {.name = "requests",
				     .meaning = "block requests",
				     .columns = clew_request_columns,
				     .count = request_count,
				     .parts = request_parts,
				     .item = request_item};

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

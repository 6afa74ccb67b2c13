/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The columns of requests: what their list, JSON, CSV and SQL have. */
#include <clew/tokens.h>

#include "answers/requests/internal.h"
#include "answers/requests/requests.h"
#include "trace/name.h"
#include "words/file.h"
#include "words/object.h"

static int of_device(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	return clew_set_copy(&row->text, CLEW_DISK(row->trace, request->block.device), value);
}

static int of_op(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_string(
		value, clew_request_operation_name(request->block.operation, request->block.bytes));
	return 0;
}

static int of_sector(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	if (clew_has_sector(&request->block))
		clew_set_number(value, request->block.sector);
	return 0;
}

static int of_bytes(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_number(value, request->block.bytes);
	return 0;
}

static int of_queued(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_known(value, request->block.queued, 0);
	return 0;
}

static int of_issued(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_known(value, request->block.issued, 0);
	return 0;
}

static int of_completed(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_known(value, request->block.completed, 0);
	return 0;
}

static int of_queue_ns(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;
	const struct clew_block_request *block = &request->block;

	if (block->queued && block->issued >= block->queued)
		clew_set_number(value, block->issued - block->queued);
	return 0;
}

static int of_device_ns(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;
	const struct clew_block_request *block = &request->block;

	if (block->issued && block->completed >= block->issued)
		clew_set_number(value, block->completed - block->issued);
	return 0;
}

static int of_tid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_tid(row->trace, request->block.submitter, value);
	return 0;
}

static int of_comm(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_comm(row->trace, request->block.submitter, request->block.queued, value);
	return 0;
}

static int of_reason(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_string(value, clew_request_reason_name(request->block.reason));
	return 0;
}

static int of_reason_tid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_tid(row->trace, request->block.reason_task, value);
	return 0;
}

static int of_reason_by(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_comm(row->trace, request->block.reason_task, request->block.queued, value);
	return 0;
}

static int of_path(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;
	const struct clew_block_request *block = &request->block;
	const char *path = block->inode ? clew_file_path(row->trace, block->file_device,
							 block->inode, block->queued)
					: NULL;

	clew_set_string(value, path && path[0] ? path : NULL);
	return 0;
}

static int of_woke(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_trace_request *request = row->item;

	clew_set_number(value, request->woke_count);
	return 0;
}

const struct clew_column clew_request_columns[] = {
	CLEW_INTEGER("id", "number of the request", .value = clew_row_number),
	{.name = "dev", .json = request_json_dev},
	CLEW_TEXT("device", "name of the disk", .value = of_device),
	CLEW_TEXT("op", "read, write, flush, discard, ..", .value = of_op),
	CLEW_INTEGER("sector", "of 512 bytes; NULL: a flush has none", .value = of_sector,
		     .json = request_json_sector),
	CLEW_INTEGER("bytes", "its size", .value = of_bytes, .json = clew_json_column),
	{.name = "op", .value = of_op, .json = clew_json_column},
	CLEW_INTEGER("queued", "when it was made; NULL unknown", .value = of_queued,
		     .json = clew_json_column, .print = request_print_queued),
	{.name = "object", .print = request_print_object},
	{.name = "submitter", .print = request_print_submitter},
	{.name = "limit", .json = request_json_limit, .print = request_print_limit},
	CLEW_INTEGER("issued", "when the device got it; NULL never", .value = of_issued,
		     .json = clew_json_column),
	CLEW_INTEGER("completed", "when it was done; NULL not seen", .value = of_completed,
		     .json = clew_json_column),
	{.name = "end_lost", .json = request_json_end_lost, .print = request_print_times},
	CLEW_INTEGER("queue_ns", "from queued to issued", .value = of_queue_ns),
	CLEW_INTEGER("device_ns", "from issued to completed", .value = of_device_ns),
	{.name = "submitter", .json = request_json_submitter},
	CLEW_INTEGER("tid", "the thread that submitted it", .value = of_tid),
	CLEW_TEXT("comm", "name of that thread", .value = of_comm),
	{.name = "lower", .json = request_json_lower, .print = request_print_lower},
	CLEW_TEXT("reason", "why it was made, as in clew requests", .value = of_reason,
		  .json = clew_json_column),
	{.name = "reason_by", .json = request_json_reason_by},
	CLEW_INTEGER("reason_tid", "the thread that made it necessary", .value = of_reason_tid),
	CLEW_TEXT("reason_by", "name of that thread", .value = of_reason_by),
	{.name = "woke", .print = request_print_woke},
	{.name = "pages", .json = request_json_pages, .print = request_print_pages},
	{.name = "woke", .json = request_json_woke},
	{.name = "index", .value = clew_row_number, .json = clew_json_column},
	CLEW_TEXT("path", "the file whose page comes first in it", .value = of_path,
		  .json = clew_json_column),
	CLEW_INTEGER("woke", "how many threads its end woke", .value = of_woke),
	{.name = "description", .json = request_json_description},
	{},
};

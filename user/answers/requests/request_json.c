/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields of a request in JSON. */
#include <clew/tokens.h>

#include "answers/requests/internal.h"
#include "answers/requests/requests.h"
#include "words/descriptors.h"
#include "words/file.h"
#include "words/limit.h"
#include "words/object.h"
#include "words/task.h"
#include "words/wait.h"

#define ONE_PAGE 4096 /* bytes */

/*
 * Describes what a writer of pages announced when it wrote them. For an extent
 * only the first page's moment is known; other pages may be from other calls.
 */
static void describe_writer(const struct request_words *words,
			    const struct clew_page_extent *extent,
			    struct clew_description *description)
{
	const struct clew_activity *activity = NULL;

	if (extent->writer_count && extent->known && extent->dirtied && extent->bytes <= ONE_PAGE)
		activity = clew_relations_at(words->relations, extent->writers[0], extent->dirtied);
	if (activity)
		clew_relations_describe(words->relations, extent->writers[0], extent->dirtied,
					description);
}

/* Prints a byte range of a file in the request, and its writers. `at`: when it was queued. */
static void json_extent(struct clew_json *json, const struct request_words *words,
			const struct clew_page_extent *extent, bool written, uint64_t at)
{
	struct clew_description description = {};

	clew_json_object(json, NULL);
	clew_json_string(json, "path",
			 clew_file_path(words->trace, extent->device, extent->inode, at));
	clew_json_device(json, extent->device);
	clew_json_unsigned(json, "ino", extent->inode);
	clew_json_unsigned(json, "offset", extent->offset);
	clew_json_unsigned(json, "bytes", extent->bytes);
	clew_json_unsigned(json, "sector", extent->sector);
	clew_json_array(json, "writers");
	for (uint32_t i = 0; i < extent->writer_count; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, words->trace, extent->writers[i],
				      words->requests[extent->request].block.queued);
		clew_json_bool(json, "in_flight", i >= extent->writer_count - extent->later_count);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	/* A write without known writers has no evidence. */
	clew_json_string(json, "evidence",
			 extent->known || !written ? clew_evidence_name(extent->evidence) : NULL);
	describe_writer(words, extent, &description);
	clew_json_description(json, &description);
	clew_json_object_end(json);
}

static void describe_request(const struct request_words *words,
			     const struct clew_trace_request *request,
			     struct clew_description *description)
{
	const struct clew_object object = {.kind = CLEW_OBJECT_REQUEST,
					   .number = (uint64_t)(request - words->requests)};

	clew_describe_object(words->trace, &object, request->block.queued, description);
	clew_relations_describe(words->relations, request->block.submitter, request->block.queued,
				description);
}

/* A task as it was when the request was queued. */
static void json_task(struct clew_json *json, const char *key, const struct clew_row *row,
		      uint32_t task)
{
	const struct clew_trace_request *request = row->item;

	clew_json_object(json, key);
	clew_json_task_fields(json, row->trace, task, request->block.queued);
	clew_json_object_end(json);
}

void request_json_dev(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	(void)column;
	clew_json_device(json, request->block.device);
}

void request_json_sector(struct clew_json *json, const struct clew_column *column,
			 struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	(void)column;
	clew_json_sector(json, &request->block);
}

void request_json_limit(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	(void)column;
	clew_json_limit(json, row->trace, &request->block);
}

void request_json_end_lost(struct clew_json *json, const struct clew_column *column,
			   struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	if (request->end_lost)
		clew_json_bool(json, column->name, true);
}

void request_json_submitter(struct clew_json *json, const struct clew_column *column,
			    struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	json_task(json, column->name, row, request->block.submitter);
}

void request_json_lower(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	clew_json_array(json, column->name);
	for (uint32_t i = 0; i < request->lower_count; i++)
		clew_json_unsigned(json, NULL, request->lower[i]);
	clew_json_array_end(json);
}

void request_json_reason_by(struct clew_json *json, const struct clew_column *column,
			    struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	json_task(json, column->name, row, request->block.reason_task);
}

void request_json_pages(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;
	const struct clew_block_request *block = &request->block;

	clew_json_array(json, column->name);
	for (uint32_t i = 0; i < request->page_count; i++)
		json_extent(json, row->context, &request->pages[i], request_writes(block),
			    block->queued);
	clew_json_array_end(json);
}

void request_json_woke(struct clew_json *json, const struct clew_column *column,
		       struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;
	const struct clew_block_request *block = &request->block;

	clew_json_array(json, column->name);
	for (uint32_t i = 0; i < request->woke_count; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, row->trace, request->woke[i],
				      block->completed ? block->completed : block->queued);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void request_json_description(struct clew_json *json, const struct clew_column *column,
			      struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;
	struct clew_description description = {};

	(void)column;
	describe_request(row->context, request, &description);
	clew_json_description(json, &description);
}

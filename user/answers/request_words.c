/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A block request in JSON and in words. See request_words.h. */
#include "answers/request_words.h"

#include <clew/tokens.h>
#include <stdio.h>
#include <string.h>

#include "format/text.h"
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

/* Prints a byte range of a file in the request, and its writers. */
/* `at`: when the request was queued. */
static void json_extent(struct clew_json *json, const struct request_words *words,
			const struct clew_page_extent *extent, bool written, uint64_t at)
{
	struct clew_description description = {};
	char device[32];

	snprintf(device, sizeof(device), "%u:%u", CLEW_DEVICE_MAJOR(extent->device),
		 CLEW_DEVICE_MINOR(extent->device));
	clew_json_object(json, NULL);
	clew_json_string(json, "path",
			 clew_file_path(words->trace, extent->device, extent->inode, at));
	clew_json_string(json, "dev", device);
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

static bool is_write(const struct clew_block_request *block)
{
	return !strcmp(clew_request_operation_name(block->operation, block->bytes), "write");
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

void request_json(struct clew_json *json, const struct request_words *words,
		  const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	struct clew_description description = {};
	const char *path = NULL;
	char device[32];

	snprintf(device, sizeof(device), "%u:%u", CLEW_DEVICE_MAJOR(block->device),
		 CLEW_DEVICE_MINOR(block->device));
	clew_json_object(json, NULL);
	clew_json_string(json, "dev", device);
	clew_json_sector(json, block);
	clew_json_unsigned(json, "bytes", block->bytes);
	clew_json_string(json, "op", clew_request_operation_name(block->operation, block->bytes));
	clew_json_known(json, "queued", block->queued, 0);
	clew_json_limit(json, words->trace, block);
	clew_json_known(json, "issued", block->issued, 0);
	clew_json_known(json, "completed", block->completed, 0);
	if (request->end_lost)
		clew_json_bool(json, "end_lost", true);
	clew_json_object(json, "submitter");
	clew_json_task_fields(json, words->trace, block->submitter, block->queued);
	clew_json_object_end(json);
	clew_json_array(json, "lower");
	for (uint32_t i = 0; i < request->lower_count; i++)
		clew_json_unsigned(json, NULL, request->lower[i]);
	clew_json_array_end(json);
	clew_json_string(json, "reason", clew_request_reason_name(block->reason));
	clew_json_object(json, "reason_by");
	clew_json_task_fields(json, words->trace, block->reason_task, block->queued);
	clew_json_object_end(json);
	clew_json_array(json, "pages");
	for (uint32_t i = 0; i < request->page_count; i++)
		json_extent(json, words, &request->pages[i], is_write(block), block->queued);
	clew_json_array_end(json);
	clew_json_array(json, "woke");
	for (uint32_t i = 0; i < request->woke_count; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, words->trace, request->woke[i],
				      block->completed ? block->completed : block->queued);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_unsigned(json, "index", (uint64_t)(request - words->requests));
	if (block->inode)
		path = clew_file_path(words->trace, block->file_device, block->inode,
				      block->queued);
	clew_json_string(json, "path", path && path[0] ? path : NULL);
	describe_request(words, request, &description);
	clew_json_description(json, &description);
	clew_json_object_end(json);
}

/* Prints its files, a line each, the first few. */
static void print_pages(const struct request_words *words, const struct clew_trace_request *request)
{
	enum { MOST_SHOWN = 4 };

	for (uint32_t i = 0; i < request->page_count && i < MOST_SHOWN; i++) {
		const struct clew_page_extent *extent = &request->pages[i];

		fputs("                 ", stdout);
		clew_print_file(stdout, words->trace, extent->device, extent->inode,
				request->block.queued);
		printf(" +%s, %s", CLEW_BYTES(extent->offset), CLEW_BYTES(extent->bytes));
		for (uint32_t k = 0; k < extent->writer_count; k++) {
			fputs(k ? ", " : ", written by ", stdout);
			clew_print_task(stdout, words->trace, extent->writers[k],
					request->block.queued);
			if (k >= extent->writer_count - extent->later_count)
				fputs(" (on its way)", stdout);
		}
		if (is_write(&request->block) && !extent->known)
			fputs(", written by unknown", stdout);
		putchar('\n');
	}
	if (request->page_count > MOST_SHOWN)
		printf("                 and %u more\n", request->page_count - MOST_SHOWN);
}

void request_print(const struct request_words *words, const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	struct clew_object object = {.kind = CLEW_OBJECT_REQUEST,
				     .number = (uint64_t)(request - words->requests),
				     .descriptor = -1};
	uint64_t start = clew_trace_start(words->trace),
		 queued = block->released > block->queued ? block->released : block->queued,
		 at = block->queued > start ? block->queued - start : 0;

	printf("+%-13s ", CLEW_OFFSET(at, clew_trace_end(words->trace) - start));
	clew_print_object(stdout, words->trace, &object, NULL);
	fputs(", by ", stdout);
	if (block->submitter == CLEW_NO_TASK)
		fputs("an unknown task", stdout);
	else
		clew_print_task(stdout, words->trace, block->submitter, block->queued);
	if (block->released) {
		if (block->released > block->queued)
			printf("; held back %s by ",
			       CLEW_DURATION(block->released - block->queued));
		else
			fputs("; held back by ", stdout);
		clew_print_limit(stdout, words->trace, block);
	}
	if (block->issued && block->queued)
		printf("; queued %s", CLEW_DURATION(block->issued - queued));
	if (block->issued && block->completed)
		printf(", in the device %s", CLEW_DURATION(block->completed - block->issued));
	else if (block->completed && block->queued)
		printf("; over after %s without being issued",
		       CLEW_DURATION(block->completed - block->queued));
	else if (!block->completed && request->end_lost)
		fputs("; its end was not recorded", stdout);
	else if (!block->completed)
		printf("; not over %s", clew_end_words(words->trace));
	if (request->lower_count)
		printf("; %u below", request->lower_count);
	for (uint32_t i = 0; i < request->woke_count; i++) {
		fputs(i ? ", " : "; woke ", stdout);
		clew_print_task(stdout, words->trace, request->woke[i], block->completed);
	}
	putchar('\n');
	print_pages(words, request);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The writers of a request's pages. */
#include "words/writers.h"

#include <string.h>

#include "words/task.h"

/* More names would not help a reader. */
#define WRITERS_SHOWN 8

static const struct clew_trace_request *request_at(const struct clew_trace *trace, uint64_t number)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	return number < count ? &requests[number] : NULL;
}

/* A request may carry pages of several files, but is named after one. */
static bool is_of_its_file(const struct clew_block_request *block,
			   const struct clew_page_extent *extent)
{
	return block->inode == 0 ||
	       (extent->inode == block->inode && extent->device == block->file_device);
}

size_t clew_request_writers(const struct clew_trace *trace, uint64_t number, uint32_t *tasks,
			    size_t most)
{
	const struct clew_trace_request *request = request_at(trace, number);
	size_t count = 0;

	for (uint32_t i = 0; request && i < request->page_count && count <= most; i++) {
		const struct clew_page_extent *extent = &request->pages[i];

		if (!is_of_its_file(&request->block, extent))
			continue;
		for (uint32_t k = 0; k < extent->writer_count && count <= most; k++) {
			size_t at = 0;

			while (at < count && tasks[at] < extent->writers[k])
				at++;
			if (at < count && tasks[at] == extent->writers[k])
				continue;
			if (count == most)
				return most + 1;
			memmove(&tasks[at + 1], &tasks[at], (count - at) * sizeof(*tasks));
			tasks[at] = extent->writers[k];
			count++;
		}
	}
	return count;
}

void clew_json_request_writers(struct clew_json *json, const struct clew_trace *trace,
			       uint64_t number)
{
	const struct clew_trace_request *request = request_at(trace, number);
	uint32_t tasks[WRITERS_SHOWN];
	size_t count = clew_request_writers(trace, number, tasks, WRITERS_SHOWN);

	clew_json_string(json, "reason",
			 request ? clew_request_reason_name(request->block.reason) : NULL);
	clew_json_array(json, "writers");
	for (size_t i = 0; i < count && i < WRITERS_SHOWN; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, tasks[i], request->block.queued);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

/* Prints all but `except`, after a word. Returns how many. */
static size_t print_tasks(FILE *out, const struct clew_trace *trace, const char *word,
			  uint64_t number, uint32_t except)
{
	const struct clew_trace_request *request = request_at(trace, number);
	uint32_t tasks[WRITERS_SHOWN];
	size_t count = clew_request_writers(trace, number, tasks, WRITERS_SHOWN), shown = 0;

	for (size_t i = 0; i < count && i < WRITERS_SHOWN; i++) {
		if (tasks[i] == except)
			continue;
		fputs(shown++ ? ", " : word, out);
		clew_print_task(out, trace, tasks[i], request->block.queued);
	}
	if (count > WRITERS_SHOWN)
		fputs(" and more", out);
	return shown;
}

void clew_print_writers(FILE *out, const struct clew_trace *trace, uint64_t number)
{
	const struct clew_trace_request *request = request_at(trace, number);

	if (!request || print_tasks(out, trace, " by ", number, CLEW_NO_TASK) ||
	    request->block.submitter == CLEW_NO_TASK)
		return;
	fputs(" by ", out);
	clew_print_task(out, trace, request->block.submitter, request->block.queued);
}

void clew_print_other_writers(FILE *out, const struct clew_trace *trace, uint64_t number)
{
	const struct clew_trace_request *request = request_at(trace, number);

	if (request)
		print_tasks(out, trace, ", written by ", number, request->block.submitter);
}

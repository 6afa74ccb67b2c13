/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the line about a request, and the lines about its files. */
#include "answers/requests/internal.h"
#include "format/text.h"
#include "words/file.h"
#include "words/limit.h"
#include "words/object.h"
#include "words/task.h"
#include "words/wait.h"

void request_print_queued(FILE *out, const struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;
	uint64_t queued = request->block.queued, start = clew_trace_start(row->trace);

	fprintf(out, "+%-13s ",
		CLEW_OFFSET(queued > start ? queued - start : 0,
			    clew_trace_end(row->trace) - start));
}

void request_print_object(FILE *out, const struct clew_row *row)
{
	struct clew_object object = {
		.kind = CLEW_OBJECT_REQUEST, .number = row->number, .descriptor = -1};

	clew_print_object(out, row->trace, &object, NULL);
}

void request_print_submitter(FILE *out, const struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	fputs(", by ", out);
	if (request->block.submitter == CLEW_NO_TASK)
		fputs("an unknown task", out);
	else
		clew_print_task(out, row->trace, request->block.submitter, request->block.queued);
}

void request_print_limit(FILE *out, const struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;
	const struct clew_block_request *block = &request->block;

	if (!block->released)
		return;
	if (block->released > block->queued)
		fprintf(out, "; held back %s by ", CLEW_DURATION(block->released - block->queued));
	else
		fputs("; held back by ", out);
	clew_print_limit(out, row->trace, block);
}

void request_print_times(FILE *out, const struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;
	const struct clew_block_request *block = &request->block;
	uint64_t queued = block->released > block->queued ? block->released : block->queued;

	if (block->issued && block->queued)
		fprintf(out, "; queued %s", CLEW_DURATION(block->issued - queued));
	if (block->issued && block->completed)
		fprintf(out, ", in the device %s", CLEW_DURATION(block->completed - block->issued));
	else if (block->completed && block->queued)
		fprintf(out, "; over after %s without being issued",
			CLEW_DURATION(block->completed - block->queued));
	else if (!block->completed && request->end_lost)
		fputs("; its end was not recorded", out);
	else if (!block->completed)
		fprintf(out, "; not over %s", clew_end_words(row->trace));
}

void request_print_lower(FILE *out, const struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	if (request->lower_count)
		fprintf(out, "; %u below", request->lower_count);
}

void request_print_woke(FILE *out, const struct clew_row *row)
{
	const struct clew_trace_request *request = row->item;

	for (uint32_t i = 0; i < request->woke_count; i++) {
		fputs(i ? ", " : "; woke ", out);
		clew_print_task(out, row->trace, request->woke[i], request->block.completed);
	}
}

/* Prints its files, a line each, the first few. */
void request_print_pages(FILE *out, const struct clew_row *row)
{
	enum { MOST_SHOWN = 4 };
	const struct clew_trace_request *request = row->item;

	putc('\n', out);
	for (uint32_t i = 0; i < request->page_count && i < MOST_SHOWN; i++) {
		const struct clew_page_extent *extent = &request->pages[i];

		fputs("                 ", out);
		clew_print_file(out, row->trace, extent->device, extent->inode,
				request->block.queued);
		fprintf(out, " +%s, %s", CLEW_BYTES(extent->offset), CLEW_BYTES(extent->bytes));
		for (uint32_t k = 0; k < extent->writer_count; k++) {
			fputs(k ? ", " : ", written by ", out);
			clew_print_task(out, row->trace, extent->writers[k], request->block.queued);
			if (k >= extent->writer_count - extent->later_count)
				fputs(" (on its way)", out);
		}
		if (request_writes(&request->block) && !extent->known)
			fputs(", written by unknown", out);
		putc('\n', out);
	}
	if (request->page_count > MOST_SHOWN)
		fprintf(out, "                 and %u more\n", request->page_count - MOST_SHOWN);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of traced functions as a table. */
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answers/spans/spans.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/dropped.h"
#include "words/frame.h"
#include "words/functions.h"
#include "words/ledger.h"
#include "words/task.h"

#define WIDTH 80

/* Appends how calls ended that did not return. */
static void put_reasons(FILE *out, const struct clew_calls_row *row)
{
	const char *between = "";

	for (unsigned i = CLEW_FRAME_RETURNED + 1; i < CLEW_FRAME_CLOSED_COUNT; i++) {
		if (!row->closed[i])
			continue;
		fprintf(out, "%s%" PRIu64 " %s", between, row->closed[i],
			clew_frame_closed_text(i));
		if (i == CLEW_FRAME_TAIL_CALL && row->jumped == row->closed[i])
			fputs(" (timed until then)", out);
		else if (i == CLEW_FRAME_TAIL_CALL && row->jumped)
			fprintf(out, " (%" PRIu64 " timed until then)", row->jumped);
		between = ", ";
	}
}

static void put_row_reasons(FILE *out, const void *context)
{
	put_reasons(out, context);
}

/* Prints in lines what `put` writes. */
static void print_lines(FILE *out, clew_text_print *put, const void *context, size_t indent)
{
	char *text = clew_text_of(put, context);

	if (text) {
		fprintf(out, "%*s", (int)indent, "");
		clew_print_wrapped(out, text, indent, indent, WIDTH);
	}
	free(text);
}

static void print_row(FILE *out, const struct clew_trace *trace, const struct clew_calls_row *row)
{
	fprintf(out, "%9s  %8" PRIu64 "  ", CLEW_DURATION(row->self), row->count);
	if (row->timed)
		fprintf(out, "%9s  %9s  %9s  ", CLEW_DURATION(clew_calls_percentile(row, .5)),
			CLEW_DURATION(clew_calls_percentile(row, .99)),
			CLEW_DURATION(clew_calls_percentile(row, 1)));
	else
		fprintf(out, "%9s  %9s  %9s  ", "-", "-", "-");
	clew_print_safe(out, clew_function_name(trace, row->function));
	fputc('\n', out);
	if (clew_calls_begun(row) > row->closed[CLEW_FRAME_RETURNED])
		print_lines(out, put_row_reasons, row, 23);
}

/* The trace and where its frames go. */
struct frame_list {
	const struct clew_trace *trace;
	FILE *out;
};

static void print_frame(void *context, const struct clew_trace_task *task,
			const struct clew_trace_frame *frame)
{
	const struct frame_list *list = context;
	const struct clew_trace *trace = list->trace;
	FILE *out = list->out;

	fprintf(out, "+%-13s ",
		CLEW_OFFSET(frame->start - clew_trace_start(trace),
			    clew_trace_end(trace) - clew_trace_start(trace)));
	fprintf(out, "%9s  ",
		frame->end == CLEW_TIME_OPEN	    ? "open"
		: frame->closed == CLEW_FRAME_POINT ? "-"
						    : CLEW_DURATION(frame->end - frame->start));
	clew_print_task(out, trace, task->serial, frame->start);
	fprintf(out, "  %*s", 2 * (frame->depth < 20 ? frame->depth : 20), "");
	clew_print_safe(out, clew_function_name(trace, frame->function));
	clew_print_frame_values(out, trace, frame);
	if (frame->closed != CLEW_FRAME_RETURNED && frame->closed != CLEW_FRAME_POINT)
		fprintf(out, " (%s%s)", frame->flags & CLEW_FRAME_INHERITED ? "inherited, " : "",
			frame_is_entry(frame) ? "only the entry is seen"
					      : clew_frame_closed_text(frame->closed));
	if (frame->flags & CLEW_FRAME_REPLACED)
		fputs(" (in the place of which is a logical span)", out);
	fputc('\n', out);
}

static void put_summary(FILE *out, const void *context)
{
	const struct clew_calls *calls = context;
	const struct clew_calls_row *all = &calls->all;
	uint64_t begun = clew_calls_begun(all), returned = all->closed[CLEW_FRAME_RETURNED];
	uint32_t points = 0, functions;

	for (uint32_t i = 0; i < calls->row_count; i++)
		points += calls->rows[i].points != 0;
	functions = calls->row_count - points;
	if (functions || !points)
		fprintf(out, "%" PRIu64 " call%s of %" PRIu32 " function%s", begun,
			begun == 1 ? "" : "s", functions, functions == 1 ? "" : "s");
	if (begun == returned) {
		fputs(begun ? ", all of which returned" : "", out);
	} else {
		fprintf(out, "; %" PRIu64 " returned (%.1f %%), ", returned,
			100. * (double)returned / (double)begun);
		put_reasons(out, all);
	}
	if (all->entries)
		fprintf(out, "; of %" PRIu64 " more only the entry was seen", all->entries);
	if (all->points)
		fprintf(out, "%s%" PRIu32 " probe%s of programs %s met %" PRIu64 " time%s",
			functions ? "; " : "", points, points == 1 ? "" : "s",
			points == 1 ? "was" : "were", all->points, all->points == 1 ? "" : "s");
	if (calls->outermost_probe)
		fprintf(out, "; clew's own probes took %s of the time in them",
			CLEW_DURATION(calls->outermost_probe));
}

void clew_print_calls(FILE *out, const struct clew_calls *calls, bool each)
{
	struct frame_list list = {.trace = calls->trace, .out = out};

	if (each)
		clew_calls_each(calls, print_frame, &list);
	if (each && calls->row_count)
		fputc('\n', out);
	if (calls->row_count)
		fprintf(out, "%9s  %8s  %9s  %9s  %9s  %s\n", "self", "calls", "p50", "p99", "max",
			"function");
	for (uint32_t i = 0; i < calls->row_count; i++)
		print_row(out, calls->trace, &calls->rows[i]);
	fputc('\n', out);
	print_lines(out, put_summary, calls, 0);
	clew_print_dropped(out, calls->trace);
	clew_print_ledger(out, calls->trace, calls->from, calls->to);
}

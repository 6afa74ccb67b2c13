/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lanes of the timeline: their spans. */
#include <errno.h>
#include <stdlib.h>

#include "page/class.h"
#include "page/lanes.h"
#include "relate/job.h"

/* The spans of one lane, in the columns that are written. */
struct columns {
	const struct lanes *lanes;
	struct vector spans; /* struct span */
	uint64_t end;	     /* of the last one, in units since lanes->from */
};

struct span {
	uint32_t gap, length; /* units */
	uint16_t text, other;
	uint8_t class;
};

/* Units since the start, rounded down, so that spans that touch each other still do. */
static uint64_t units(const struct lanes *lanes, uint64_t at)
{
	if (at < lanes->from)
		return 0;
	if (at > lanes->to)
		at = lanes->to;
	return (at - lanes->from) / lanes->unit;
}

static int add_span(struct columns *columns, uint64_t start, uint64_t end, struct span span)
{
	uint64_t from = units(columns->lanes, start), to = units(columns->lanes, end);
	int r;

	if (end <= columns->lanes->from || start >= columns->lanes->to)
		return 0;
	if (from < columns->end)
		from = columns->end;
	if (to < from)
		to = from;
	span.gap = (uint32_t)(from - columns->end);
	span.length = (uint32_t)(to - from);
	columns->end = to;
	r = vector_reserve(&columns->spans, columns->spans.count + 1);
	if (r >= 0)
		((struct span *)columns->spans.data)[columns->spans.count++] = span;
	return r;
}

static uint64_t part(const struct span *span, unsigned column)
{
	const uint64_t parts[] = {span->gap, span->length, span->class, span->text, span->other};

	return parts[column];
}

/* Writes the columns, byte by byte, and empties them. */
static int write_columns(struct columns *columns, struct packed *packed)
{
	static const uint8_t sizes[] = {4, 4, 1, 2, 2};
	const struct span *spans = columns->spans.data;
	size_t count = columns->spans.count;
	uint8_t *plane = malloc(count + 1);

	if (!plane)
		return -ENOMEM;
	for (unsigned column = 0; column < sizeof(sizes); column++)
		for (unsigned byte = 0; byte < sizes[column]; byte++) {
			for (size_t i = 0; i < count; i++)
				plane[i] = (uint8_t)(part(&spans[i], column) >> (8 * byte));
			packed_put(packed, plane, count);
		}
	free(plane);
	columns->spans.count = 0;
	columns->end = 0;
	return 0;
}

static int add_task(struct columns *columns, struct texts *texts, uint32_t task)
{
	const struct lanes *lanes = columns->lanes;
	uint64_t at = lanes->from, last = 0;
	struct clew_piece piece;
	int r = 0;

	if (clew_trace_task(lanes->trace, task)->birth > at)
		at = clew_trace_task(lanes->trace, task)->birth;
	for (; at < lanes->to && at >= last && r >= 0; at = piece.end) {
		struct span span = {};

		if (!clew_trace_piece(lanes->trace, task, at, false, &piece) || piece.end <= at)
			break;
		last = at;
		span.class = page_class_of_piece(lanes->trace, &piece);
		if (piece.kind == CLEW_PIECE_SLEEP) {
			r = texts_of_wait(texts, lanes->trace, piece.sleep, &span.text);
			span.other = (uint16_t)lanes_of_task(lanes, piece.sleep->ended_by);
		}
		if (r >= 0)
			r = add_span(columns, piece.start, piece.end, span);
	}
	return r;
}

/* The time of a logical span: a piece leads to the thread that ran it, or to who resumed it. */
static int add_job(struct columns *columns, const struct clew_jobs *jobs, uint32_t number)
{
	const struct lanes *lanes = columns->lanes;
	int r = 0;

	for (uint32_t i = clew_job_at(jobs, number)->first; i != CLEW_NO_NUMBER && r >= 0;
	     i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);
		uint32_t waker =
			piece->waker == CLEW_NO_NUMBER ? 0 : lanes_of_job(lanes, piece->waker);
		struct span span = {.other = (uint16_t)(waker ?: lanes_of_task(lanes, piece->task)),
				    .class = piece->kind == CLEW_JOB_RUNS     ? PAGE_RUNNING
					     : piece->kind == CLEW_JOB_QUEUED ? PAGE_READY
									      : PAGE_OTHERS};

		r = add_span(columns, piece->start, clew_trace_until(lanes->trace, piece->end),
			     span);
	}
	return r;
}

/* The runs on each CPU, in order of CPU and start. */
static int by_cpu(const void *left, const void *right)
{
	const struct clew_run *a = *(const struct clew_run *const *)left,
			      *b = *(const struct clew_run *const *)right;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static const struct clew_run **sort_runs(const struct lanes *lanes, size_t *ret_count)
{
	size_t count;
	const struct clew_run *runs = clew_trace_runs(lanes->trace, &count);
	const struct clew_run **sorted = calloc(count + 1, sizeof(struct clew_run *));

	*ret_count = 0;
	for (size_t i = 0; i < count && sorted; i++)
		if (runs[i].task != CLEW_NO_TASK && runs[i].end > lanes->from &&
		    runs[i].start < lanes->to)
			sorted[(*ret_count)++] = &runs[i];
	if (sorted)
		qsort(sorted, *ret_count, sizeof(struct clew_run *), by_cpu);
	return sorted;
}

static int write_cpus(struct lanes *lanes, struct columns *columns, struct packed *packed)
{
	size_t count, at = 0;
	const struct clew_run **runs = sort_runs(lanes, &count);
	int r = runs ? 0 : -ENOMEM;

	for (size_t i = 0; i < lanes->cpus && r >= 0; i++) {
		struct lane *lane = (struct lane *)lanes->lanes.data + i;

		for (; at < count && runs[at]->cpu <= lane->cpu && r >= 0; at++)
			r = add_span(columns, runs[at]->start, runs[at]->end,
				     (struct span){.class = PAGE_RUNNING,
						   .other = (uint16_t)lanes_of_task(
							   lanes, runs[at]->task)});
		lane->spans = (uint32_t)columns->spans.count;
		lanes->spans += lane->spans;
		if (r >= 0)
			r = write_columns(columns, packed);
	}
	free(runs);
	return r;
}

int lanes_write(struct lanes *lanes, struct texts *texts, struct packed *packed,
		void (*progress)(void *context, double done), void *context)
{
	struct columns columns = {.lanes = lanes, .spans.item = sizeof(struct span)};
	int r = write_cpus(lanes, &columns, packed);

	for (size_t i = lanes->cpus; i < lanes->lanes.count && r >= 0; i++) {
		struct lane *lane = (struct lane *)lanes->lanes.data + i;

		r = lane->job ? add_job(&columns, clew_trace_jobs(lanes->trace), lane->job - 1)
			      : add_task(&columns, texts, lane->task);
		lane->spans = (uint32_t)columns.spans.count;
		lanes->spans += lane->spans;
		if (r >= 0)
			r = write_columns(&columns, packed);
		if (progress)
			progress(context, (double)(i + 1) / (double)lanes->lanes.count);
	}
	vector_done(&columns.spans);
	return r;
}

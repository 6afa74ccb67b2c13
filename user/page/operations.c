/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The operations that a page explains, and how long all of them took. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "explain/classes.h"
#include "page/internal.h"

/* The buckets are over the lengths from the shortest operation to the longest. */
static void fill_histogram(struct page_histogram *histogram,
			   const struct clew_operation *operations, size_t count)
{
	double low, scale;

	*histogram = (struct page_histogram){.count = count};
	if (!count)
		return;
	histogram->greatest = operations[0].to - operations[0].from;
	histogram->least = operations[count - 1].to - operations[count - 1].from;
	histogram->p50 = operations[count / 2].to - operations[count / 2].from;
	histogram->p99 = operations[count / 100].to - operations[count / 100].from;
	low = log((double)histogram->least + 1);
	scale = PAGE_BUCKETS / (log((double)histogram->greatest + 1) - low + 1e-9);
	for (size_t i = 0; i < count; i++) {
		double length = (double)(operations[i].to - operations[i].from);
		int bucket = (int)((log(length + 1) - low) * scale);

		histogram->counts[bucket < PAGE_BUCKETS ? bucket : PAGE_BUCKETS - 1]++;
	}
}

static uint64_t life_within(const struct report *report, const struct clew_trace_task *task,
			    struct clew_operation *ret_life)
{
	ret_life->task = task->serial;
	ret_life->from = task->birth > report->from ? task->birth : report->from;
	ret_life->to = task->death < report->to ? task->death : report->to;
	return ret_life->to > ret_life->from ? ret_life->to - ret_life->from : 0;
}

static int longest_first(const void *left, const void *right)
{
	const struct clew_operation *a = left, *b = right;

	if (a->to - a->from != b->to - b->from)
		return a->to - a->from > b->to - b->from ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* The lives of the threads of the headline's program, the longest first. */
static int find_lives(const struct report *report, struct clew_operation **ret_lives,
		      size_t *ret_count)
{
	size_t tasks = clew_trace_task_count(report->trace), count = 0;
	struct clew_operation *lives = calloc(tasks + 1, sizeof(*lives));

	if (!lives)
		return -ENOMEM;
	for (size_t i = 0; i < tasks && report->program != UINT32_MAX; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(report->trace, i);

		if (clew_summary_program(&report->summary, report->trace, task->serial) ==
			    report->program &&
		    clew_is_chosen(&report->chosen, report->trace, task->serial) &&
		    life_within(report, task, &lives[count]))
			count++;
	}
	qsort(lives, count, sizeof(*lives), longest_first);
	*ret_lives = lives;
	*ret_count = count;
	return 0;
}

static int note_job(struct page *page, const struct clew_job *job)
{
	const struct clew_jobs *jobs = clew_trace_jobs(page->trace);

	return map_set(&page->paths, (uint64_t)(job - clew_job_at(jobs, 0)), LANES_JOBS, 1);
}

static int note_path(struct page *page, const struct clew_why *why)
{
	int r = map_set(&page->paths, why->task, LANES_TASKS, 1);

	if (r >= 0 && why->job)
		r = note_job(page, why->job);
	for (size_t i = 0; i < why->segment_count && r >= 0; i++) {
		const struct clew_segment *segment = &why->segments[i];

		if (segment->task != CLEW_NO_TASK)
			r = map_set(&page->paths, segment->task, LANES_TASKS, 1);
		for (const struct clew_job_hop *hop = segment->job_hops; hop && r >= 0;
		     hop = hop->up)
			r = note_job(page, hop->waker);
	}
	return r;
}

static int explain(struct page *page, struct page_operation *operation)
{
	const struct clew_operation *what = &operation->operation;
	struct clew_why *why = &operation->why;
	int r = clew_why_operation(page->trace, page->report->relations, what, why);

	if (r < 0)
		return r;
	for (size_t i = 0; i < why->segment_count; i++)
		operation->sums[page_class_of_kind(why->segments[i].kind)] +=
			clew_segment_length(&why->segments[i]);
	return note_path(page, why);
}

int page_operations_make(struct page *page)
{
	const struct report *report = page->report;
	struct clew_operation *found = NULL;
	size_t count;
	int r = clew_classes_slowest(page->trace, &report->chosen, report->from, report->to,
				     SIZE_MAX, &found, &count);

	if (r >= 0)
		fill_histogram(&page->histogram, found, count);
	if (r >= 0 && !count) {
		free(found);
		page->threads = true;
		r = find_lives(report, &found, &count);
	}
	if (count > page->options->slowest)
		count = page->options->slowest;
	page->operations = r < 0 ? NULL : calloc(count + 1, sizeof(*page->operations));
	if (!page->operations)
		r = -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		page->operations[i].operation = found[i];
		page->operation_count++;
		r = explain(page, &page->operations[i]);
	}
	free(found);
	return r;
}

void page_operations_done(struct page *page)
{
	for (size_t i = 0; i < page->operation_count; i++)
		clew_why_done(&page->operations[i].why);
	free(page->operations);
	map_done(&page->paths);
}

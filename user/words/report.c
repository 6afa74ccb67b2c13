/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gathers what one screen about a recording shows. See report.h. */
#include "words/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words/wait_key.h"

/* A share of a program's time below which nothing is worth a headline. */
#define LEAST_PERCENT 5

static int explain_operation(const struct report *report, struct report_operation *operation)
{
	const struct clew_operation *asked = &operation->operation;
	struct clew_tree tree = {};
	struct clew_why why = {};
	int r = clew_why_explain(report->trace, report->relations, asked->task, asked->from,
				 asked->to, &why);

	if (r >= 0)
		r = clew_tree_make(report->trace, report->relations, &why, CLEW_TREE_TASKS, &tree);
	if (r >= 0)
		r = clew_tree_tell(report->trace, &tree, operation->causes, REPORT_MOST_CAUSES,
				   &operation->cause_count);
	clew_tree_done(&tree);
	clew_why_done(&why);
	return r < 0 ? r : 0;
}

static int add_operations(struct report *report)
{
	struct clew_operation *operations;
	size_t count;
	int r = clew_operations(report->trace, report->chosen.wants, report->chosen.context, 0,
				report->from, report->to, REPORT_MOST_OPERATIONS, &operations,
				&count, &report->operation_total);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++) {
		report->operations[i].operation = operations[i];
		report->operation_count++;
		r = explain_operation(report, &report->operations[i]);
	}
	free(operations);
	return r;
}

static uint64_t length_within(const struct report *report, const struct clew_sleep *sleep)
{
	uint64_t start = sleep->start > report->from ? sleep->start : report->from,
		 end = sleep->end < report->to ? sleep->end : report->to;

	return end > start ? end - start : 0;
}

/* Adds up the waits that count as `spent`, of a program or (UINT32_MAX) of all, by object. */
static int sum_waits(const struct report *report, enum clew_spent spent, uint32_t program,
		     struct clew_sum **ret_sums, size_t *ret_count)
{
	const struct clew_trace *trace = report->trace;
	struct clew_sums sums = {};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct clew_sleep *sleep = &sleeps[i];
		uint64_t ns = length_within(report, sleep);
		uint32_t of = clew_summary_program(&report->summary, trace, sleep->task);

		if (!clew_is_chosen(&report->chosen, trace, sleep->task))
			continue;
		if (!ns || clew_spent_of(trace, sleep) != spent || of == UINT32_MAX ||
		    (program != UINT32_MAX && of != program))
			continue;
		r = clew_sums_add_wait(&sums, clew_wait_object_key(trace, sleep), ns, trace, sleep);
	}
	if (r == 0)
		r = clew_sums_make(&sums, ret_sums, ret_count);
	clew_sums_done(&sums);
	return r;
}

static int by_device(const void *left, const void *right)
{
	const struct report_disk *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->program < b->program ? -1 : a->program > b->program;
}

static int busiest_first(const void *left, const void *right)
{
	const struct report_disk *a = left, *b = right;

	if (a->busy_ns != b->busy_ns)
		return a->busy_ns > b->busy_ns ? -1 : 1;
	return by_device(a, b);
}

/* Makes one of the rows with the same device; `program` is the one with most time. */
static size_t merge_disks(struct report_disk *disks, size_t count)
{
	size_t kept = 0;

	for (size_t from = 0, to; from < count; from = to) {
		struct report_disk disk = {.device = disks[from].device, .program = UINT32_MAX};
		uint64_t most = 0, own = 0;

		for (to = from; to < count && disks[to].device == disk.device; to++) {
			own = to > from && disks[to].program == disks[to - 1].program ? own : 0;
			own += disks[to].busy_ns;
			if (own >= most) {
				most = own;
				disk.program = disks[to].program;
			}
			disk.busy_ns += disks[to].busy_ns;
			disk.bytes += disks[to].bytes;
			disk.requests++;
		}
		disks[kept++] = disk;
	}
	return kept;
}

static int add_disks(struct report *report)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(report->trace, &count);

	report->disks = calloc(count + 1, sizeof(*report->disks));
	if (!report->disks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct clew_block_request *block = &requests[i].block;

		if (!block->issued || block->completed < block->issued ||
		    block->issued > report->to || block->completed < report->from ||
		    !clew_request_is_chosen(&report->chosen, report->trace, &requests[i]))
			continue;
		report->disks[report->disk_count++] = (struct report_disk){
			.device = block->device,
			.program = clew_summary_program(&report->summary, report->trace,
							block->submitter),
			.busy_ns = block->completed - block->issued,
			.bytes = block->bytes,
		};
	}
	qsort(report->disks, report->disk_count, sizeof(*report->disks), by_device);
	report->disk_count = merge_disks(report->disks, report->disk_count);
	qsort(report->disks, report->disk_count, sizeof(*report->disks), busiest_first);
	return 0;
}

/* The running time of the chosen tasks by function, if functions were traced. */
static int add_functions(struct report *report)
{
	const struct clew_trace *trace = report->trace;
	size_t count;
	const struct clew_run *runs = clew_trace_runs(trace, &count);
	int r;

	if (!clew_trace_has_frames(trace))
		return 0;
	r = clew_function_sums_begin(trace, &report->functions);
	for (size_t i = 0; i < count && r == 0; i++) {
		uint64_t from = runs[i].start > report->from ? runs[i].start : report->from,
			 to = runs[i].end < report->to ? runs[i].end : report->to;

		if (runs[i].task != CLEW_NO_TASK &&
		    clew_is_chosen(&report->chosen, trace, runs[i].task))
			r = clew_function_sums_add(&report->functions, trace, runs[i].task, from,
						   to);
	}
	if (r == 0)
		clew_function_sums_sort(&report->functions);
	return r;
}

/* The program that computed longest; UINT32_MAX: none did. */
static uint32_t busiest_program(const struct clew_summary *summary)
{
	uint32_t found = UINT32_MAX;
	uint64_t most = 0;

	for (uint32_t i = 0; i < summary->count; i++) {
		uint64_t ns = summary->programs[i].spent[CLEW_SPENT_RUNNING];

		if (summary->programs[i].kernel || ns <= most)
			continue;
		most = ns;
		found = i;
	}
	return found;
}

/* Chooses what the headline is about. */
static void choose_headline(struct report *report)
{
	const struct clew_summary *summary = &report->summary;
	uint64_t most = 0, all = 0;

	report->program = UINT32_MAX;
	report->spent = CLEW_SPENT_RUNNING;
	for (uint32_t i = 0; i < summary->count; i++) {
		const struct clew_program *program = &summary->programs[i];

		if (program->kernel)
			continue;
		all += program->total;
		/* A parent that waits for its child does not say what the child waits for. */
		for (int spent = CLEW_SPENT_READY; spent < CLEW_SPENT_OTHER; spent++) {
			uint64_t ns = program->spent[spent];

			if (ns <= most || ns * 100 < program->total * LEAST_PERCENT)
				continue;
			most = ns;
			report->program = i;
			report->spent = (enum clew_spent)spent;
		}
	}
	/* A short wait of a small program is not what a recording is about. */
	if (most * 100 < all * LEAST_PERCENT || !most) {
		report->program = busiest_program(summary);
		report->spent = CLEW_SPENT_RUNNING;
	}
}

/* Finds who or what the headline's program waited for most. */
static int explain_headline(struct report *report)
{
	struct clew_sum *sums = NULL;
	uint64_t *had = NULL;
	size_t count = 0;
	int r;

	report->cause = report->wait = UINT32_MAX;
	if (report->program == UINT32_MAX || report->spent == CLEW_SPENT_RUNNING)
		return 0;
	if (report->spent != CLEW_SPENT_READY) {
		r = sum_waits(report, report->spent, report->program, &sums, &count);
		if (r == 0 && count)
			report->wait = sums[0].longest;
		free(sums);
		return r;
	}
	r = clew_summary_cpu(&report->summary, report->trace, report->program, report->from,
			     report->to, &had);
	for (uint32_t i = 0; r == 0 && i < report->summary.count; i++) {
		if (had[i] <= report->cause_ns)
			continue;
		report->cause_ns = had[i];
		report->cause = i;
	}
	free(had);
	return r;
}

int report_make(const struct clew_trace *trace, const struct clew_relations *relations,
		const struct clew_chosen *chosen, uint64_t from, uint64_t to,
		struct report *ret_report)
{
	int r;

	*ret_report = (struct report){
		.trace = trace, .relations = relations, .chosen = *chosen, .from = from, .to = to};
	clew_wall_base(trace, &ret_report->base);
	r = clew_summary_make(trace, chosen, from, to, &ret_report->summary);
	if (r == 0)
		r = add_operations(ret_report);
	if (r == 0)
		r = sum_waits(ret_report, CLEW_SPENT_DISK, UINT32_MAX, &ret_report->files,
			      &ret_report->file_count);
	if (r == 0)
		r = sum_waits(ret_report, CLEW_SPENT_LOCK, UINT32_MAX, &ret_report->locks,
			      &ret_report->lock_count);
	if (r == 0)
		r = add_disks(ret_report);
	if (r == 0)
		r = add_functions(ret_report);
	if (r == 0)
		choose_headline(ret_report);
	return r ? r : explain_headline(ret_report);
}

void report_done(struct report *report)
{
	for (size_t i = 0; i < report->operation_count; i++)
		for (size_t k = 0; k < report->operations[i].cause_count; k++)
			free(report->operations[i].causes[k].text);
	clew_summary_done(&report->summary);
	free(report->files);
	free(report->locks);
	free(report->disks);
	clew_function_sums_done(&report->functions);
}

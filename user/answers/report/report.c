/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gathers what one screen about a recording shows. See report.h. */
#include "answers/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/wait_groups.h"

/* A share of a program's time below which nothing is worth a headline. */
#define LEAST_PERCENT 5

int report_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct report_operation *operation)
{
	const struct clew_operation *asked = &operation->operation;
	struct clew_tree tree = {};
	struct clew_why why = {};
	int r = clew_why_explain(trace, relations, asked->task, asked->from, asked->to, &why);

	if (r >= 0)
		r = clew_tree_make(trace, relations, &why, CLEW_TREE_TASKS, &tree);
	if (r >= 0)
		r = clew_tree_tell(trace, &tree, operation->causes, REPORT_MOST_CAUSES,
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
		r = report_explain(report->trace, report->relations, &report->operations[i]);
	}
	free(operations);
	return r;
}

enum clew_spent report_spent_of(const struct report *report, const struct clew_sleep *sleep)
{
	return report->chosen.some ? clew_spent_within(report->trace, sleep)
				   : clew_spent_of(report->trace, sleep);
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
		uint64_t ns = report_length_within(sleep, report->from, report->to);
		uint32_t of = clew_summary_program(&report->summary, trace, sleep->task);

		if (!clew_is_chosen(&report->chosen, trace, sleep->task))
			continue;
		if (!ns || report_spent_of(report, sleep) != spent || of == UINT32_MAX ||
		    (program != UINT32_MAX && of != program))
			continue;
		r = clew_sums_add_wait(&sums, clew_wait_object_key(trace, sleep), ns, trace, sleep);
	}
	if (r == 0)
		r = clew_sums_make(&sums, ret_sums, ret_count);
	clew_sums_done(&sums);
	return r;
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

/*
 * True if a headline may be about a class of time. One about the whole machine is about what keeps
 * it busy or from its work: a parent that waits for its child does not say what the child waits
 * for, and a program that sleeps or waits for its threads may have nothing else to do.
 */
static bool may_head(const struct report *report, enum clew_spent spent)
{
	return spent < CLEW_SPENT_PIPE || report->chosen.some;
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
		for (int spent = CLEW_SPENT_READY; spent < CLEW_SPENT_COUNT; spent++) {
			uint64_t ns = program->spent[spent];

			if (ns <= most || ns * 100 < program->total * LEAST_PERCENT ||
			    !may_head(report, (enum clew_spent)spent))
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

/* Finds who had the CPU that the headline's program waited for. */
static int find_cause(struct report *report)
{
	uint64_t *had = NULL;
	int r;

	if (report->program == UINT32_MAX || report->spent != CLEW_SPENT_READY)
		return 0;
	r = clew_summary_cpu(&report->summary, report->trace, report->program, &had);
	for (uint32_t i = 0; r == 0 && i < report->summary.count; i++) {
		if (had[i] <= report->cause_ns)
			continue;
		report->cause_ns = had[i];
		report->cause = i;
	}
	free(had);
	return r;
}

/* Finds what the headline's program waited for most. */
static int find_wait(struct report *report)
{
	struct clew_sum *sums = NULL;
	size_t count = 0;
	int r;

	if (!report_wants_wait(report))
		return 0;
	r = sum_waits(report, report->spent, report->program, &sums, &count);
	if (r == 0 && count)
		report->wait = sums[0].longest;
	free(sums);
	return r;
}

int report_begin(const struct clew_trace *trace, const struct clew_relations *relations,
		 const struct clew_chosen *chosen, uint64_t from, uint64_t to,
		 struct clew_task_times *times, struct report *ret_report)
{
	int r;

	*ret_report = (struct report){.trace = trace,
				      .relations = relations,
				      .chosen = *chosen,
				      .from = from,
				      .to = to,
				      .cause = UINT32_MAX,
				      .wait = UINT32_MAX};
	clew_wall_base(trace, &ret_report->base);
	r = clew_summary_of(trace, times, &ret_report->summary);
	if (r < 0)
		return r;
	choose_headline(ret_report);
	return find_cause(ret_report);
}

/* Adds all that is found in the trace beside the times of tasks. */
static int add_found(struct report *report)
{
	struct vector shares = {};
	size_t count;
	int r = add_operations(report);

	report->waits = clew_trace_sleeps(report->trace, &count);
	if (r == 0)
		r = sum_waits(report, CLEW_SPENT_DISK, UINT32_MAX, &report->files,
			      &report->file_count);
	if (r == 0)
		r = sum_waits(report, CLEW_SPENT_LOCK, UINT32_MAX, &report->locks,
			      &report->lock_count);
	if (r == 0)
		r = report_find_disks(report->trace, &report->chosen, report->from, report->to,
				      NULL, &shares);
	if (r == 0)
		r = report_add_disks(report, &shares);
	vector_done(&shares);
	if (r == 0)
		r = add_functions(report);
	if (r == 0)
		r = find_wait(report);
	return r == 0 && report->chosen.some ? report_add_classes(report) : r;
}

int report_make(const struct clew_trace *trace, const struct clew_relations *relations,
		const struct clew_chosen *chosen, uint64_t from, uint64_t to,
		struct report *ret_report)
{
	struct clew_task_times times = {};
	int r = clew_task_times_gather(&times, trace, chosen, from, to, NULL);

	*ret_report = (struct report){};
	if (r == 0)
		r = report_begin(trace, relations, chosen, from, to, &times, ret_report);
	clew_task_times_done(&times);
	return r ? r : add_found(ret_report);
}

void report_done(struct report *report)
{
	for (size_t i = 0; i < report->operation_count; i++)
		for (size_t k = 0; k < report->operations[i].cause_count; k++)
			free(report->operations[i].causes[k].text);
	clew_classes_done(&report->classes);
	clew_summary_done(&report->summary);
	free(report->files);
	free(report->locks);
	free(report->disks);
	clew_function_sums_done(&report->functions);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The headline of a report, and what is found for it in a whole trace. */
#include "answers/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int report_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct report_operation *operation)
{
	const struct clew_operation *asked = &operation->operation;
	struct clew_tree tree = {};
	struct clew_why why = {};
	int r = clew_why_operation(trace, relations, asked, &why);

	if (r >= 0)
		r = clew_tree_make(trace, relations, &why, CLEW_TREE_TASKS, &tree);
	if (r >= 0)
		r = clew_tree_tell(trace, &tree, operation->causes, REPORT_MOST_CAUSES,
				   &operation->cause_count);
	operation->explained = true;
	clew_tree_done(&tree);
	clew_why_done(&why);
	return r < 0 ? r : 0;
}

int report_add_functions(struct report *report)
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

/* The class that makes up most of a program's time, of those that a headline may be about. */
static enum clew_spent most_of(const struct report *report, const struct clew_program *program)
{
	enum clew_spent most = CLEW_SPENT_RUNNING;

	for (int spent = CLEW_SPENT_RUNNING; spent < CLEW_SPENT_COUNT; spent++)
		if (program->spent[spent] > program->spent[most] &&
		    may_head(report, (enum clew_spent)spent))
			most = (enum clew_spent)spent;
	return most;
}

/* A program's time of which a headline may be about a part. */
static uint64_t worth_of(const struct report *report, const struct clew_program *program)
{
	uint64_t ns = 0;

	for (int spent = CLEW_SPENT_RUNNING; spent < CLEW_SPENT_COUNT; spent++)
		if (may_head(report, (enum clew_spent)spent))
			ns += program->spent[spent];
	return ns;
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
		all += worth_of(report, program);
		for (int spent = CLEW_SPENT_READY; spent < CLEW_SPENT_COUNT; spent++) {
			uint64_t ns = program->spent[spent];

			if (ns <= most || ns * 100 < program->total * REPORT_LEAST_PERCENT ||
			    !may_head(report, (enum clew_spent)spent))
				continue;
			most = ns;
			report->program = i;
			report->spent = (enum clew_spent)spent;
		}
	}
	/* A short wait of a small program is not what a recording is about. */
	if (most * 100 < all * REPORT_LEAST_PERCENT || !most) {
		report->program = busiest_program(summary);
		if (report->program != UINT32_MAX)
			report->spent = most_of(report, &summary->programs[report->program]);
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
				      .cause = UINT32_MAX};
	clew_wall_base(trace, &ret_report->base);
	r = clew_summary_of(trace, times, &ret_report->summary);
	if (r < 0)
		return r;
	choose_headline(ret_report);
	return find_cause(ret_report);
}

static void waits_done(struct report_waits *waits)
{
	free(waits->sums);
	clew_wait_groups_done(&waits->groups);
}

void report_done(struct report *report)
{
	for (size_t i = 0; i < report->operation_count; i++)
		for (size_t k = 0; k < report->operations[i].cause_count; k++)
			free(report->operations[i].causes[k].text);
	report_helps_done(&report->helps);
	free(report->machine);
	clew_classes_done(&report->classes);
	clew_summary_done(&report->summary);
	waits_done(&report->files);
	waits_done(&report->locks);
	waits_done(&report->headline);
	free(report->disks);
	clew_function_sums_done(&report->functions);
}

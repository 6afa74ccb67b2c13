/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a period of clew top, and finds all that its answers say. */
#include "cli/top/top_period.h"

#include <stdlib.h>
#include <unistd.h>

#include "answers/report/report_sum.h"
#include "cli/front/fail.h"
#include "cli/operand/open.h"

#define MOST_WAITS 40 /* each is explained */

/* `period` is first: the caller knows nothing of the rest. */
struct reading {
	struct top_period period;
	struct clew_selection selection; /* a copy, for this trace */
	uint32_t own;			 /* pid of this process, which is no part of the answer */
};

/* The chosen threads, but none of clew top itself. */
static bool wants(void *context, const struct clew_trace_task *task)
{
	struct reading *reading = context;

	return task->pid != reading->own && clew_selection_wants(&reading->selection, task);
}

static uint64_t age_of(void *context, const struct clew_sleep *sleep, bool *ret_longer)
{
	return ages_of(context, sleep, ret_longer);
}

static int find(struct reading *reading, struct ages *ages)
{
	struct top_period *period = &reading->period;
	const struct clew_trace *trace = period->trace;
	const struct report_asked asked = {.chosen = {.wants = wants, .context = reading},
					   .from = clew_trace_start(trace),
					   .to = clew_trace_end(trace)};
	const struct clew_chosen *chosen = &asked.chosen;
	const struct clew_now_age age = {age_of, ages};
	int r = report_make(trace, period->relations, &asked, &period->report);

	if (r >= 0)
		r = ages_take(ages, trace);
	if (r >= 0)
		r = clew_now_find(trace, period->relations, chosen, &age, MOST_WAITS,
				  &period->waits, &period->wait_count);
	if (r >= 0)
		r = top_requests_find(trace, &period->report.classes, ages, &period->requests,
				      &period->request_count);
	if (r >= 0)
		r = top_objects_find(trace, chosen, &period->objects, &period->object_count);
	if (r >= 0)
		r = top_queues_find(trace, &period->report.summary, &period->queues,
				    &period->queue_count);
	for (enum top_by by = 0; r >= 0 && by <= TOP_BY_CGROUP; by++)
		r = top_pairs_find(trace, chosen, &period->report.summary, by, &period->pairs[by]);
	return r;
}

/* Joins the logical spans of a period, behind those that go on, and sums them up. */
static int join_spans(struct reading *reading, struct clew_jobs_kept *kept)
{
	struct clew_trace *trace = reading->period.trace;
	const struct clew_chosen chosen = {.wants = wants, .context = reading};
	int r = clew_jobs_join_behind(trace, kept);

	if (r >= 0)
		r = clew_jobs_keep(clew_trace_jobs(trace), clew_trace_end(trace), kept);
	return r < 0 ? r
		     : top_spans_find(trace, &chosen, &reading->period.spans,
				      &reading->period.span_count);
}

int top_period_read(const char *path, const struct clew_selection *selection, struct ages *ages,
		    struct clew_jobs_kept *kept, struct top_period **ret_period)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	struct top_period *period = *ret_period = reading ? &reading->period : NULL;
	int status;

	if (!reading)
		return clew_fail_memory();
	reading->selection = *selection;
	reading->own = (uint32_t)getpid();
	status = clew_open_segment(path, &period->trace);
	if (!status)
		status = clew_selection_resolve(&reading->selection, period->trace);
	if (!status && join_spans(reading, kept) < 0)
		status = clew_fail_memory();
	if (!status)
		status = clew_try_relations(period->trace, &period->relations);
	if (!status && find(reading, ages) < 0)
		status = clew_fail_memory();
	return status;
}

void top_period_free(struct top_period *period)
{
	if (!period)
		return;
	clew_selection_done(&((struct reading *)period)->selection);
	report_done(&period->report);
	clew_now_free(period->waits, period->wait_count);
	free(period->requests);
	free(period->objects);
	free(period->queues);
	free(period->spans);
	for (enum top_by by = 0; by <= TOP_BY_CGROUP; by++)
		top_pairs_done(&period->pairs[by]);
	clew_relations_free(period->relations);
	clew_trace_free(period->trace);
	free(period);
}

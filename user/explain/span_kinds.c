/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logical spans as operations: those that the capture shows from submit to end. A span that is all
 * that a thread did which was made for it is not one of them, as the thread's own operations are
 * the same.
 */
#include "explain/span_kinds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/interval.h"
#include "base/map.h"
#include "base/sort.h"
#include "explain/job_chosen.h"

/* The runs of spans, by thread and then by time, and what is found of the spans. */
struct runs {
	const struct clew_jobs *jobs;
	uint32_t *pieces;
	uint64_t *until; /* by run: the latest end of it and those before it in its thread */
	size_t count;
	uint8_t *serves; /* by span: it answers requests */
};

static const struct clew_job_piece *run_at(const struct runs *runs, size_t number)
{
	return clew_job_piece_at(runs->jobs, runs->pieces[number]);
}

static int list_runs(const struct clew_jobs *jobs, struct runs *ret)
{
	size_t all = jobs->pieces.count, count = 0;
	struct sort_key *keys = malloc((2 * all + 1) * sizeof(*keys));

	*ret = (struct runs){.jobs = jobs,
			     .pieces = malloc((all + 1) * sizeof(*ret->pieces)),
			     .until = malloc((all + 1) * sizeof(*ret->until)),
			     .serves = calloc(jobs->list.count + 1, 1)};
	if (!keys || !ret->pieces || !ret->until || !ret->serves) {
		free(keys);
		return -ENOMEM;
	}
	/* Pieces are in order of their starts. */
	for (size_t i = 0; i < all; i++)
		if (clew_job_piece_at(jobs, i)->kind == CLEW_JOB_RUNS)
			keys[count++] = (struct sort_key){.key = clew_job_piece_at(jobs, i)->task,
							  .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++) {
		ret->pieces[i] = keys[i].index;
		ret->until[i] = run_at(ret, i)->end;
		if (i && keys[i - 1].key == keys[i].key && ret->until[i - 1] > ret->until[i])
			ret->until[i] = ret->until[i - 1];
	}
	ret->count = count;
	free(keys);
	return 0;
}

/* The first run of a thread that ends behind a moment, or where it would be. */
static size_t first_run(const struct runs *runs, uint32_t task, uint64_t at)
{
	size_t low = 0, high = runs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t of = run_at(runs, middle)->task;

		if (of < task || (of == task && runs->until[middle] <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The innermost span that ran in a thread at a moment; CLEW_NO_NUMBER: none did. */
static uint32_t span_at(const struct runs *runs, uint32_t task, uint64_t at)
{
	uint32_t found = CLEW_NO_NUMBER;

	for (size_t i = first_run(runs, task, at); i < runs->count; i++) {
		const struct clew_job_piece *run = run_at(runs, i);

		if (run->task != task || run->start > at)
			break;
		if (run->end > at)
			found = run->job;
	}
	return found;
}

/* ---- which spans ---- */

/* True if a span is all that a thread did, from its birth to its death. */
static bool is_thread(const struct runs *runs, const struct clew_job *job)
{
	const struct clew_trace *trace = runs->jobs->trace;
	const struct clew_trace_task *task, *process;
	uint32_t number = (uint32_t)(job - clew_job_at(runs->jobs, 0));
	size_t first;

	task = clew_trace_task(trace, clew_job_task(runs->jobs, job));
	process = task ? clew_trace_task(trace, task->process) : NULL;
	if (!process || task->birth < job->begin || task->death >= process->death)
		return false;
	first = first_run(runs, task->serial, 0);
	for (size_t i = first; i < runs->count && run_at(runs, i)->task == task->serial; i++)
		if (run_at(runs, i)->job != number)
			return false;
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER;
	     i = clew_job_piece_at(runs->jobs, i)->next)
		if (clew_job_piece_at(runs->jobs, i)->kind == CLEW_JOB_RUNS &&
		    clew_job_piece_at(runs->jobs, i)->task != task->serial)
			return false;
	return true;
}

static bool is_operation(const struct runs *runs, const struct clew_job *job)
{
	return job->submitted && job->end > job->begin &&
	       (job->closed == CLEW_JOB_DONE || job->closed == CLEW_JOB_CANCELED) &&
	       !is_thread(runs, job);
}

/* ns of a span's suspended time that nobody ended: it slept, or waited for the network. */
static uint64_t slept_in(const struct clew_jobs *jobs, const struct clew_job *job)
{
	uint64_t slept = 0;

	for (uint32_t i = job->first; i != CLEW_NO_NUMBER; i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->kind == CLEW_JOB_SUSPENDED && piece->waker == CLEW_NO_NUMBER &&
		    !piece->by_thread)
			slept += clew_trace_until(jobs->trace, piece->end) - piece->start;
	}
	return slept;
}

/* `within`: by span, its operation among them and 1, 0 none. */
static int add_spans(const struct runs *runs, const struct clew_chosen *chosen, uint64_t from,
		     uint64_t to, struct vector *operations, size_t *within)
{
	for (uint32_t i = 0; i < runs->jobs->list.count; i++) {
		const struct clew_job *job = clew_job_at(runs->jobs, i);

		if (!is_operation(runs, job) ||
		    !clew_job_is_chosen(chosen, runs->jobs, job, from, to))
			continue;
		if (vector_reserve(operations, operations->count + 1) < 0)
			return -ENOMEM;
		((struct clew_kind_operation *)operations->data)[operations->count++] =
			(struct clew_kind_operation){
				.operation = {.from = job->begin,
					      .to = job->end,
					      .task = clew_job_task(runs->jobs, job),
					      .job = i + 1},
				.slept_ns = slept_in(runs->jobs, job),
				.kind = CLEW_OPERATION_SPAN};
		within[i] = operations->count;
	}
	return 0;
}

/* ---- what lies within what ---- */

enum { HAS_SPANS = 1, HAS_SCHEDULER };

/* The processes that have spans, and those where a scheduler of their own resumes them. 0 or
 * -ENOMEM. */
static int find_processes(const struct clew_jobs *jobs, const size_t *within,
			  struct map *ret_processes)
{
	int r = 0;

	for (size_t i = 0; i < jobs->list.count && r == 0; i++) {
		const struct clew_job *job = clew_job_at(jobs, i);

		if (job->kind->submits && job->kind->resumes)
			r = map_set(ret_processes, job->process, HAS_SCHEDULER, 1);
		if (r == 0 && within[i])
			r = map_set(ret_processes, job->process, HAS_SPANS, 1);
	}
	return r;
}

/* True if work of a thread is none besides the spans of its process: all that threads do is theirs
 * if they have a scheduler, and a thread that never waits for work goes on beside them. */
static bool is_beside(const struct clew_trace *trace, const struct map *processes,
		      const struct clew_kind_operation *work)
{
	uint32_t process = clew_trace_process(trace, work->operation.task);

	return map_get(processes, process, HAS_SCHEDULER) ||
	       (!work->by && map_get(processes, process, HAS_SPANS));
}

/* Work of a thread is that of the spans which ran in it meanwhile: the rest is its own. */
static void count_runs(const struct runs *runs, struct clew_kind_operation *work)
{
	const struct clew_operation *it = &work->operation;
	uint64_t covered = it->from;

	for (size_t i = first_run(runs, it->task, it->from); i < runs->count; i++) {
		const struct clew_job_piece *run = run_at(runs, i);
		const struct clew_job *job = clew_job_at(runs->jobs, run->job);

		if (run->task != it->task || run->start >= it->to)
			break;
		if (run->end <= covered || !job->kind->submits || is_thread(runs, job))
			continue;
		work->slept_ns += interval_overlap(run->start > covered ? run->start : covered,
						   run->end, it->from, it->to);
		covered = run->end;
	}
}

/* All of an operation's time is in others. */
static void cover(struct clew_kind_operation *operation)
{
	operation->inner = 1;
	operation->inner_ns = operation->operation.to - operation->operation.from;
}

/* A request is the time of the span that answers it, or takes the answer. One that answers requests
 * goes on beside them: they are what is asked about. */
static void join_request(const struct runs *runs, const size_t *within,
			 struct clew_kind_operation *request,
			 struct clew_kind_operation *operations)
{
	uint32_t job = span_at(runs, request->operation.task, request->operation.to);

	if (job == CLEW_NO_NUMBER)
		return;
	request->operation.job = job + 1;
	if (!clew_operation_serves(request))
		return;
	runs->serves[job] = 1;
	if (within[job])
		cover(&operations[within[job] - 1]);
}

/* Spans that one submits which answers requests, and that lie within it, are parts of these. */
static void cover_parts(const struct runs *runs, const size_t *within,
			struct clew_kind_operation *operations)
{
	const struct clew_jobs *jobs = runs->jobs;

	for (size_t i = 0; i < jobs->list.count; i++) {
		const struct clew_job *job = clew_job_at(jobs, i);

		if (within[i] && job->parent != CLEW_NO_NUMBER && runs->serves[job->parent] &&
		    job->end <= clew_job_at(jobs, job->parent)->end)
			cover(&operations[within[i] - 1]);
	}
}

int span_kinds_find(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, struct vector *operations)
{
	const struct clew_jobs *jobs = clew_trace_jobs(trace);
	size_t before = operations->count, *within;
	struct map processes = {};
	struct runs runs;
	int r;

	if (!jobs || !jobs->list.count)
		return 0;
	within = calloc(jobs->list.count, sizeof(*within));
	r = list_runs(jobs, &runs);
	if (r == 0)
		r = within ? add_spans(&runs, chosen, from, to, operations, within) : -ENOMEM;
	if (r == 0)
		r = find_processes(jobs, within, &processes);
	for (size_t i = 0; r == 0 && i < before; i++) {
		struct clew_kind_operation *all = operations->data;

		if (all[i].kind == CLEW_OPERATION_WORK && is_beside(trace, &processes, &all[i]))
			cover(&all[i]);
		else if (all[i].kind == CLEW_OPERATION_WORK)
			count_runs(&runs, &all[i]);
		else if (all[i].kind == CLEW_OPERATION_REQUEST ||
			 all[i].kind == CLEW_OPERATION_SERVED)
			join_request(&runs, within, &all[i], all);
	}
	if (r == 0)
		cover_parts(&runs, within, operations->data);
	map_done(&processes);
	free(within);
	free(runs.pieces);
	free(runs.until);
	free(runs.serves);
	return r;
}

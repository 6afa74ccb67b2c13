/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions about logical spans, and their words.
 */
#include "relate/job.h"

#include <stdlib.h>

void clew_jobs_free(struct clew_jobs *jobs)
{
	if (!jobs)
		return;
	vector_done(&jobs->list);
	vector_done(&jobs->pieces);
	vector_done(&jobs->waits);
	vector_done(&jobs->held);
	arena_done(&jobs->arena);
	clew_layers_free(jobs->own);
	free(jobs->seen);
	free(jobs);
}

uint64_t clew_job_resumed(const struct clew_jobs *jobs, const struct clew_job *job)
{
	uint64_t late = job->begin + CLEW_JOB_LATE_NS;

	for (uint32_t i = job->first; i != CLEW_NO_NUMBER; i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->kind == CLEW_JOB_RUNS && piece->start > late)
			return piece->start;
	}
	return 0;
}

const struct clew_job_piece *clew_job_piece_of(const struct clew_jobs *jobs, uint32_t job,
					       uint64_t at)
{
	for (uint32_t i = clew_job_at(jobs, job)->first; i != CLEW_NO_NUMBER;
	     i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->start <= at && at < piece->end)
			return piece;
	}
	return NULL;
}

const struct clew_job_wait *clew_job_wait_of(const struct clew_jobs *jobs, uint32_t task,
					     uint64_t at)
{
	const struct clew_job_wait *waits = jobs->waits.data;
	size_t low = 0, high = jobs->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (waits[middle].task < task ||
		    (waits[middle].task == task && waits[middle].from <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low && waits[low - 1].task == task && at < waits[low - 1].to &&
			       waits[low - 1].to != CLEW_TIME_OPEN
		       ? &waits[low - 1]
		       : NULL;
}

uint32_t clew_job_task(const struct clew_jobs *jobs, const struct clew_job *job)
{
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER; i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->kind == CLEW_JOB_RUNS && clew_trace_task(jobs->trace, piece->task))
			return piece->task;
	}
	return clew_trace_task(jobs->trace, job->submitter) ? job->submitter : job->process;
}

const char *clew_job_name(const struct clew_jobs *jobs, const struct clew_job *span)
{
	const char *name = span->label;

	if (!name && span->code)
		name = clew_trace_code(jobs->trace, span->process, span->code);
	/* A part has the name of the whole. */
	if (!name && span->kind->of != CLEW_RUNTIME_NONE && span->parent != CLEW_NO_NUMBER)
		return clew_job_name(jobs, clew_job_at(jobs, span->parent));
	return name ?: span->kind->name;
}

const char *clew_job_closed_word(unsigned closed)
{
	static const char *const words[CLEW_JOB_CLOSED_COUNT] = {
		[CLEW_JOB_DONE] = "done", [CLEW_JOB_CANCELED] = "canceled",
		[CLEW_JOB_EXIT] = "exit", [CLEW_JOB_SUPERSEDED] = "superseded",
		[CLEW_JOB_LOST] = "lost", [CLEW_JOB_OPEN] = "open",
	};

	return closed < CLEW_JOB_CLOSED_COUNT ? words[closed] : "?";
}

const char *clew_job_piece_word(unsigned kind)
{
	static const char *const words[] = {[CLEW_JOB_QUEUED] = "queued",
					    [CLEW_JOB_RUNS] = "running",
					    [CLEW_JOB_SUSPENDED] = "suspended"};

	return kind <= CLEW_JOB_SUSPENDED ? words[kind] : "?";
}

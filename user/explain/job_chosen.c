/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses logical spans by the threads that had to do with them. */
#include "explain/job_chosen.h"

static bool ran_in_chosen(const struct clew_chosen *chosen, const struct clew_jobs *jobs,
			  const struct clew_job *job)
{
	const struct clew_trace *trace = jobs->trace;

	if (!chosen->wants || clew_is_chosen(chosen, trace, job->submitter))
		return true;
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER;) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->kind == CLEW_JOB_RUNS && clew_is_chosen(chosen, trace, piece->task))
			return true;
		i = piece->next;
	}
	return false;
}

bool clew_job_is_chosen(const struct clew_chosen *chosen, const struct clew_jobs *jobs,
			const struct clew_job *job, uint64_t from, uint64_t to)
{
	return job->begin <= to && clew_trace_until(jobs->trace, job->end) >= from &&
	       ran_in_chosen(chosen, jobs, job);
}

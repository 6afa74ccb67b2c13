/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps spans that are not over for the next segment. */
#include "relate/job_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The same text in the memory of what is kept. NULL stays NULL. */
static int copy(struct arena *names, const char *text, const char **ret)
{
	*ret = text ? arena_copy(names, text, strlen(text)) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

static int keep(const struct clew_jobs *jobs, const struct clew_job *job,
		struct clew_jobs_kept *kept)
{
	const struct clew_job *parent =
		job->parent == CLEW_NO_NUMBER ? NULL : clew_job_at(jobs, job->parent);
	const char *name = clew_job_name(jobs, job),
		   *in = parent ? clew_job_name(jobs, parent) : job->submitted_in;
	struct clew_job_kept *it;
	int r = vector_reserve(&kept->list, kept->list.count + 1);

	if (r < 0)
		return r;
	it = (struct clew_job_kept *)kept->list.data + kept->list.count++;
	*it = (struct clew_job_kept){
		.job = *job,
		.piece = *clew_job_piece_at(jobs, job->last),
		.runtime = (uint32_t)(job->runtime - jobs->layers->runtimes),
		.kind = (uint32_t)(job->kind - job->runtime->spans),
	};
	it->job.parent = it->job.first = it->job.last = it->job.below = CLEW_NO_NUMBER;
	r = copy(&kept->names, name, &it->job.label);
	return r < 0 ? r : copy(&kept->names, in, &it->job.submitted_in);
}

static int by_start(const void *left, const void *right)
{
	const struct clew_job_kept *a = left, *b = right;

	return a->piece.start < b->piece.start ? -1 : a->piece.start > b->piece.start;
}

int clew_jobs_keep(const struct clew_jobs *jobs, uint64_t end, struct clew_jobs_kept *kept)
{
	struct clew_jobs_kept now = {.list.item = sizeof(struct clew_job_kept), .end = end};
	int r = 0;

	for (size_t i = 0; jobs && i < jobs->list.count && r >= 0; i++)
		if (clew_job_at(jobs, i)->closed == CLEW_JOB_OPEN &&
		    clew_job_at(jobs, i)->last != CLEW_NO_NUMBER)
			r = keep(jobs, clew_job_at(jobs, i), &now);
	if (now.list.count > 1)
		qsort(now.list.data, now.list.count, now.list.item, by_start);
	/* The names before may be those of spans that go on: they were copied. */
	clew_jobs_kept_done(kept);
	*kept = now;
	return r;
}

void clew_jobs_kept_done(struct clew_jobs_kept *kept)
{
	vector_done(&kept->list);
	arena_done(&kept->names);
	*kept = (struct clew_jobs_kept){};
}

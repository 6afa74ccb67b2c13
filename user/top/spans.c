/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts logical spans that are not over, by where they were submitted. */
#include "top/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "explain/job_chosen.h"

static int most_first(const void *left, const void *right)
{
	const struct top_span *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->name, b->name);
}

static const char *submitted_in(const struct clew_jobs *jobs, const struct clew_job *job)
{
	return job->parent == CLEW_NO_NUMBER ? job->submitted_in
					     : clew_job_name(jobs, clew_job_at(jobs, job->parent));
}

int top_spans_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		   struct top_span **ret_spans, size_t *ret_count)
{
	const struct clew_jobs *jobs = clew_trace_jobs(trace);
	size_t all = jobs ? jobs->list.count : 0;
	struct top_span *spans = calloc(all + 1, sizeof(*spans));
	struct map places = {};
	int r = spans ? 0 : -ENOMEM;

	*ret_spans = spans;
	*ret_count = 0;
	for (size_t i = 0; i < all && r >= 0; i++) {
		const struct clew_job *job = clew_job_at(jobs, i);
		const char *name = clew_job_name(jobs, job), *in = submitted_in(jobs, job);
		uint64_t key, *known;
		struct top_span *span;

		if (job->closed != CLEW_JOB_OPEN || job->last == CLEW_NO_NUMBER ||
		    !clew_job_is_chosen(chosen, jobs, job, 0, CLEW_TIME_OPEN))
			continue;
		key = hash_text(hash_text(hash_mix(HASH_SEED, (uintptr_t)job->kind), name),
				in ?: "");
		known = map_get(&places, key, 0);
		span = &spans[known ? *known : *ret_count];
		if (!known) {
			*span = (struct top_span){.oldest = job, .name = name, .in = in};
			r = map_set(&places, key, 0, (*ret_count)++);
		}
		span->oldest = job->begin < span->oldest->begin ? job : span->oldest;
		span->now[clew_job_piece_at(jobs, job->last)->kind]++;
		span->count++;
	}
	map_done(&places);
	if (*ret_count > 1)
		qsort(spans, *ret_count, sizeof(*spans), most_first);
	return r;
}

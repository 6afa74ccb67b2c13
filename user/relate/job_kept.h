/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spans that go on from segment to segment of one recording: a segment alone knows of a span only
 * what happened in it.
 */
#ifndef CLEW_RELATE_JOB_KEPT_H
#define CLEW_RELATE_JOB_KEPT_H

#include "base/vector.h"
#include "relate/job.h"

/* ns: segments begin at the end of the one before, but for a moment. */
#define CLEW_SEGMENT_NEAR 100000000ull

/* Zeroed at first; clew_jobs_kept_done() at last. */
struct clew_jobs_kept {
	struct vector list; /* struct clew_job_kept, by the start of what they are in */
	struct arena names;
	uint64_t end; /* ns, of the last segment; 0: there was none */
};

/* A span that was not over. */
struct clew_job_kept {
	struct clew_job job;	     /* its texts are in `names`, its numbers of others are void */
	struct clew_job_piece piece; /* the one that goes on */
	uint32_t runtime, kind;	     /* their numbers in the description */
};

/* Keeps the spans of a segment that are not over, instead of those before. 0 or -ENOMEM. */
int clew_jobs_keep(const struct clew_jobs *jobs, uint64_t end, struct clew_jobs_kept *kept);
/* Joins the spans of the next segment as clew_jobs_join() does; those that were kept go on if no
 * segment is missing between. 0 or -ENOMEM. */
int clew_jobs_join_behind(struct clew_trace *trace, const struct clew_jobs_kept *kept);
void clew_jobs_kept_done(struct clew_jobs_kept *kept);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sums of logical spans, for text and JSON. */
#ifndef CLEW_ANSWERS_SPANS_LOGICAL_SUM_H
#define CLEW_ANSWERS_SPANS_LOGICAL_SUM_H

#include "answers/spans/logical.h"
#include "base/histogram.h"
#include "base/vector.h"

#define CLEW_JOB_THREADS 8

/* One span's time by what it was. */
struct clew_job_times {
	uint64_t queued, execution, suspended;
	uint32_t runs, suspensions;
	uint32_t threads[CLEW_JOB_THREADS]; /* in which it ran, in order */
	uint32_t thread_count;
	bool more_threads;
};

/* Spans of one kind that run the same. */
struct logical_row {
	const struct clew_runtime *runtime;
	const struct clew_runtime_span *kind;
	const char *name;
	uint64_t count, closed[CLEW_JOB_CLOSED_COUNT];
	uint64_t no_submit, no_start, suspended, suspensions, cross_thread, children;
	struct histogram queued, execution, total;
};

/* Waits of threads for objects of one kind. */
struct logical_waits {
	const struct clew_runtime *runtime;
	const struct clew_runtime_span *kind;
	uint64_t count, woken;
	struct histogram length; /* of those whose end is known */
};

struct logical_sum {
	const struct clew_logical *logical;
	struct vector rows;  /* struct logical_row, most time first */
	struct vector waits; /* struct logical_waits */
	size_t count;	     /* spans */
};

/* 0 or -ENOMEM; logical_sum_done() frees it in both cases. */
int logical_sum(const struct clew_logical *logical, struct logical_sum *ret);
void logical_sum_done(struct logical_sum *sum);
void clew_job_times(const struct clew_jobs *jobs, const struct clew_job *job,
		    struct clew_job_times *ret);
/* Verbs of a kind of spans whose points nobody met, although others of it were met. */
size_t logical_never_seen(const struct clew_logical *logical, const struct clew_runtime *runtime,
			  const struct clew_runtime_span *kind, const char **ret_verbs,
			  size_t most);

#endif

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

/* Spans of one kind that run the same; without a kind and a name all of a runtime. */
struct logical_row {
	const struct clew_runtime *runtime;
	const struct clew_runtime_span *kind;
	const char *name;
	uint64_t count, closed[CLEW_JOB_CLOSED_COUNT];
	uint64_t built; /* seen from submit to end, with all that lies between */
	uint64_t depth; /* spans above one of them, that submitted each other; the most */
	uint64_t no_submit, no_start, suspended, suspensions, cross_thread, children;
	uint64_t late; /* took, or have been open for, longer than CLEW_JOB_LATE_NS */
	struct histogram queued, execution, total;
};

/* Waits of threads for objects of one kind. */
struct logical_waits {
	const struct clew_runtime *runtime;
	const struct clew_runtime_span *kind;
	uint64_t count, woken;
	struct histogram length; /* of those whose end is known */
};

/* Spans of one queue, at once, by enum clew_job_piece_kind. */
struct logical_queue {
	const struct clew_runtime *runtime;
	const struct clew_runtime_span *kind;
	uint32_t process;
	bool has_queue; /* else they are all of the process's */
	uint64_t queue;
	uint64_t now[3], most[3]; /* at the capture's end, and ever */
};

/* Spans that are open at the capture's end and were submitted alike. */
struct logical_open {
	const struct clew_job *job; /* the first of them */
	const char *name;
	const char *in; /* the name of the span that submitted them, NULL: none did */
	uint64_t count;
};

struct logical_sum {
	const struct clew_logical *logical;
	struct vector rows;   /* struct logical_row, most time first */
	struct vector totals; /* the same by runtime, in the order of the descriptions */
	uint32_t *depths;     /* by span: spans above it */
	struct vector waits;  /* struct logical_waits */
	struct vector queues; /* struct logical_queue */
	struct vector opens;  /* struct logical_open, most first */
	size_t count;	      /* spans */
};

#define LOGICAL_HOLDERS 4 /* of a lock that are listed: those that had it for longest */

/* Spans of one name, or a thread, that had a lock while it was waited for. */
struct logical_holder {
	const char *name; /* NULL: the thread */
	uint32_t task;
	uint64_t ns, exact_ns;
};

/* A lock that was waited for. */
struct logical_lock {
	const struct clew_job_wait *wait; /* the longest one */
	uint64_t count, ns, max;
	uint64_t unheld;		/* nobody is known to have had it */
	struct logical_holder *holders; /* longest first */
	size_t holder_count;
};

struct logical_locks {
	struct vector list; /* struct logical_lock, most time first */
};

/* 0 or -ENOMEM; logical_locks_done() frees it in both cases. */
int logical_locks(const struct clew_logical *logical, struct logical_locks *ret);
void logical_locks_done(struct logical_locks *locks);

/* A file in which a runtime was looked for. */
struct logical_file {
	char name[128], path[4096], why[256]; /* why: "" it was recorded there */
	unsigned points, ns;
};

/* The next of them; *at is where to read on, from what the capture has. False: there is none. */
bool logical_next_file(const char **at, struct logical_file *ret);

/* 0 or -ENOMEM; logical_sum_done() frees it in both cases. */
int logical_sum(const struct clew_logical *logical, struct logical_sum *ret);
/* The moment at which a wait ended, or at least its thread was woken; CLEW_TIME_OPEN: it is not in
 * the capture. */
uint64_t logical_wait_end(const struct clew_job_wait *wait);
/* The same for its queues and its open spans alone; logical_sum() calls them. */
int logical_queues(struct logical_sum *sum);
int logical_opens(struct logical_sum *sum);
void logical_sum_done(struct logical_sum *sum);
void clew_job_times(const struct clew_jobs *jobs, const struct clew_job *job,
		    struct clew_job_times *ret);
/* Verbs of a kind of spans whose points nobody met, although others of it were met. */
size_t logical_never_seen(const struct clew_logical *logical, const struct clew_runtime *runtime,
			  const struct clew_runtime_span *kind, const char **ret_verbs,
			  size_t most);

#endif

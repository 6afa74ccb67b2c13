/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logical spans: pieces of work of runtimes, joined from the points that tasks met by their keys
 * alone. docs/runtimes.md has the rules.
 *
 * An event belongs to the latest earlier submit of its key, in its process, that is not over; never
 * to a later one. That it comes soon after proves nothing.
 */
#ifndef CLEW_RELATE_JOB_H
#define CLEW_RELATE_JOB_H

#include "base/vector.h"
#include "relate/layer.h"
#include "trace/trace.h"

enum clew_job_closed {
	CLEW_JOB_DONE,
	CLEW_JOB_CANCELED,
	CLEW_JOB_EXIT,	     /* the thread or the process that had it ended */
	CLEW_JOB_SUPERSEDED, /* its key was submitted anew */
	CLEW_JOB_LOST,	     /* records were lost while it was under way */
	CLEW_JOB_OPEN,
	CLEW_JOB_CLOSED_COUNT,
};

enum clew_job_piece_kind { CLEW_JOB_QUEUED, CLEW_JOB_RUNS, CLEW_JOB_SUSPENDED };

/* A part of a span's time. The pieces of a span follow each other without a gap. */
struct clew_job_piece {
	uint64_t start, end; /* CLEW_TIME_OPEN: not in the capture */
	uint64_t why;	     /* SUSPENDED: the runtime's reason */
	uint32_t job;
	uint32_t next;	/* of the same span, CLEW_NO_NUMBER none */
	uint32_t task;	/* RUN: the thread; else the one that ended it, CLEW_NO_TASK unknown */
	uint32_t waker; /* the span that ran on that thread then, CLEW_NO_NUMBER none */
	uint32_t wait;	/* SUSPENDED: its number among the waits, and 1; 0: it is for no lock that
			   is known */
	uint8_t kind;	/* enum clew_job_piece_kind */
	bool has_why;
	bool by_thread; /* SUSPENDED, and nothing says who resumes spans of its kind: `task` is the
			   thread that went on with it */
};

struct clew_job {
	const struct clew_runtime *runtime;
	const struct clew_runtime_span *kind;
	uint64_t begin;	    /* submitted, or else when it was first seen */
	uint64_t submitted; /* 0: before the capture, or not seen */
	uint64_t started;   /* 0: never */
	uint64_t end;	    /* CLEW_TIME_OPEN: not in the capture */
	uint64_t key[CLEW_RUNTIME_KEYS];
	uint64_t joined;	  /* the key with its process and kind, as one number */
	uint64_t code;		  /* address of the function that it runs, 0 unknown */
	const char *label;	  /* a name that the runtime gives, NULL none */
	const char *submitted_in; /* the name of its parent if that is in an earlier segment */
	uint64_t queue, status;
	uint64_t group; /* as a number for its key; 0: it is in none */
	uint32_t process;
	uint32_t submitter;   /* the thread, CLEW_NO_TASK unknown */
	uint32_t parent;      /* the span that ran there, CLEW_NO_NUMBER none */
	uint32_t first, last; /* pieces */
	uint32_t origins;     /* submits that it is for: more than one only if they coalesce */
	uint32_t below;	      /* while it runs: the span that it interrupts on its thread */
	uint32_t waiting;     /* while spans are joined: its wait for a lock, and 1; 0 none */
	uint64_t wanted;      /* likewise: the lock that it asked for last */
	uint32_t next;	      /* likewise: the next one that is pending with this key, */
	uint32_t youngest;    /* and, of the oldest of these, the last; CLEW_NO_NUMBER none */
	uint8_t key_count;
	uint8_t closed; /* enum clew_job_closed */
	bool has_queue, has_status;
};

/* A thread waited for an object, which another thread may have woken. */
struct clew_job_wait {
	uint64_t from;
	uint64_t to;   /* when it was woken; CLEW_TIME_OPEN: nobody was seen to wake it */
	uint64_t over; /* when the thread went on; CLEW_TIME_OPEN: not known */
	const struct clew_runtime *runtime;
	const struct clew_runtime_span *kind;
	uint64_t object; /* the first number of its key */
	uint32_t task;
	uint32_t waker;	  /* the thread, CLEW_NO_TASK none */
	uint32_t job;	  /* that ran on it, CLEW_NO_NUMBER none */
	uint32_t members; /* spans of the group that it was for, all of which had to be over; 0: it
			     was for no group */
	uint32_t before;  /* while spans are joined: the next one that waits for the object */
	/* The rest is known of locks alone. */
	uint32_t waiter;   /* the span that waits, CLEW_NO_NUMBER: the thread does */
	uint32_t piece;	   /* of it, while it waits, CLEW_NO_NUMBER none */
	const char *label; /* its name, NULL none */
	uint64_t joined;   /* its key with its process and kind, as one number */
	uint64_t memory;   /* the thread sleeps for futexes in so many bytes there; 0: for any */
	uint64_t bytes;
};

/* A thread was seen to have a lock. */
struct clew_job_held {
	uint64_t joined; /* the lock */
	uint64_t at;
	uint64_t word; /* the thread, as its runtime knows it; 0: `task` is known */
	uint32_t task;
	uint32_t job; /* that ran on it, CLEW_NO_NUMBER none */
	bool back;    /* it gave it back then; else another one that wanted it saw it there */
};

/* A lock's holder at a moment. */
struct clew_job_holder {
	uint32_t task;
	uint32_t job;	/* CLEW_NO_NUMBER none */
	uint64_t until; /* how long the answer holds */
	bool exact;	/* nobody else can have had it then */
};

struct clew_jobs {
	const struct clew_trace *trace;
	const struct clew_layers *layers;
	struct vector list;   /* struct clew_job, by begin */
	struct vector pieces; /* struct clew_job_piece, by start */
	struct vector waits;  /* struct clew_job_wait, by task, then from */
	struct vector held;   /* struct clew_job_held, by lock, then at */
	uint64_t *seen;	      /* by point: how often it was met */
	uint64_t strays;      /* ends of what was not seen to begin */
	struct arena arena;
	struct clew_layers *own; /* freed with them; NULL: the layers are the caller's */
};

/* Joins the spans of a trace, which has to outlive them, as `layers` has to. 0 or -ENOMEM. */
int clew_jobs_new(const struct clew_trace *trace, const struct clew_layers *layers,
		  struct clew_jobs **ret_jobs);
/* The same of a segment, behind those that go on from the one before; NULL: none do. */
struct clew_jobs_kept;
int clew_jobs_new_behind(const struct clew_trace *trace, const struct clew_layers *layers,
			 const struct clew_jobs_kept *kept, struct clew_jobs **ret_jobs);
void clew_jobs_free(struct clew_jobs *jobs);
/*
 * The same of a trace that was read, by the description that its capture has: clew_trace_jobs() has
 * them from then on. They replace frames (trace/frames.h). Without a description, or one that can
 * be read, there are none: whoever asks for the spans says so. Before anything is asked about the
 * trace. 0 or -ENOMEM.
 */
int clew_jobs_join(struct clew_trace *trace);

static inline struct clew_job *clew_job_at(const struct clew_jobs *jobs, size_t number)
{
	return (struct clew_job *)jobs->list.data + number;
}

static inline struct clew_job_piece *clew_job_piece_at(const struct clew_jobs *jobs, size_t number)
{
	return (struct clew_job_piece *)jobs->pieces.data + number;
}

/* When it was submitted, or began to run if nobody submits spans of its kind; 0: not known. */
static inline uint64_t clew_job_asked(const struct clew_job *job)
{
	return job->kind->submits ? job->submitted : job->begin;
}

#define CLEW_JOB_LATE_NS 5000000000ull /* a span that is open for longer is late */

/* When a late span went on, running, after it was: 0: it is not late, or did not. */
uint64_t clew_job_resumed(const struct clew_jobs *jobs, const struct clew_job *job);

/* The piece of a span that a moment is in; NULL: it is over, or has not begun. */
const struct clew_job_piece *clew_job_piece_of(const struct clew_jobs *jobs, uint32_t job,
					       uint64_t at);
/* The wait of a thread that a moment is in, of several the last one; NULL: none. */
const struct clew_job_wait *clew_job_wait_of(const struct clew_jobs *jobs, uint32_t task,
					     uint64_t at);
/* The wait of a thread for a lock that a sleep is for; NULL: it is for none. */
const struct clew_job_wait *clew_job_lock_of(const struct clew_jobs *jobs, uint32_t task,
					     const struct clew_sleep *sleep);
/* The one that had the lock at a moment of a wait for it. False: that is not known until
 * ret->until. */
bool clew_job_holder_of(const struct clew_jobs *jobs, const struct clew_job_wait *wait, uint64_t at,
			struct clew_job_holder *ret);
/* A thread that had to do with it: where it ran first, else who submitted it, else its process. */
uint32_t clew_job_task(const struct clew_jobs *jobs, const struct clew_job *job);
/* Its name: its own, that of its function, or that of its kind. Lives as long as the spans. */
const char *clew_job_name(const struct clew_jobs *jobs, const struct clew_job *span);
const char *clew_job_closed_word(unsigned closed);
/* "queued", "running", "suspended" */
const char *clew_job_piece_word(unsigned kind);

#endif

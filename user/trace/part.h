/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace of a part of a capture: findings outside of an interval are not kept, however long
 * the capture is. The names of tasks, files, locks and others are kept from all that is read.
 *
 * Sleeps and requests are numbered anew, as only few of the builder's numbers are used.
 */
#ifndef CLEW_TRACE_PART_H
#define CLEW_TRACE_PART_H

#include "base/map.h"
#include "base/vector.h"
#include "builder/build.h"
#include "trace/recent.h"

#include <stdbool.h>
#include <stdint.h>

/* ns: findings are kept that are outside of the interval by less. They show what a wait at its
 * edge was about, such as whether its thread went to sleep again for the same. */
#define TRACE_PART_MARGIN 1000000000ull

/* ns: requests are kept that ended so long before the interval: a wait in it may be for several. */
#define TRACE_PART_REQUESTS 10000000000ull

/* ns: so far records are read beyond the interval, as a finding comes when its end is known. If one
 * thread is asked for, only until a second after its wait is over that overlaps the interval. */
#define TRACE_PART_BEYOND 10000000000ull

/* ns: so far records are read before the interval, at least: what is behind a wait in it is then
 * known if it happened since. If they are not more than so many, from even further. */
#define TRACE_PART_BEFORE 10000000000ull
#define TRACE_PART_ROWS	  500000

/* Waits that may separate operations: so many take 400 MB. */
#define TRACE_WORKS_MOST 2000000u      /* unless struct clew_windows_options says another number */
#define TRACE_WORKS_LATE 2500000000ull /* ns: no wait comes later */

struct clew_trace;

/* The parties that woke each other through sockets and pipes so far: two processes, or two
 * threads of one. A pair begins with the lower one. */
struct trace_pairs {
	struct map woke;    /* (who woke, whom) -> when it did last */
	struct map seen;    /* a pair -> who woke the other first */
	struct map first;   /* a pair -> who asked the other one first */
	struct map answers; /* a pair -> 1: both woke the other */
};

struct trace_part {
	uint64_t from, to;	/* ns: what overlaps this is kept */
	struct map requests;	/* the builder's number -> the trace's, of those that are kept */
	struct vector finished; /* uint64_t, a bit for each of the builder's numbers: it has come */
	/* The times, ns, at which the newest completed requests that are not kept were queued: by
	 * device and, once records were lost, also by sector. trace_finish_requests() compares with
	 * them to find the requests whose completion was lost. */
	struct map newest, again;
	uint32_t sleeps;  /* how many have a number */
	bool cut;	  /* reading ended before the capture */
	bool early;	  /* .. and soon after the part */
	uint64_t look_at; /* ns: when to ask trace_part_is_over() */
	uint64_t over_at; /* ns: when it was seen to be; 0: not yet */
	/* Not NULL: the last runs before the part, and of a wait that began before the part the run
	 * before it is kept; and who talked to whom is known of all that was read. */
	struct trace_recent *recent;
	struct trace_pairs pairs; /* before the part */
	/* Not NULL: called for each finding, kept or not. `here`: the finding was emitted while
	 * the window was read. 0 or -errno. */
	int (*tell)(void *context, const struct clew_trace *trace,
		    const struct clew_finding *finding, bool here);
	void *tell_context;
	bool here;
	bool samples; /* all samples are kept */
	/* Waits that may separate operations are kept, from outside of the part, too, until they
	   are `works_most`: then all those that were over at `works_until` are there, else 0.
	 */
	bool works;
	uint64_t works_most;
	uint64_t works_until; /* ns */
	size_t sift_at;	      /* when so many page extents are there, sift them */
};

/* Makes a new trace one of a part. `from`, `to`: ns. 0 or -ENOMEM. */
int trace_part_new(struct clew_trace *trace, uint64_t from, uint64_t to);
void trace_part_free(struct trace_part *part);

/* Keeps a finding if it is in the part. `context`: the trace. */
int trace_part_take(void *context, struct clew_finding finding);

/*
 * True if what a thread did in the interval is known: it has not slept from the interval on for a
 * second. False if no thread has that tid. `time`: ns, of the record that the builder has taken,
 * part->look_at or later.
 */
bool trace_part_is_over(struct clew_trace *trace, const struct clew_builder *builder,
			uint32_t thread, uint64_t time);

/* Forgets the waits that `works` has kept so far: from now on the part alone is kept. */
void trace_part_drop_works(struct clew_trace *trace);

/* Gives what belongs to requests the trace's numbers, once all findings have come. */
void trace_part_finish(struct clew_trace *trace);

#endif

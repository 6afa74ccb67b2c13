/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder: records in, findings out.
 *
 * It is a push interface: feed records in order of time, from a file or live, and
 * advance the horizon where no record does. Each finding goes to its takers as soon
 * as it is certain. State is bounded: it is kept for living tasks, CPUs, locks that
 * somebody waits for, requests and work items in flight, and for what ended within
 * about the last second.
 *
 * A builder is used by one thread at a time. Times are in ns of CLOCK_MONOTONIC.
 * Functions return 0 or -errno. After an error, -ENOMEM or what a taker returned,
 * every later call returns the same one, and the builder can only be freed.
 */
#ifndef CLEW_BUILDER_BUILD_H
#define CLEW_BUILDER_BUILD_H

#include "builder/findings.h"

struct clew_builder;

struct clew_builder_options {
	size_t size;	     /* sizeof(struct clew_builder_options) */
	uint64_t start;	     /* ns: when recording was enabled */
	uint32_t drop_types; /* bit mask of edge types to treat as never seen (their sleeps end
				unexplained) */
	uint32_t probe_ns[CLEW_SITE_CLASSES]; /* what a function's probe of each class takes */
	uint32_t return_ns;		      /* and a return by the trampoline */
	/*
	 * Bytes for what is known of pages of files and who wrote them, which is what may grow
	 * most; 0: no limit. Beyond it the files that were used least recently are forgotten.
	 */
	size_t memory_most;
	bool imported; /* another tracer made the records: no evidence is better than observed */
};

/*
 * Makes a builder whose findings go to `count` takers. The takers are copied; their
 * contexts stay the caller's and must outlive clew_builder_finish(). Findings that no taker
 * wants are not made, and records on which no wanted finding depends are not read.
 * -EINVAL, -ENOMEM.
 */
int clew_builder_new(const struct clew_builder_options *options,
		     const struct clew_finding_taker *takers, size_t count,
		     struct clew_builder **ret_builder);

/* Takes one record, which stays the caller's. Its time is at or after the horizon, and becomes the
 * horizon. */
int clew_builder_feed(struct clew_builder *builder, const struct clew_header *record);

/*
 * Advances the horizon: no record before `time` is still to come. Postponed findings are
 * decided and sent. It is for a live source that is quiet for a while;
 * feeding does the same by itself.
 */
int clew_builder_advance(struct clew_builder *builder, uint64_t time);

/*
 * Ends the stream. Open findings are marked so and sent. `end`: when recording was
 * disabled. Later calls of feed, advance and finish return -ESHUTDOWN.
 */
int clew_builder_finish(struct clew_builder *builder, uint64_t end);

/*
 * Calls `take` for each wait and each time without a CPU that goes on, as findings of tag SLEEP
 * and READY whose end is CLEW_TIME_OPEN. A wait has the kind and the object that it would have if
 * nothing more were known at its end, and as its one holder who had the lock when it began, if that
 * is known. One whose end is only in a record to come counts as open. A task that was found
 * runnable may have run. Stops at the first negative return, and returns it.
 */
int clew_builder_open(const struct clew_builder *builder,
		      int (*take)(void *context, struct clew_finding finding), void *context);

/*
 * Calls `take` for each request that was issued and has not ended, as a finding of tag REQUEST
 * whose `completed` is 0; not for one whose end may be among records that were lost. Bios of
 * devices that have no requests are left out. Stops at the first negative return, and returns it.
 */
int clew_builder_open_requests(const struct clew_builder *builder,
			       int (*take)(void *context, struct clew_finding finding),
			       void *context);

/* The number of times that something was forgotten for want of room: no record was lost, but who
 * wrote or read a range of a file, or changed a block of metadata, is not known. */
struct clew_builder_forgotten {
	uint64_t pages;	 /* ranges of files */
	uint64_t blocks; /* of metadata of a file system with a journal */
};
struct clew_builder_forgotten clew_builder_forgotten(const struct clew_builder *builder);

/* Bytes held now; *ret_tasks, unless NULL: the number of tasks that are known. */
size_t clew_builder_memory(const struct clew_builder *builder, size_t *ret_tasks);

/* Also before the end, or after an error. NULL is ignored. */
void clew_builder_free(struct clew_builder *builder);

/* The edge that ended a sleep, whose edge_type is not -1; without names. Its links are the
 * sleep's. */
struct clew_edge clew_edge_of_sleep(const struct clew_sleep *sleep);

/* The kind of a wait inside the kernel function of that name, or -1: the name does not say. */
int clew_function_kind(const char *name);
/* True if a task that leaves its CPU does so as its group is frozen. `wait`: NULL unknown. */
bool clew_is_frozen(const struct clew_wait *wait, unsigned state);
/*
 * The wait kind that a wait record proves; `wait` is NULL if there is none. `state`:
 * clew_switch.prev_state. `function_kind`: clew_function_kind() of the function that
 * a wait of reason FUNCTION is in, else -1.
 */
enum clew_wait_kind clew_classify_wait(const struct clew_wait *wait, unsigned state,
				       int function_kind);

#endif

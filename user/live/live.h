/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A live builder: a taker of records that makes findings while they are recorded,
 * beside the writer of the capture file and from the same records.
 *
 * A thread of its own merges the streams by time and feeds a builder. Between the
 * threads that drain the rings and this one there is a queue of a fixed size for each
 * stream. If the thread cannot keep up, records are left out here, and here alone: they
 * are counted, and the builder gets a GAP record in their place. The drain never waits.
 */
#ifndef CLEW_LIVE_LIVE_H
#define CLEW_LIVE_LIVE_H

#include "builder/build.h"
#include "record/stream/taker.h"

struct clew_live;

struct clew_live_options {
	size_t size;	   /* sizeof(struct clew_live_options) */
	unsigned cpus;	   /* as clew_kernel_cpus() counts them */
	size_t queue_size; /* bytes a stream, 0: at most 4 MiB, and 64 MiB in all */
	uint64_t pause;	   /* ns between two looks at the queues, below 1 s; 0: 10 ms */
	struct clew_builder_options builder; /* what probes cost; the rest is the live side's */
	/* The builder's takers. They are called on the live thread. The array is copied, its
	 * contexts outlive clew_live_free(). */
	const struct clew_finding_taker *takers;
	size_t taker_count;
};

/* Starts the thread. 0 or -errno. */
int clew_live_new(const struct clew_live_options *options, struct clew_live **ret_live);

/* The taker to give to the recorder (record/recorder.h). */
struct clew_record_taker clew_live_taker(struct clew_live *live);

struct clew_live_summary {
	uint64_t records; /* that the builder got, GAP records for missed ones not included */
	uint64_t missed;  /* records left out, as a queue was full */
	uint64_t late;	  /* records that came out of order, see store/merge.h */
};

/* Records that were left out so far; any thread may ask. */
uint64_t clew_live_missed(const struct clew_live *live);

/*
 * When the thread last went round, ns of CLOCK_MONOTONIC, 0: not yet; any thread may ask. It does
 * not after the builder or a taker failed.
 */
uint64_t clew_live_went_round(const struct clew_live *live);

/* The number of times that the builder has forgotten something for want of room; any thread may
 * ask. */
uint64_t clew_live_forgotten(const struct clew_live *live);

/*
 * Once the recording has stopped: feeds what is in the queues, finishes the builder if
 * the recording has an end, and ends the thread. 0, or the error of the builder or of
 * one of its takers.
 */
int clew_live_finish(struct clew_live *live, struct clew_live_summary *ret_summary);

/* Once the recording has stopped. NULL is ignored. */
void clew_live_free(struct clew_live *live);

#endif

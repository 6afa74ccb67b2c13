/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rings of CPUs and the threads that empty them: a drain has the streams of some CPUs, and a
 * stream one CPU's rings.
 *
 * Invariant: a drain's lock protects its streams; one thread at a time empties them.
 */
#ifndef CLEW_RECORD_STREAM_DRAIN_H
#define CLEW_RECORD_STREAM_DRAIN_H

#include <clew/kernel/maps.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/message.h"
#include "record/stream/outlet.h"

struct clew_recorder;
struct clew_sleepers;
struct clew_talks;
struct ring_buffer;

/* The memory of all CPUs' rings, as the programs see it. */
struct rings {
	size_t size;		     /* bytes of a CPU's slots and ring buffer together */
	size_t records_size;	     /* bytes of a CPU's ring buffer */
	struct clew_cpu_state *cpus; /* mapped from the kernel, one a CPU */
	size_t cpus_size;
	struct clew_switch_slot *slots; /* mapped from the kernel, switch_slots a CPU */
	size_t slots_size;
	uint32_t switch_slots;
};

/*
 * Records taken from a ring buffer that are kept until all older slots are
 * read.
 */
struct pending {
	char *data;
	size_t size, room;
};

/*
 * One CPU's rings, and the records that come from them. Its drain's lock
 * protects it.
 */
struct stream {
	struct clew_recorder *recorder;
	struct drain *drain;
	struct ring_buffer *records; /* the ring buffer that `ring` is */
	struct pending kept;	     /* what the last round left of it */
	uint64_t named[1024];	     /* kernel addresses whose names were passed on, by hash .. */
	uint64_t named_in;	     /* .. for the outlets of this number */
	unsigned cpu;
	int ring;	    /* map */
	uint32_t lost;	    /* of the last record */
	uint64_t last_time; /* of the last record */
	uint64_t last_gap;  /* when records were last found to be lost, 0 never */
	size_t fill;	    /* bytes that this round found in the ring buffer */
	size_t slot_fill;   /* slots that this round found */
	uint64_t horizon;   /* of the last round, see struct clew_round */
	struct outlets outlets;
};

struct drain {
	struct clew_recorder *recorder;
	struct pending
		pending; /* of the stream whose turn it is: together they are many times a ring */
	int urgent;	 /* epoll descriptor: ready when a program woke one of the rings */
	struct stream *streams; /* the streams of this drain, stream_count of them */
	unsigned stream_count;
	pthread_mutex_t lock; /* protects the rings, the streams, the next two and `pause` */
	struct clew_sleepers *sleepers; /* NULL: there are no keyframes */
	struct clew_talks *talks;	/* NULL: nothing is stated of messages again */
	uint64_t pause;			/* ns that the polling thread sleeps after a round */
	_Atomic uint64_t polled;	/* ns: when that thread last ended a round, 0 not yet */
	pthread_t threads[2];
	unsigned thread_count;
};

struct drains {
	struct drain *of;
	unsigned count;
	atomic_bool stopping;
	int stop_event; /* event descriptor, ready once `stopping` is set */
};

/* Passes on a record of the ring buffer, with a GAP before it if records were lost. */
void clew_stream_pass(struct stream *stream, const void *data, size_t size);
/* Passes on a slot. The record may take the slot `next`, too; returns how many it took.
 */
unsigned clew_stream_pass_slot(struct stream *stream, const struct clew_switch_slot *slot,
			       const struct clew_switch_slot *next);
/* A GAP from the stream's last record to `to`. */
void clew_stream_gap(struct stream *stream, uint64_t to, uint32_t count);

#define CLEW_URGENT_SHARE                                                                          \
	4 /* a program wakes the urgent thread when 1/4 of a ring buffer is full */

void clew_drain_sizes(struct clew_recorder *recorder); /* before clew_load() */
int clew_drain_open(struct clew_recorder *recorder, struct clew_message *message);
/*
 * One round; the caller holds the lock. The last round keeps no records for a
 * next one.
 */
void clew_drain_round(struct drain *drain, bool last);
/*
 * After the last round: passes on what is still open in the kernel, and GAPs
 * for the last losses.
 */
void clew_drain_end(struct clew_recorder *recorder);
void clew_drain_close(struct clew_recorder *recorder);

/* Gives the calling thread a real-time policy. 0 or -errno. */
int clew_go_first(void);
int clew_drain_start(struct clew_recorder *recorder, struct clew_message *message);
/* While the threads run: waits until all records of the rings that are older have been passed on.
 */
void clew_drain_await(struct clew_recorder *recorder, uint64_t time);
/* Ends the threads, which empty the rings first, and the stream of each CPU. */
void clew_drain_stop(struct clew_recorder *recorder);

#endif

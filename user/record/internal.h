/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the recorder share. */
#ifndef CLEW_RECORD_INTERNAL_H
#define CLEW_RECORD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <clew/kernel/maps.h>

#include "record/recorder.h"

#define TAKERS_MOST 4 /* the writer included */

struct bpf_object;
struct clew_announcer;
struct clew_bpf;
struct ring_buffer;

/* Records taken from a ring buffer, kept until the switches before them are read. */
struct pending {
	char *data;
	size_t size, room;
	size_t old; /* of the data, bytes that were there before this round */
};

/* One CPU's rings, as their drain sees them. */
struct stream {
	struct clew_recorder *recorder;
	struct pending pending;
	uint64_t named[1024]; /* kernel addresses whose names are in the file, by hash */
	unsigned cpu;
	int ring;	    /* map */
	uint32_t lost;	    /* of the last record */
	uint64_t last_time; /* of the last record */
	size_t fill;	    /* bytes found in the ring of everything else in this round */
	size_t slot_fill;   /* and slots in the other */
	uint64_t read[CLEW_KIND_COUNT];
	uint64_t made[CLEW_KIND_COUNT]; /* records of the drain's own making */
};

struct drain {
	struct clew_recorder *recorder;
	struct ring_buffer *rings;
	int urgent;		/* epoll: a program found one of them rather full */
	struct stream *streams; /* its share of them */
	unsigned stream_count;
	pthread_mutex_t lock; /* of the rings and streams */
	uint64_t pause;	      /* ns until it looks again; under the lock */
	pthread_t threads[2];
	unsigned thread_count;
};

/* Sampled run time of the programs. */
struct cost_sampler {
	uint64_t begun; /* ns, of the sample under way */
	uint64_t next;
	uint64_t sampled_ns; /* wall time that samples covered */
	bool any;
	struct program_cost {
		int descriptor;
		int kind; /* whose count tells how often it ran, -1 none */
		uint64_t start_time, start_count;
		uint64_t time, count;
	} programs[160];
	unsigned program_count;
};

struct clew_recorder {
	struct clew_bpf *bpf;
	struct clew_writer *writer;
	struct clew_record_taker takers[TAKERS_MOST];
	unsigned taker_count;
	struct clew_kernel_symbols *symbols; /* NULL: hidden */
	struct clew_cpu_state *cpus;	     /* mapped from the kernel, cpu_count of them */
	size_t cpus_size;
	struct clew_switch_slot *slots; /* likewise: switch_slots a CPU */
	size_t slots_size;
	uint32_t switch_slots;
	size_t records_size; /* bytes of a CPU's ring of everything else */
	unsigned cpu_count;
	struct stream *streams;
	struct drain *drains;
	unsigned drain_count;
	size_t ring_size; /* bytes of a CPU's two rings together */
	uint64_t pause_drain;
	atomic_bool stopping;
	int stop_event;	     /* event descriptor: when stopping is set */
	atomic_bool started; /* the gate was opened */
	/*
	 * Between start and stop no record of the user stream comes, and the first drain
	 * ends that stream's rounds. It is false before `end` is read from the clock.
	 */
	atomic_bool user_silent;
	uint64_t start;
	uint64_t start_cpu_time;
	uint64_t next_clock;
	struct cost_sampler cost;
	const struct clew_layers *layers; /* NULL none */
	struct clew_announcer *announcer; /* NULL: nothing is announced here */
	const char *page_cache;	  /* what of it is recorded: "on", "off", "refused" by the kernel */
	unsigned modules;	  /* that were there when programs were loaded last, by
				     clew_programs_modules; ~0 never look */
	struct clew_bpf *more[4]; /* programs for modules that came later */
	unsigned more_count;
	struct bpf_link *stores[2]; /* see stores.c; NULL not attached */
	bool verify;
	uint64_t user_reads[CLEW_KIND_COUNT]; /* records the iterator gave */
	uint64_t
		missed_before[CLEW_KIND_COUNT]; /* runs that were left out before it was recorded */
};

/* clock.c: CLOCK_MONOTONIC in the steps in which the programs read it, and this process's CPU time;
 * ns. */
uint64_t clew_now(void);
uint64_t clew_cpu_time(void);

/* load.c: opens and loads the kernel side, and maps its rings. */
int clew_load(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	      struct clew_message *message);
/* load.c: says that the kernel refused `what` with this error. */
int clew_say_refused(struct clew_message *message, const char *what, int error);

/* meta.c: what the capture says of the machine and of the options; a number; a reading of the
 * clocks. 0 or the file's error. */
int clew_meta_write(struct clew_recorder *recorder, const struct clew_recorder_options *options);
int clew_meta_number(struct clew_recorder *recorder, const char *key, uint64_t value);
int clew_meta_clock(struct clew_recorder *recorder);

/* stream.c: passes on a record of the ring buffer, with a GAP before it if records were lost. */
void clew_stream_pass(struct stream *stream, const void *data, size_t size);
/* stream.c: passes on a slot. The record may take the slot `next`, too; returns how many it took.
 */
unsigned clew_stream_pass_slot(struct stream *stream, const struct clew_switch_slot *slot,
			       const struct clew_switch_slot *next);
/* stream.c: a GAP from the stream's last record to `to`. */
void clew_stream_gap(struct stream *stream, uint64_t to, uint32_t count);

#define CLEW_URGENT_SHARE                                                                          \
	4 /* of a ring of everything else: when so much of it is full a thread is woken */

/* drain.c */
void clew_drain_sizes(struct clew_recorder *recorder); /* before load */
int clew_drain_open(struct clew_recorder *recorder, struct clew_message *message);
/* Takes what the rings hold; with the lock held. The last time nothing is kept for the next. */
void clew_drain_round(struct drain *drain, bool last);
/* After the last round: what no program has told and what was lost since. */
void clew_drain_end(struct clew_recorder *recorder);
void clew_drain_close(struct clew_recorder *recorder);

/* drain_threads.c: the calling thread goes before all ordinary ones from now on. 0 or -errno. */
int clew_go_first(void);
int clew_drain_start(struct clew_recorder *recorder, struct clew_message *message);
/* Drains what is left and ends the threads. */
void clew_drain_stop(struct clew_recorder *recorder);

/*
 * takers.c: a record, the end of a round, the start and the end of the recording for all
 * takers. Put: 0 or the first error that one of them met.
 */
void clew_takers_add_writer(struct clew_recorder *recorder);
int clew_takers_add(struct clew_recorder *recorder, const struct clew_record_taker *takers,
		    size_t count);
void clew_takers_begin(const struct clew_recorder *recorder, uint64_t start);
int clew_takers_put(const struct clew_recorder *recorder, unsigned stream, const void *record,
		    size_t size);
void clew_takers_round(const struct clew_recorder *recorder, unsigned stream,
		       const struct clew_round *round);
void clew_takers_end(const struct clew_recorder *recorder, uint64_t end);

/* iterate.c */
int clew_iterate_tasks(struct clew_recorder *recorder, enum clew_pass which,
		       struct clew_message *message);

/* hidden.c: identifies tasks that /proc shows and the iterator did not; `known` are the tids it
 * did, in order. Returns 0 or the file's error. */
int clew_identify_hidden(struct clew_recorder *recorder, const uint32_t *known, size_t count);

/* user_stream.c: a record for the user stream. 0 or the first error of a taker. */
int clew_put_user(struct clew_recorder *recorder, const void *record, size_t size);
/* user_stream.c: ends a round of the user stream. No record that comes later may be older than
 * `now`.
 */
void clew_user_round(struct clew_recorder *recorder, uint64_t now, bool flush);
/* user_stream.c: the text behind a hash, cut to what a record takes */
int clew_put_text(struct clew_recorder *recorder, uint64_t hash, const char *text, uint64_t time);

/* disks.c: names of the machine's disks, told with that time; the file's error */
int clew_disks_read(struct clew_recorder *recorder, uint64_t time);

/* filter.c: before load, then after it */
int clew_filter_prepare(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			struct clew_message *message);
int clew_filter_fill(struct clew_bpf *bpf, const struct clew_recorder_options *options,
		     struct clew_message *message);

/* cost.c. Add: the programs of an object that is loaded, between two ticks. */
void clew_cost_add(struct clew_recorder *recorder, const struct bpf_object *object);
void clew_cost_tick(struct clew_recorder *recorder, uint64_t now);
void clew_cost_close(struct clew_recorder *recorder, uint64_t duration, struct clew_cost *ret_cost);

/* stores.c: whether it is noted where stores fault. Prepare: before attaching. */
void clew_stores_prepare(struct clew_bpf *bpf);
void clew_stores_open(struct clew_recorder *recorder);
void clew_stores_tick(struct clew_recorder *recorder);
void clew_stores_close(struct clew_recorder *recorder);

/* modules.c: programs for file systems that are loaded while it is recorded. Close: before the
 * rings are closed. */
void clew_modules_open(struct clew_recorder *recorder, bool page_cache);
void clew_modules_tick(struct clew_recorder *recorder);
void clew_modules_close(struct clew_recorder *recorder);

/* missed.c: how many runs of programs the kernel has left out so far, by kind (CLEW_KIND_COUNT of
 * them) */
void clew_missed_runs(const struct clew_recorder *recorder, uint64_t *ret_counts);

/* ledger.c */
int clew_ledger_write(struct clew_recorder *recorder, const struct clew_cost *cost,
		      struct clew_recorder_summary *ret_summary);

#endif

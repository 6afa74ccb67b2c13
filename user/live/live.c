/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The live builder: the queues' feeding side, which drain threads run, and the thread. */
#include "live/live.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "store/capture.h"
#include "store/merge.h"

#define QUEUE_SIZE_MOST	 (4u << 20)
#define QUEUE_SIZE_TOTAL (64u << 20)
#define PAGES_MOST	 (64u << 20) /* bytes for what the builder knows of pages of files */
#define PAUSE		 10000000    /* ns between two runs of the merge */

/*
 * Records that were left out of a stream. Only the thread that feeds the stream
 * writes here.
 */
struct missing {
	uint64_t last_time; /* of the last record that was fed */
	uint64_t count;	    /* of records left out since then */
	uint64_t total;
	uint64_t gaps; /* GAP records fed for them */
};

struct clew_live {
	unsigned cpus;
	struct clew_builder_options options; /* of the builder */
	struct clew_finding_taker *takers;
	size_t taker_count;
	uint64_t pause;
	struct clew_merge *merge;
	struct missing *missing; /* CPUs, then the user stream */
	pthread_t thread;
	bool started;
	_Atomic uint64_t start;	    /* ns, 0: recording has not begun */
	_Atomic uint64_t end;	    /* ns, 0: it has no end yet */
	atomic_bool ending;	    /* no record follows */
	_Atomic uint64_t forgotten; /* by the builder, of both kinds */
	_Atomic uint64_t round;	    /* ns: the thread's last, 0: there was none yet */

	/* The thread's own: */
	struct clew_builder *builder;
	uint64_t fed;
	int error;
};

/* ---- feeding ---- */

static struct missing *find_missing(struct clew_live *live, unsigned stream)
{
	return &live->missing[stream == CLEW_STREAM_USER ? live->cpus : stream];
}

static struct clew_gap gap_of(const struct missing *missing, unsigned stream, uint64_t time)
{
	return (struct clew_gap){
		.header = {.time = time, .cpu = stream, .kind = CLEW_KIND_GAP},
		.from = missing->last_time < time ? missing->last_time : time,
		.count = missing->count < UINT32_MAX ? missing->count : UINT32_MAX,
	};
}

/* Feeds a GAP for what was left out before a record of that time. */
static bool feed_gap(struct clew_live *live, unsigned stream, struct missing *missing,
		     uint64_t time)
{
	struct clew_gap gap = gap_of(missing, stream, time);

	if (clew_merge_feed(live->merge, stream, &gap.header, sizeof(gap)))
		return false;
	missing->count = 0;
	missing->gaps++;
	return true;
}

static int take(void *context, unsigned stream, const struct clew_header *record, size_t size)
{
	struct clew_live *live = context;
	struct missing *missing = find_missing(live, stream);

	if ((!missing->count || feed_gap(live, stream, missing, record->time)) &&
	    !clew_merge_feed(live->merge, stream, record, size)) {
		missing->last_time = record->time;
	} else {
		missing->count++;
		__atomic_store_n(&missing->total, missing->total + 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static void advance(void *context, unsigned stream, const struct clew_round *round)
{
	struct clew_live *live = context;

	clew_merge_advance(live->merge, stream, round->horizon);
}

static void begin(void *context, uint64_t start)
{
	struct clew_live *live = context;

	atomic_store(&live->start, start);
}

static void end(void *context, uint64_t time)
{
	struct clew_live *live = context;

	atomic_store(&live->end, time);
	/* It need not wait until the recorder has closed its files. */
	atomic_store(&live->ending, true);
}

struct clew_record_taker clew_live_taker(struct clew_live *live)
{
	return (struct clew_record_taker){
		.context = live,
		.begin = begin,
		.take = take,
		.round = advance,
		.end = end,
	};
}

/* ---- the thread ---- */

static int feed_builder(void *context, const struct clew_header *record)
{
	struct clew_live *live = context;

	live->fed++;
	return clew_builder_feed(live->builder, record);
}

static void note_forgotten(struct clew_live *live)
{
	struct clew_builder_forgotten forgotten = clew_builder_forgotten(live->builder);

	atomic_store(&live->forgotten, forgotten.pages + forgotten.blocks);
}

/* Feeds what has become certain. Nothing does before the recording has begun. */
static int run(struct clew_live *live)
{
	struct clew_builder_options options = live->options;
	int r = 0;

	options.size = sizeof(options);
	options.start = atomic_load(&live->start);
	options.memory_most = options.memory_most ?: PAGES_MOST;
	if (!options.start)
		return 0;
	if (!live->builder)
		r = clew_builder_new(&options, live->takers, live->taker_count, &live->builder);
	if (r == 0)
		r = clew_merge_run(live->merge, feed_builder, live);
	if (r < 0)
		return r;
	note_forgotten(live);
	return clew_builder_advance(live->builder, clew_merge_horizon(live->merge));
}

/* Feeds the last records, and GAPs for those left out behind them. */
static int finish(struct clew_live *live)
{
	uint64_t time = atomic_load(&live->end);
	int r;

	if (!time)
		return 0;
	clew_merge_end(live->merge);
	r = clew_merge_run(live->merge, feed_builder, live);
	for (unsigned i = 0; r >= 0 && i <= live->cpus; i++) {
		unsigned stream = i == live->cpus ? CLEW_STREAM_USER : i;
		struct clew_gap gap = gap_of(&live->missing[i], stream, time);

		if (gap.count)
			r = clew_builder_feed(live->builder, &gap.header);
	}
	if (r >= 0)
		r = clew_builder_finish(live->builder, time);
	if (live->builder)
		note_forgotten(live);
	return r;
}

static void *live_main(void *context)
{
	struct clew_live *live = context;
	const struct timespec pause = {.tv_nsec = (long)live->pause};
	int r = 0;

	pthread_setname_np(pthread_self(), "clew-live");
	while (r >= 0 && !atomic_load(&live->ending)) {
		r = run(live);
		if (r >= 0)
			atomic_store_explicit(&live->round, clock_read(CLOCK_MONOTONIC),
					      memory_order_relaxed);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	if (r >= 0)
		r = run(live);
	live->error = r < 0 ? r : finish(live);
	return NULL;
}

/* ---- making and ending ---- */

static size_t queue_size_of(const struct clew_live_options *options)
{
	size_t size = QUEUE_SIZE_TOTAL / (options->cpus + 1);

	if (options->queue_size)
		return options->queue_size;
	return size < QUEUE_SIZE_MOST ? size : QUEUE_SIZE_MOST;
}

int clew_live_new(const struct clew_live_options *options, struct clew_live **ret_live)
{
	struct clew_live *live;
	int r;

	if (options->size < sizeof(*options))
		return -EINVAL;
	live = calloc(1, sizeof(*live));
	if (!live)
		return -ENOMEM;
	live->cpus = options->cpus;
	live->options = options->builder;
	live->pause = options->pause ?: PAUSE;
	live->taker_count = options->taker_count;
	live->takers = malloc(options->taker_count * sizeof(*live->takers) + 1);
	live->missing = calloc(options->cpus + 1, sizeof(*live->missing));
	r = live->takers && live->missing
		    ? clew_merge_new(options->cpus, queue_size_of(options), &live->merge)
		    : -ENOMEM;
	if (r == 0) {
		memcpy(live->takers, options->takers, options->taker_count * sizeof(*live->takers));
		r = store_thread_start(&live->thread, live_main, live);
	}
	live->started = r == 0;
	if (r < 0) {
		clew_live_free(live);
		return r;
	}
	*ret_live = live;
	return 0;
}

uint64_t clew_live_missed(const struct clew_live *live)
{
	uint64_t missed = 0;

	for (unsigned i = 0; i <= live->cpus; i++)
		missed += __atomic_load_n(&live->missing[i].total, __ATOMIC_RELAXED);
	return missed;
}

uint64_t clew_live_forgotten(const struct clew_live *live)
{
	return atomic_load(&live->forgotten);
}

uint64_t clew_live_went_round(const struct clew_live *live)
{
	return atomic_load_explicit(&live->round, memory_order_relaxed);
}

static void join(struct clew_live *live)
{
	if (!live->started)
		return;
	atomic_store(&live->ending, true);
	store_thread_join(live->thread);
	live->started = false;
}

int clew_live_finish(struct clew_live *live, struct clew_live_summary *ret_summary)
{
	join(live);
	*ret_summary = (struct clew_live_summary){
		.records = live->fed,
		.late = clew_merge_late(live->merge),
	};
	for (unsigned i = 0; i <= live->cpus; i++) {
		ret_summary->missed += live->missing[i].total;
		ret_summary->records -= live->missing[i].gaps;
	}
	return live->error;
}

void clew_live_free(struct clew_live *live)
{
	if (!live)
		return;
	join(live);
	clew_builder_free(live->builder);
	clew_merge_free(live->merge);
	free(live->missing);
	free(live->takers);
	free(live);
}

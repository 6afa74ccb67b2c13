/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a recording. The folders that do a part of it read and set their members;
 * record/recorder.h starts and stops it. Other code sees an incomplete type only.
 */
#ifndef CLEW_RECORD_STREAM_RECORDER_STATE_H
#define CLEW_RECORD_STREAM_RECORDER_STATE_H

#include <clew/kernel/maps.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vector.h"
#include "record/stream/cost.h"
#include "record/stream/drain.h"
#include "record/stream/files.h"
#include "record/stream/recording.h"
#include "record/stream/refusals.h"
#include "record/stream/takers.h"
#include "record/stream/user_stream.h"

struct bpf_link;
struct clew_addresses;
struct clew_announcer;
struct clew_bpf;
struct clew_interrupt;
struct clew_kernel_symbols;
struct clew_stacks;
struct clew_tick_clock;
struct clew_tracer;
struct drain;
struct stream;

struct clew_recorder {
	struct clew_bpf *bpf;
	struct clew_recorder_options options; /* arrays in it only last while it is opened */
	struct takers takers;
	struct clew_interrupt *interrupt;    /* NULL: it records, or nothing is watched */
	struct clew_kernel_symbols *symbols; /* NULL: the kernel hides them */
	unsigned cpu_count;
	struct stream *streams;
	struct drains drains;
	struct rings rings;
	atomic_bool started; /* the programs were enabled */
	struct user_stream user;
	struct files files;
	uint64_t start;
	struct vector hidden; /* tasks that hidden.c found */
	uint64_t start_cpu_time;
	struct cost_sampler cost;
	struct clew_announcer *announcer; /* NULL: no calls are announced on this machine */
	struct clew_tracer *tracer;	  /* NULL: no functions are recorded */
	const char *page_cache;		  /* "on", "off", or "refused" by the kernel */
	const char *stacks_kept;	  /* in the same words */
	struct clew_refusals refusals;	  /* programs that the kernel does not take */
	char *without;			  /* what is lost with them, in words; NULL: nothing */
	unsigned modules; /* clew_programs_modules() when programs were last loaded; ~0: do not look
			     for new modules */
	struct clew_bpf *more[4]; /* programs for modules that were loaded during the recording */
	unsigned more_count;
	struct bpf_link *stores[2];    /* see stores.h; NULL: not attached */
	struct clew_tick_clock *ticks; /* see ticks.h; NULL: there are none */
	bool ticks_vary;
	unsigned ticks_varied;			 /* how often */
	struct clew_stacks *stacks;		 /* NULL: no stacks are taken */
	struct clew_addresses *addresses;	 /* NULL: none is named */
	uint64_t missed_before[CLEW_KIND_COUNT]; /* clew_missed_runs() at the start */
};

/* Bytes that all names may take together. */
static inline size_t clew_names_most(const struct clew_recorder *recorder)
{
	return recorder->options.names_most ?: CLEW_NAMES_MOST;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a recording. The folders that do a part of it read and set their members;
 * record/recorder.h starts and stops it. Other code sees an incomplete type only.
 */
#ifndef CLEW_RECORD_STREAM_RECORDER_STATE_H
#define CLEW_RECORD_STREAM_RECORDER_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "record/stream/cost.h"
#include "record/stream/drain.h"
#include "record/stream/files.h"
#include "record/stream/ledger.h"
#include "record/stream/recording.h"
#include "record/stream/refusals.h"
#include "record/stream/takers.h"
#include "record/stream/user_stream.h"

struct bpf_link;
struct clew_addresses;
struct clew_announcer;
struct clew_bpf;
struct clew_group_names;
struct clew_interrupt;
struct clew_kernel_symbols;
struct clew_stacks;
struct clew_tick_clock;
struct clew_tracer;
struct clew_runtimes;
struct stream;

/* Parts of a recording that the kernel may refuse. */
struct features {
	const char *page_cache; /* "on", "off", or "refused" by the kernel */
	const char *stacks;	/* in the same words */
	const char *network;	/* "outside", "all", "off" or "refused" */
	const char *messages;	/* "refused" also where the kernel does not show any */
	/* The loss with the programs that were refused, in words. NULL: there is none. */
	char *without;
};

/* Programs for modules of the kernel that were loaded during the recording. */
struct modules {
	unsigned seen; /* clew_programs_modules() when programs were last loaded; ~0: do not look
			  for new modules */
	struct clew_bpf *objects[4];
	unsigned count;
};

struct ticks {
	struct clew_tick_clock *clocks; /* see ticks.h; NULL: there are none */
	bool vary;
	unsigned varied; /* how often */
};

struct clew_recorder {
	struct clew_recorder_options options; /* arrays in it only last while it is opened */
	unsigned cpu_count;
	struct clew_bpf *bpf;
	struct clew_kernel_symbols *symbols; /* NULL: the kernel hides them */
	struct clew_interrupt *interrupt;    /* NULL: it records, or nothing is watched */
	uint64_t start;
	atomic_bool started; /* the programs were enabled */

	/* The kernel side. */
	struct clew_refusals refusals; /* programs that the kernel does not take */
	struct features features;
	struct modules modules;
	struct bpf_link *stores[2]; /* see stores.h; NULL: not attached */
	struct ticks ticks;

	/* The way of a record. */
	struct rings rings;
	struct stream *streams; /* one a CPU */
	struct drains drains;
	struct user_stream user;
	struct takers takers;
	struct files files;

	/* Counts. */
	struct ledger ledger;
	struct cost_sampler cost;

	/* Tasks, stacks and functions. */
	uint64_t next_look;		  /* at what tasks sleep on for long: ends.c */
	struct vector hidden;		  /* tasks that hidden.c found */
	struct clew_stacks *stacks;	  /* NULL: no stacks are taken */
	struct clew_addresses *addresses; /* NULL: none is named */
	struct clew_group_names *group_names;
	struct clew_announcer *announcer; /* NULL: no calls are announced on this machine */
	struct clew_tracer *tracer;	  /* NULL: no functions are recorded */
	struct clew_runtimes *runtimes;	  /* NULL: no runtimes are */
};

/* Bytes that all names may take together. */
static inline size_t clew_names_most(const struct clew_recorder *recorder)
{
	return recorder->options.names_most ?: CLEW_NAMES_MOST;
}

#endif

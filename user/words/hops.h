/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chain of a segment of a why with its reasons: for each task what it waited
 * for, and by which dependency the next one was reached.
 */
#ifndef CLEW_WORDS_HOPS_H
#define CLEW_WORDS_HOPS_H

#include "explain/why.h"
#include <stdio.h>

/* The number of tasks of the chain that wait for another one than themselves: places 0.. */
uint32_t clew_hop_count(const struct clew_segment *segment);
/* The task behind a place of the chain, which is waited for there, and what led to it. */
uint32_t clew_hop_next(const struct clew_segment *segment, uint32_t place);
struct clew_hop_via clew_hop_via_behind(const struct clew_segment *segment, uint32_t place);
/* True if that task held what the one at the place waits for. */
bool clew_hop_holds(const struct clew_trace *trace, const struct clew_segment *segment,
		    uint32_t place);
/* Hops with equal keys have equal words by clew_hop_phrase(), but for calls and commits. */
uint64_t clew_hop_key(const struct clew_trace *trace, const struct clew_segment *segment,
		      uint32_t place);

/* The wait of a task of the chain, by its place; NULL: records are missing. */
const struct clew_sleep *clew_hop_sleep(const struct clew_trace *trace,
					const struct clew_segment *segment, uint32_t place);

/*
 * True for waits in which the task could not have gone on whatever was done for it:
 * for memory, stopped, throttled. `sleep` may be NULL.
 */
bool clew_is_held_back(const struct clew_sleep *sleep);

/* Prints what a wait was: "futex 0x7f001000", "flock /run/x.lock", "memory: swap on vda". */
void clew_print_hop_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep);

/*
 * Prints "asked-1 <- (futex 0x7f001000) holder-2 <- (pipe:[7], observed) ", up to
 * the segment's task and without it. Evidence is told where it is not exact.
 */
void clew_print_hops(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment);

/*
 * Prints " (memory: swap on vda)": that the segment's task was short of memory,
 * stopped or throttled, where the segment is about a step of that wait. Prints
 * nothing elsewhere.
 */
void clew_print_own_reason(FILE *out, const struct clew_trace *trace,
			   const struct clew_segment *segment);

/*
 * Prints "; asked-1 <- (futex 0x7f001000) holder-2 <- (pipe:[7]) writer-3" behind
 * the words about the last hop, unless these words say it all.
 */
void clew_print_chain(FILE *out, const struct clew_trace *trace,
		      const struct clew_segment *segment);

/* Segments of one task with equal keys have equal words by clew_print_chain(); 0: it prints
 * nothing. */
uint64_t clew_chain_key(const struct clew_trace *trace, const struct clew_segment *segment);

#endif

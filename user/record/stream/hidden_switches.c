/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notices that switches are missing from the recording, without building anything of it.
 *
 * A CPU's switches form a chain: the task that leaves is the one that came on last. A break is
 * not counted where records were lost in between, or where a task had no serial.
 */
#include "record/stream/hidden_switches.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "record/stream/kernel.h"

#define NO_SERIAL UINT32_MAX /* of a task without storage, which counts as missed */

/* One CPU, whose records come from one thread at a time. */
struct chain {
	uint32_t current; /* the serial of the task on the CPU */
	uint32_t lost;	  /* header.lost of the last switch */
	bool known;
} __attribute__((aligned(64)));

struct clew_hidden_switches {
	atomic_bool found;
	unsigned cpus;
	struct chain chains[];
};

struct clew_hidden_switches *clew_hidden_switches_new(void)
{
	int cpus = clew_kernel_cpus();
	size_t size = sizeof(struct clew_hidden_switches) + cpus * sizeof(struct chain);
	struct clew_hidden_switches *hidden = cpus > 0 ? aligned_alloc(64, size) : NULL;

	if (!hidden)
		return NULL;
	memset(hidden, 0, size);
	hidden->cpus = (unsigned)cpus;
	return hidden;
}

void clew_hidden_switches_free(struct clew_hidden_switches *hidden)
{
	free(hidden);
}

static bool is_broken(const struct chain *chain, const struct clew_switch *change)
{
	return chain->known && chain->lost == change->header.lost &&
	       chain->current != change->prev && chain->current != NO_SERIAL &&
	       change->prev != NO_SERIAL;
}

static int take(void *context, unsigned stream, const struct clew_header *record, size_t size)
{
	const struct clew_switch *change = (const struct clew_switch *)record;
	struct clew_hidden_switches *hidden = context;
	struct chain *chain;
	bool found;

	if (stream >= hidden->cpus || size < sizeof(*change))
		return 0;
	if (record->kind == CLEW_KIND_STATE && record->flags & CLEW_STATE_LATE)
		atomic_store_explicit(&hidden->found, true, memory_order_relaxed);
	if (record->kind != CLEW_KIND_SWITCH)
		return 0;
	chain = &hidden->chains[stream];
	/* A sleeper that comes on without the stamp of its wake was woken unseen. */
	found = is_broken(chain, change) ||
		(record->flags & CLEW_SWITCH_NEXT_SLEPT && !change->wake_time);
	*chain = (struct chain){.current = change->next, .lost = record->lost, .known = true};
	if (found)
		atomic_store_explicit(&hidden->found, true, memory_order_relaxed);
	return 0;
}

struct clew_record_taker clew_hidden_switches_taker(struct clew_hidden_switches *hidden)
{
	return (struct clew_record_taker){.context = hidden, .take = take};
}

bool clew_hidden_switches_found(const struct clew_hidden_switches *hidden)
{
	return atomic_load_explicit(&hidden->found, memory_order_relaxed);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remembers how long waits have been under way, over segments of one recording that follow each
 * other without a gap: a segment alone knows of a wait since its own begin only.
 */
#ifndef CLEW_TOP_AGES_H
#define CLEW_TOP_AGES_H

#include "base/map.h"
#include "trace/trace.h"

/* Zeroed at first; ages_done() at last. */
struct ages {
	struct map before; /* task -> how long its wait lasted when the last segment ended, ns */
	struct map unseen; /* tasks whose wait began before the first segment */
	uint64_t end;	   /* ns, of the last segment; 0: there was none */
};

/*
 * Takes the next segment. If one in between was missed, waits that go on count from this segment's
 * begin, as a thread may have slept anew in between. 0 or -ENOMEM.
 */
int ages_take(struct ages *ages, const struct clew_trace *trace);

/* The time that a wait has lasted which is open at the end of the last segment, ns. *ret_longer: it
 * began before anything was seen of it. */
uint64_t ages_of(const struct ages *ages, const struct clew_sleep *sleep, bool *ret_longer);

void ages_done(struct ages *ages);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts the waits that go on, by kind, and keeps the age of the oldest one. Each ONGOING_PERIOD it
 * counts them anew.
 *
 * Invariant: memory is fixed. A kind that was seen once stays, with a count of 0 if none goes on.
 */
#ifndef CLEW_DAEMON_ONGOING_H
#define CLEW_DAEMON_ONGOING_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/tokens.h>

#define ONGOING_PERIOD 1000000000ull /* ns */
#define ONGOING_KINDS  (CLEW_SEGMENT_RUNQUEUE + 1)

struct ongoing {
	uint64_t at; /* ns: when they were counted last, 0 never */
	struct ongoing_kind {
		uint64_t count;
		uint64_t longest; /* ns, until `at` */
		bool seen;
	} kinds[ONGOING_KINDS];
};

/* True if it is time to count them; then none is counted yet. */
bool ongoing_begin(struct ongoing *ongoing, uint64_t now);
/* Counts one that began at `start`, ns. */
void ongoing_add(struct ongoing *ongoing, unsigned kind, uint64_t start);

#endif

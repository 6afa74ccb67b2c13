/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takers: where the records of a recording go. The writer of the capture file is one
 * of them, and every taker gets the same records.
 *
 * Records are handed over one by one as they come out of the rings, because to make a
 * batch they would have to be copied together first. After each look at the rings
 * comes a round, which says up to what time the stream is complete.
 */
#ifndef CLEW_RECORD_STREAM_TAKER_H
#define CLEW_RECORD_STREAM_TAKER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>

/* The end of a round of one stream. */
struct clew_round {
	uint64_t now; /* ns, when the round ended */
	/*
	 * ns: records of this stream that come after this round are not older, but for
	 * rare ones whose program was interrupted for longer than CLEW_ROUND_LAG between
	 * reading the clock and handing the record over.
	 */
	uint64_t horizon;
	bool flush; /* what was taken shall be stored now */
};

#define CLEW_ROUND_LAG 1000000ULL /* ns */

/*
 * A stream is a CPU's number or CLEW_STREAM_USER (store/capture.h). Calls for one
 * stream come from one thread at a time, calls for different streams from several
 * threads at once.
 *
 * Invariant for `take` and `round`: a thread that drains the rings runs them, so they
 * take no lock that a slow thread may hold, and ask for no memory (store/buffers.h
 * says why).
 */
struct clew_record_taker {
	void *context;
	/* `start` ns: recording was enabled. Some records come before it. NULL: ignored. */
	void (*begin)(void *context, uint64_t start);
	/*
	 * One record: `size` bytes or fewer of them, as the record itself says. It lives
	 * during the call. Records of a stream come nearly in order of time. 0 or
	 * -errno; an error of one taker keeps no record from the others.
	 */
	int (*take)(void *context, unsigned stream, const struct clew_header *record, size_t size);
	/* NULL: ignored. */
	void (*round)(void *context, unsigned stream, const struct clew_round *round);
	/* `end` ns: recording was disabled. No record follows. A recording that failed to
	 * begin has no end either. NULL: ignored. */
	void (*end)(void *context, uint64_t end);
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passes what streams have to all takers of records, the writer of the capture file among them. */
#ifndef CLEW_RECORD_STREAM_TAKERS_H
#define CLEW_RECORD_STREAM_TAKERS_H

#include <stddef.h>
#include <stdint.h>

#include "record/stream/taker.h"

struct clew_recorder;

#define TAKERS_MOST 6 /* the writer included */

struct takers {
	struct clew_record_taker of[TAKERS_MOST];
	unsigned count;
};

/*
 * A record, the end of a round, the start and the end of the recording for all
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

#endif

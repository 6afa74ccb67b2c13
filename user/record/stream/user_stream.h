/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records that this process makes itself, in a stream of their own. Several threads put them; a
 * lock gives them their order.
 */
#ifndef CLEW_RECORD_STREAM_USER_STREAM_H
#define CLEW_RECORD_STREAM_USER_STREAM_H

#include <clew/kernel/records.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "record/stream/outlet.h"

struct clew_recorder;

struct user_stream {
	/*
	 * Set between start and stop, when all records have the time at which they are put: the
	 * first drain then ends the rounds. It is cleared before the end's time is read from the
	 * clock.
	 */
	atomic_bool current;
	pthread_mutex_t lock; /* for records and rounds */
	struct outlets outlets;
	struct vector kept;		/* records that each further file begins with */
	uint64_t lost[CLEW_KIND_COUNT]; /* records that were left out for their number */
};

/* A record for the user stream. 0 or the first error of a taker. */
int clew_put_user(struct clew_recorder *recorder, const void *record, size_t size);
/* The same, while programs record; sets the record's time and CPU. */
int clew_put_user_now(struct clew_recorder *recorder, struct clew_header *record, size_t size);
/* The same, and each further file of the recording begins with the record, too. Before there is a
 * file the record waits for clew_put_user_first(). */
int clew_put_user_kept(struct clew_recorder *recorder, struct clew_header *record, size_t size);
/* The first file is open. */
int clew_put_user_first(struct clew_recorder *recorder);
/* Puts those records once more. */
int clew_put_user_again(struct clew_recorder *recorder);
/* Forgets kept records for which `gone` is true. */
void clew_forget_user_kept(struct clew_recorder *recorder,
			   bool (*gone)(void *context, const struct clew_header *record),
			   void *context);
/*
 * Ends a round of the user stream. No later record of it may be
 * older than `now`.
 */
void clew_user_round(struct clew_recorder *recorder, uint64_t now, bool flush);
/* Ends a round unless a thread is putting a record, for which it does not wait. */
void clew_user_try_round(struct clew_recorder *recorder, uint64_t now);
/*
 * Puts the text of a hash, cut to the size of a record. 0 or the
 * file's error.
 */
int clew_put_text(struct clew_recorder *recorder, uint64_t hash, const char *text, uint64_t time);

/* Puts the names of the kernel addresses of a wait. 0 or the file's error. */
int clew_name_function(struct clew_recorder *recorder, const struct clew_wait *wait, uint64_t time);

#endif

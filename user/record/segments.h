/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The directory of a recording that goes on from one file, a segment, to the next: their names,
 * and which of them are kept.
 *
 * A name begins with a number of eight digits, so names sort by time. Numbers go on from what the
 * directory has. Files with other names are left alone. One recording at a time has a directory.
 */
#ifndef CLEW_RECORD_SEGMENTS_H
#define CLEW_RECORD_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/message.h"

struct clew_segments;

/* True if segments of that length or size would cost more than they are worth. */
bool clew_segments_too_short(const struct clew_amount *rotate);

/*
 * Makes the directory, or takes one that is there. `keep_ns`, `keep_bytes`: what is kept at least,
 * and at most; 0: all. `elsewhere`: what the message says is to be done. 0 or -errno with a
 * message.
 */
int clew_segments_open(const char *directory, uint64_t keep_ns, uint64_t keep_bytes,
		       const char *elsewhere, struct clew_segments **ret_segments,
		       struct clew_message *message);

/* Changes what is kept, from the next trim on. */
void clew_segments_keep(struct clew_segments *segments, uint64_t keep_ns, uint64_t keep_bytes);

/* The path of the next segment, which becomes the current one. NULL: no memory. */
const char *clew_segments_next(struct clew_segments *segments);

/* The segment that was asked for last was not begun: the one before is the current one still. */
void clew_segments_undo(struct clew_segments *segments);

/*
 * Removes old segments, never the current one; it has `bytes` now. A file that a reader has open
 * stays readable for it.
 */
void clew_segments_trim(struct clew_segments *segments, uint64_t bytes);

#define CLEW_SEGMENTS_PID                                                                          \
	"recorder.pid" /* the file in the directory that has the pid of who records */

/* The process that records into the directory; -ESRCH: nobody does; or another -errno. */
int clew_segments_recorder(const char *directory);

/* True if the directory has a segment. */
bool clew_segments_there(const char *directory);

struct clew_segments_held {
	size_t count;	/* the current one included */
	uint64_t since; /* ns, CLOCK_MONOTONIC: of the oldest one's begin */
	uint64_t bytes; /* without the current one */
};
struct clew_segments_held clew_segments_held(const struct clew_segments *segments);

void clew_segments_close(struct clew_segments *segments);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The questions that are open at connections whose messages are recorded. A keyframe, and a further
 * file, state them again for a reader that begins there. A drain has a table for its CPUs, which
 * its lock protects.
 *
 * A question is open at the asking side if that sent after it last received, and at the other side
 * if it received after it last sent. Records of several CPUs come in no common order.
 */
#ifndef CLEW_RECORD_STREAM_TALKS_H
#define CLEW_RECORD_STREAM_TALKS_H

#include <clew/kernel/records.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clew_talks;

/* NULL: no memory. */
struct clew_talks *clew_talks_new(void);
void clew_talks_free(struct clew_talks *talks);

/* Takes a MESSAGE or a SOCKET; others are ignored. One for which there is no room is forgotten. */
void clew_talks_note(struct clew_talks *talks, const struct clew_header *record);

/*
 * Finds the first message of each question before `now` (ns) that is open according to all tables,
 * at most `room` of them, and makes it one of `now` that says when it was sent or came. Forgets
 * connections that are quiet for long. Returns how many there are.
 */
size_t clew_talks_open(struct clew_talks *const *tables, size_t count, uint64_t now,
		       struct clew_message_record *ret_messages, size_t room);

/* The number of connections that a table has room for. */
#define CLEW_TALKS_ROOM 16384

#endif

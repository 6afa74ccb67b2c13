/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes that a recorded command started and that outlive it. */
#ifndef CLEW_RECORD_STREAM_LEFT_BEHIND_H
#define CLEW_RECORD_STREAM_LEFT_BEHIND_H

#include "record/stream/taker.h"
#include <stddef.h>
#include <sys/types.h>

struct clew_left_behind;

/* NULL: no memory. */
struct clew_left_behind *clew_left_behind_new(void);
void clew_left_behind_free(struct clew_left_behind *left);

/* The taker that notes who started whom. It refers to `left`. */
struct clew_record_taker clew_left_behind_taker(struct clew_left_behind *left);

/*
 * After the recording: the processes that live and that `command` started, itself or through
 * others, at most `most` of them, in the order in which they began. Returns how many there are.
 * Processes behind one whose record was lost are missing.
 */
size_t clew_left_behind_find(struct clew_left_behind *left, pid_t command, pid_t *ret_pids,
			     size_t most);

#endif

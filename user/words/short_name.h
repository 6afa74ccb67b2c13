/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short names of waits and of segments of a why, for frames, spans and nodes. */
#ifndef CLEW_WORDS_SHORT_NAME_H
#define CLEW_WORDS_SHORT_NAME_H

#include "explain/why.h"
#include "words/describe.h"

#define CLEW_SHORT_NAME_SIZE (CLEW_PATH_SIZE + 320)

/* "futex 0x7f001000" */
void clew_wait_short_name(const struct clew_trace *trace, const struct clew_sleep *sleep,
			  char buffer[CLEW_SHORT_NAME_SIZE]);
/* The activity of the segment's task: "running in write", "runqueue behind cc1", "device vda". */
void clew_segment_short_name(const struct clew_trace *trace, const struct clew_segment *segment,
			     char buffer[CLEW_SHORT_NAME_SIZE]);

#endif

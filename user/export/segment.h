/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short names of waits and of segments of a why, for frames, spans and nodes. */
#ifndef CLEW_EXPORT_SEGMENT_H
#define CLEW_EXPORT_SEGMENT_H

#include "explain/why.h"
#include "words/describe.h"

#define EXPORT_SEGMENT_SIZE (CLEW_PATH_SIZE + 320)

/* "futex 0x7f001000" */
void export_wait_name(const struct clew_trace *trace, const struct clew_sleep *sleep,
		      char buffer[EXPORT_SEGMENT_SIZE]);
/* The activity of the segment's task: "running in write", "runqueue behind cc1", "device vda". */
void export_segment_name(const struct clew_trace *trace, const struct clew_segment *segment,
			 char buffer[EXPORT_SEGMENT_SIZE]);

#endif

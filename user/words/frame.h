/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Activations of functions: how they ended, and their fields in JSON. */
#ifndef CLEW_WORDS_FRAME_H
#define CLEW_WORDS_FRAME_H

#include "trace/frames.h"
#include "words/json.h"

/* How it ended, for people: "left by longjmp". */
const char *clew_frame_closed_text(unsigned closed);

/* True if only its entry can be seen. */
static inline bool frame_is_entry(const struct clew_trace_frame *frame)
{
	return frame->closed == CLEW_FRAME_UNWOUND && frame->start == frame->end;
}

/* True if it is known how long it took. */
static inline bool frame_has_time(const struct clew_trace_frame *frame)
{
	return frame->closed != CLEW_FRAME_OPEN && frame->closed != CLEW_FRAME_LOST &&
	       frame->closed != CLEW_FRAME_UNWOUND;
}

/* The fields of an entry of "list" of `clew spans`. */
void clew_json_frame_fields(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_trace_task *task,
			    const struct clew_trace_frame *frame);

#endif

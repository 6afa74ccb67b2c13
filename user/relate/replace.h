/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A logical span replaces the frame of the function that it runs: frames.h has what that means. */
#ifndef CLEW_RELATE_REPLACE_H
#define CLEW_RELATE_REPLACE_H

struct clew_trace;

/* Once, before anything is asked about the trace's functions. 0 or -ENOMEM. */
int clew_replace_frames(struct clew_trace *trace);

#endif

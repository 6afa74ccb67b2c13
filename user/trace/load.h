/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Helpers that all ways of loading a trace from a capture share. */
#ifndef CLEW_TRACE_LOAD_H
#define CLEW_TRACE_LOAD_H

#include "builder/build.h"
#include "trace/trace.h"

/*
 * Makes a trace and a builder that feeds it. `options`: NULL or as for loading. `begins`: the
 * keyframe at which reading begins, NULL: at the capture's start. 0 or -errno.
 */
int trace_load_begin(const struct clew_reader *reader, const struct clew_trace_options *options,
		     const struct clew_keyframe *begins, struct clew_trace **ret_trace,
		     struct clew_builder **ret_builder);

/*
 * True if the builder needs no such record: a keyframe at which reading does not begin repeats it.
 * A state is not left out: where the kernel hid a task's switches it is all that is known of it,
 * and the builder minds no other.
 */
bool trace_load_skips(const struct clew_reader *reader, const struct clew_header *record);

/* Copies what the capture says of itself, once all of it was read. 0 or -ENOMEM. */
int trace_keep_info(struct clew_trace *trace, const struct clew_reader *reader);

#endif

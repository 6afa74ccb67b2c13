/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tasks whose waits have full detail, as the options choose them. */
#ifndef CLEW_RECORD_FILTER_H
#define CLEW_RECORD_FILTER_H

#include "record/stream/recording.h"

struct clew_bpf;
struct clew_message;

/* Prepare: before the load. Fill: after it. */
int clew_filter_prepare(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			struct clew_message *message);
int clew_filter_fill(struct clew_bpf *bpf, const struct clew_recorder_options *options,
		     struct clew_message *message);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures the cost of probes at functions on this machine: said before they are attached. */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_COST_H
#define CLEW_RECORD_FUNCTIONS_TRACED_COST_H

#include "record/functions/traced_file.h"
#include "record/stream/recording.h"

/* `files`: struct traced_file *, with probes that are not attached yet. */
void traced_cost_say(struct traced *traced, const struct vector *files,
		     const struct clew_recorder_options *options);
/* Puts the costs into the capture's metadata. 0 or the file's error. */
int traced_cost_write(const struct traced *traced);

#endif

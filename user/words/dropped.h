/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that were dropped while they were recorded, because their calls cost too much. */
#ifndef CLEW_WORDS_DROPPED_H
#define CLEW_WORDS_DROPPED_H

#include "format/json.h"
#include "trace/frames.h"

/* Elements of an open array. */
void clew_json_dropped(struct clew_json *json, const struct clew_trace *trace);
/* A line for each of the first few. */
void clew_print_dropped(FILE *out, const struct clew_trace *trace);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew info` as text and as JSON: a capture, its ledger and its cost. */
#ifndef CLEW_ANSWERS_INFO_INFO_H
#define CLEW_ANSWERS_INFO_INFO_H

#include "trace/trace.h"

/* The reader of a capture, or the trace that was made of one; the other is NULL. */
struct clew_info_source {
	struct clew_reader *reader;
	struct clew_trace *trace;
	uint64_t hidden; /* as clew_trace_hidden() */
};

/* Print the whole answer to standard output. */
void clew_print_info(const struct clew_info_source *source, const struct clew_capture_info *info);
void clew_json_info(const struct clew_info_source *source, const struct clew_capture_info *info);

#endif

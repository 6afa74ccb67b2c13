/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command that a capture was made of (`clew record -- COMMAND`), and its children. */
#ifndef CLEW_EXPLAIN_RECORDED_H
#define CLEW_EXPLAIN_RECORDED_H

#include "trace/trace.h"

struct clew_recorded {
	uint32_t root;	   /* the command's first thread; CLEW_NO_TASK: the capture is of none */
	uint64_t from, to; /* since the recording let it begin, until it ended or the capture did */
	uint32_t *tasks;   /* the root, and all that it and its children created, by serial */
	size_t task_count;
};

/* Finds it in a trace that knows all tasks; clew_recorded_done() in any case. 0 or -ENOMEM. */
int clew_recorded_find(const struct clew_trace *trace, struct clew_recorded *ret_recorded);
/* When the wait from before the recording ended of the command's first thread, ns; the trace's
 * start: it has none. */
uint64_t clew_recorded_release(const struct clew_trace *trace, uint32_t root);
void clew_recorded_done(struct clew_recorded *recorded);
bool clew_recorded_has(const struct clew_recorded *recorded, uint32_t serial);

#endif

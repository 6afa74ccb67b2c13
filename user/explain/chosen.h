/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tasks that an answer is about. */
#ifndef CLEW_EXPLAIN_CHOSEN_H
#define CLEW_EXPLAIN_CHOSEN_H

#include "trace/trace.h"

/* The tasks that were asked for; `wants` NULL: all. */
struct clew_chosen {
	bool (*wants)(void *context, const struct clew_trace_task *task);
	void *context;
	bool some; /* a program or a thread was asked for, and not the whole machine */
};

/* True if the task was asked for; an unknown one only where all were. */
static inline bool clew_is_chosen(const struct clew_chosen *chosen, const struct clew_trace *trace,
				  uint32_t serial)
{
	const struct clew_trace_task *task;

	if (!chosen->wants)
		return true;
	task = serial == CLEW_NO_TASK ? NULL : clew_trace_task(trace, serial);
	return task && chosen->wants(chosen->context, task);
}

/* True if a task that was asked for submitted a request, or wrote what it carries. */
static inline bool clew_request_is_chosen(const struct clew_chosen *chosen,
					  const struct clew_trace *trace,
					  const struct clew_trace_request *request)
{
	bool found = clew_is_chosen(chosen, trace, request->block.submitter);

	for (uint32_t i = 0; i < request->page_count && !found; i++)
		for (uint32_t k = 0; k < request->pages[i].writer_count && !found; k++)
			found = clew_is_chosen(chosen, trace, request->pages[i].writers[k]);
	return found;
}

#endif

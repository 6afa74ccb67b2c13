/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names and numbers of the spans that threads have.
 */
#include "convert/convert.h"
#include "convert/to_model.h"

uint32_t capture_span_of(struct conversion *conversion, uint32_t serial)
{
	const struct trace_task *task = trace_task_find(conversion->trace, serial);
	const uint64_t *stranger;

	if (task)
		return task->index;
	stranger = map_get(&conversion->strangers, serial, 0);
	return stranger ? (uint32_t)*stranger : CLEW_NONE;
}

/* The first spans are the tasks in their order. */
uint32_t clew_task_of_span(const struct clew_trace *trace, uint32_t root)
{
	return root < clew_trace_task_count(trace) ? clew_trace_task_at(trace, root)->serial
						   : CLEW_NO_TASK;
}

uint32_t clew_span_of_task(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_task *task = trace_task_find(trace, serial);

	return task ? task->index : CLEW_NONE;
}

const char *capture_name_of(struct conversion *conversion, uint32_t serial)
{
	uint32_t span = capture_span_of(conversion, serial);

	return span == CLEW_NONE ? "unknown" : ((const char **)conversion->names.data)[span];
}

const char *capture_name_or_dash(struct conversion *conversion, uint32_t serial)
{
	return serial ? capture_name_of(conversion, serial) : "-";
}

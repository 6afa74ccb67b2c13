/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the formats: which tasks they have, and how they call them. */
#include "export/export.h"

bool clew_export_wants(const struct clew_export *export, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(export->trace, serial);

	return task && (!export->wanted || export->wanted(export->context, task));
}

const char *export_task_name(const struct clew_trace *trace, uint32_t serial, uint64_t at,
			     char buffer[EXPORT_TASK_SIZE])
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	snprintf(buffer, EXPORT_TASK_SIZE, "%.*s-%u", CLEW_COMM_SIZE,
		 clew_trace_comm_at(trace, serial, at), task ? task->tid : 0);
	return buffer;
}

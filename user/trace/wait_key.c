/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When two waits are for the same object. */
#include "trace/wait_key.h"

bool clew_waits_for_object(const struct clew_sleep *sleep)
{
	return sleep->object.kind != CLEW_OBJECT_NONE && sleep->kind != CLEW_WAIT_FAULT &&
	       sleep->kind != CLEW_WAIT_STOPPED;
}

struct clew_wait_key clew_wait_key(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_object *object = &sleep->object;
	struct clew_wait_key key = {{object->number, object->kind, object->device}};
	const struct clew_trace_task *task;
	struct clew_file_key file;

	if (!clew_waits_for_object(sleep))
		return (struct clew_wait_key){{sleep->kind, CLEW_OBJECT_NONE, sleep->call}};
	switch (object->kind) {
	case CLEW_OBJECT_FILE:
		file = clew_trace_file_key(trace, object->device, object->number, sleep->start);
		key.parts[0] = file.number;
		key.parts[2] = file.device;
		break;
	case CLEW_OBJECT_FUTEX:
		/* An address means something within one memory, which is mostly one process's. */
		task = clew_trace_task(trace, sleep->task);
		if (!object->shared && !object->memory && task)
			key.parts[2] = task->process;
		break;
	case CLEW_OBJECT_FUNCTION:
	case CLEW_OBJECT_MEMORY:
		key.parts[2] = 0;
		break;
	default:
		break;
	}
	return key;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When two waits are for the same object. See wait_key.h. */
#include "words/wait_key.h"

#include "words/describe.h"

struct clew_sum_key clew_wait_object_key(const struct clew_trace *trace,
					 const struct clew_sleep *sleep)
{
	const struct clew_object *object = &sleep->object;
	struct clew_sum_key key = {{object->number, object->kind, object->device}};
	const struct clew_trace_task *task;
	struct clew_file_key file;

	if (!clew_waits_for_object(sleep))
		return (struct clew_sum_key){{sleep->kind, CLEW_OBJECT_NONE, sleep->call}};
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

int clew_sums_add_wait(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns,
		       const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	size_t count;
	uint32_t item = (uint32_t)(sleep - clew_trace_sleeps(trace, &count));
	uint64_t vain;

	return clew_trace_vain(trace, sleep, &vain) ? clew_sums_add_vain(sums, key, ns, item, vain)
						    : clew_sums_add(sums, key, ns, item);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the values and the key of an event of a runtime.
 */
#include "relate/job_join.h"

#include "base/hash.h"

bool job_value(const struct taking *taking, const struct clew_runtime_value *value,
	       uint64_t *ret_number, const char **ret_text)
{
	const struct clew_expression *expression = &value->expression;
	const struct clew_moment *moment =
		expression->at == CLEW_AT_POINT ? taking->happened->moment : taking->outer;
	uint16_t point =
		expression->at == CLEW_AT_POINT ? taking->event->point : taking->event->outer;

	*ret_text = NULL;
	if (expression->base == CLEW_BASE_TASK || expression->base == CLEW_BASE_CHILD) {
		*ret_number = expression->base == CLEW_BASE_TASK ? taking->happened->task
								 : taking->happened->child;
		return true;
	}
	if (!moment || !clew_moment_value(moment, &taking->runtime->points[point], value->slot,
					  ret_number, ret_text))
		return false;
	switch (expression->test) {
	case '&':
		*ret_number &= expression->operand;
		break;
	case '=':
		*ret_number = *ret_number == expression->operand;
		break;
	case '!':
		*ret_number = *ret_number != expression->operand;
		break;
	case '<':
		*ret_number = *ret_number < expression->operand;
		break;
	default:
		break;
	}
	return true;
}

bool job_named_value(const struct taking *taking, const char *name, uint64_t *ret_number,
		     const char **ret_text)
{
	const struct clew_runtime_value *value = clew_event_value(taking->event, name);

	return value && job_value(taking, value, ret_number, ret_text);
}

uint32_t job_process(const struct join *join, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(join->jobs->trace, serial);

	return task ? task->process : serial;
}

static uint32_t tid_of(const struct join *join, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(join->jobs->trace, serial);

	return task ? task->tid : 0;
}

/* A kind and a process as a number that is the same in each segment of a recording. */
static uint64_t key_begin(const struct join *join, const struct taking *taking, uint16_t kind)
{
	uint64_t runtime = (uint64_t)(taking->runtime - join->jobs->layers->runtimes);

	return hash_mix(hash_mix(runtime + 1, kind), job_process(join, taking->happened->task));
}

uint64_t job_object_key(const struct join *join, const struct taking *taking, uint16_t kind,
			uint64_t object)
{
	return hash_mix(key_begin(join, taking, kind), object);
}

bool job_key(const struct join *join, const struct taking *taking, uint64_t *ret_numbers,
	     uint64_t *ret_key)
{
	const char *text;

	*ret_key = key_begin(join, taking, taking->event->span);
	for (unsigned i = 0; i < taking->event->key_count; i++) {
		const struct clew_runtime_value *key = &taking->event->keys[i];

		if (!job_value(taking, key, &ret_numbers[i], &text))
			return false;
		*ret_key = hash_mix(*ret_key, text ? hash_text(HASH_SEED, text) : ret_numbers[i]);
		/* Threads are joined by serials, which are used once, and known by their tids. */
		if (key->expression.base == CLEW_BASE_TASK ||
		    key->expression.base == CLEW_BASE_CHILD)
			ret_numbers[i] = tid_of(join, (uint32_t)ret_numbers[i]);
	}
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of functions whose values an exit, or an event within the call, asks for.
 */
#include "relate/job_join.h"

static const struct entry *top_entry(const struct join *join, uint32_t task, uint16_t number)
{
	uint32_t at = job_look_up(&join->entries, task, number);

	return at == CLEW_NO_NUMBER ? NULL : (struct entry *)join->stack.data + at;
}

int job_pop_entry(struct join *join, uint32_t task, uint16_t number)
{
	const struct entry *top = top_entry(join, task, number);

	return map_set(&join->entries, task, number,
		       !top || top->below == CLEW_NO_NUMBER ? 0 : (uint64_t)top->below + 1);
}

int job_unwind(struct join *join, uint32_t task, uint16_t number, uint64_t stack)
{
	const struct entry *top;
	int r = 0;

	while (r >= 0 && (top = top_entry(join, task, number)) && top->moment->stack < stack)
		r = job_pop_entry(join, task, number);
	return r;
}

int job_push_entry(struct join *join, const struct clew_moment *moment)
{
	int r = job_unwind(join, moment->task, moment->point, moment->stack + 1);

	r = r < 0 ? r : vector_reserve(&join->stack, join->stack.count + 1);
	if (r < 0)
		return r;
	((struct entry *)join->stack.data)[join->stack.count] =
		(struct entry){.moment = moment,
			       .below = job_look_up(&join->entries, moment->task, moment->point)};
	return map_set(&join->entries, moment->task, moment->point, ++join->stack.count);
}

bool job_find_outer(struct join *join, struct taking *taking)
{
	const struct clew_runtime_event *event = taking->event;
	const struct clew_runtime_point *point;
	const struct entry *entry;

	taking->outer = NULL;
	if (event->outer_kind == CLEW_OUTER_NONE)
		return true;
	point = &taking->runtime->points[event->outer];
	entry = top_entry(join, taking->happened->task, point->number);
	if (!entry || (event->outer_kind == CLEW_OUTER_ENTRY && taking->happened->moment &&
		       entry->moment->stack != taking->happened->moment->stack))
		return false;
	taking->outer = entry->moment;
	return true;
}

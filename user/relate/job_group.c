/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spans that are over, and threads that waited for them or for other objects.
 *
 * A thread that waits for a group waits for all of its spans, and the one that is over last wakes
 * it. A group begins anew with the first span behind that one.
 */
#include "relate/job_join.h"

#define OVER_SHIFT 32 /* spans of the group that are over are above, those under way below */

static uint32_t under_way(uint64_t group)
{
	return (uint32_t)group;
}

static uint32_t over(uint64_t group)
{
	return (uint32_t)(group >> OVER_SHIFT);
}

int job_enter_group(struct join *join, const struct taking *taking, uint32_t number)
{
	const uint64_t *known;
	const char *text;
	uint64_t group;

	if (!job_named_value(taking, "group", &group, &text) || text)
		return 0;
	group = job_object_key(join, taking, taking->event->span, group);
	clew_job_at(join->jobs, number)->group = group;
	known = map_get(&join->groups, group, 0);
	return map_set(&join->groups, group, 0, (known ? *known : 0) + 1);
}

/*
 * A wait ends with the first wake. Where threads say themselves that they go on, they are waiting
 * until then; an object that repeats may wake them in vain, so that the last wake counts.
 */
void job_wake_all(struct join *join, const struct clew_runtime_span *kind, uint64_t key,
		  const struct clew_job_wait *by)
{
	struct clew_job_wait *waits = join->jobs->waits.data;

	for (uint32_t at = job_look_up(&join->waiting, key, 0); at != CLEW_NO_NUMBER;
	     at = waits[at].before) {
		if (waits[at].to != CLEW_TIME_OPEN && !kind->repeat && !kind->lock)
			continue;
		waits[at].to = by->to;
		waits[at].waker = by->waker;
		waits[at].job = by->job;
		waits[at].members = by->members;
	}
	if (!kind->waited)
		map_remove(&join->waiting, key, 0);
}

/* It is over: threads wait no more for a group whose last span it was. */
static int leave_group(struct join *join, uint32_t number, uint64_t at)
{
	const struct clew_job *span = clew_job_at(join->jobs, number);
	const struct clew_job_piece *last = job_last_piece(join, span);
	const uint64_t *known = span->group ? map_get(&join->groups, span->group, 0) : NULL;
	bool runs = job_is_in(join, number, CLEW_JOB_RUNS);
	uint64_t group;

	if (!known || !under_way(*known))
		return 0;
	group = *known - 1 + (1ull << OVER_SHIFT);
	if (under_way(group))
		return map_set(&join->groups, span->group, 0, group);
	job_wake_all(join, span->kind, span->group,
		     &(struct clew_job_wait){.to = at,
					     .waker = runs ? last->task : CLEW_NO_TASK,
					     .job = number,
					     .members = over(group)});
	return map_set(&join->groups, span->group, 0, 0);
}

int job_finish(struct join *join, uint64_t key, uint32_t number, uint64_t at,
	       enum clew_job_closed closed)
{
	int r;

	/* It may have been submitted anew while it ran. */
	if (job_look_up(&join->live, key, 0) == number)
		map_remove(&join->live, key, 0);
	r = leave_group(join, number, at);
	return r < 0 ? r : job_close(join, number, at, closed);
}

bool job_group_is_over(const struct join *join, const struct taking *taking, uint64_t key)
{
	const uint64_t *known = map_get(&join->groups, key, 0);

	return taking->runtime->spans[taking->event->span].groups && (!known || !under_way(*known));
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wakes for nothing: a thread is woken, finds that another one was faster or that nothing is there
 * for it, and goes to sleep again in the same call.
 *
 * Only calls count that return once they have anything at all. Others, such as a send or a receive
 * of a whole message, sleep again although they got on.
 */
#include "base/kind.h"
#include "trace/internal.h"

#include <clew/kernel/calls.h>
#include <clew/tokens.h>
#include <errno.h>
#include <string.h>

/* True if what wakes a thread in such a wait makes the call return. */
static bool returns_at_once(const struct clew_sleep *sleep)
{
	static const char *const calls[] = {
		"accept", "accept4", "read",	   "readv",	 "wait4",	"waitid",
		"poll",	  "ppoll",   "select",	   "pselect6",	 "flock",	"fcntl",
		"msgrcv", "semop",   "semtimedop", "epoll_wait", "epoll_pwait", "epoll_pwait2",
	};
	const char *name = clew_call_name(sleep->call);

	if (!clew_wait_kind_has(sleep->kind, CLEW_TRAIT_RETURNS))
		return false;
	/* Not a lock that the kernel takes on the call's way. */
	if (sleep->kind == CLEW_WAIT_LOCK && sleep->object.kind != CLEW_OBJECT_FILE)
		return false;
	for (size_t i = 0; name && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i]))
			return true;
	return false;
}

/* True if `before` ended, and its thread then went to sleep again for the same in the same call. */
static bool was_vain(const struct clew_trace *trace, const struct clew_sleep *before,
		     const struct clew_sleep *after)
{
	return before->call_id == after->call_id && before->call == after->call &&
	       before->kind == after->kind && before->end != CLEW_TIME_OPEN && !before->blind &&
	       !after->blind && before->switch_in <= after->start && returns_at_once(before) &&
	       before->edge_type != CLEW_EDGE_SIGNAL && !clew_is_own_timeout(trace, before);
}

int trace_find_vain(struct clew_trace *trace)
{
	for (size_t k = 0; k < trace->tasks.count; k++) {
		const struct trace_task *task = trace_task_at(trace, k);
		const struct clew_sleep *before = NULL;

		for (uint32_t i = 0; i < task->pieces.count; i++) {
			uint32_t piece = task->pieces.data[i], index = piece & PIECE_INDEX;
			const struct clew_sleep *sleep;

			if (piece >> PIECE_SHIFT != PIECE_SLEEP)
				continue;
			sleep = trace_sleep_at(trace, index);
			if (before && was_vain(trace, before, sleep) &&
			    map_set(&trace->vain, (uint64_t)(before - trace_sleep_at(trace, 0)), 0,
				    sleep->start - before->end) < 0)
				return -ENOMEM;
			before = sleep;
		}
	}
	return 0;
}

bool clew_trace_vain(const struct clew_trace *trace, const struct clew_sleep *sleep,
		     uint64_t *ret_ns)
{
	const uint64_t *found =
		map_get(&trace->vain, (uint64_t)(sleep - trace_sleep_at(trace, 0)), 0);

	if (found && ret_ns)
		*ret_ns = *found;
	return found;
}

size_t clew_trace_vain_sum(const struct clew_trace *trace, uint32_t serial, uint64_t from,
			   uint64_t to, uint64_t *ret_ns)
{
	size_t count, low = 0, high, found = 0;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	*ret_ns = 0;
	high = trace->vain.count ? count : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sleeps[middle].start < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; trace->vain.count && low < count && sleeps[low].start < to; low++) {
		uint64_t ns;

		if (sleeps[low].task != serial || !clew_trace_vain(trace, &sleeps[low], &ns))
			continue;
		*ret_ns += ns;
		found++;
	}
	return found;
}

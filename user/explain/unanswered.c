/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits of connect() that nothing answers. */
#include "explain/unanswered.h"

static bool is_about(const struct clew_failed *failed, const struct clew_sleep *sleep)
{
	return failed->header.flags == CLEW_FAILED_ANSWER && failed->object == sleep->object.number;
}

bool clew_unanswered_at(const struct clew_trace *trace, const struct clew_sleep *sleep, uint64_t at,
			struct clew_unanswered *ret_unanswered)
{
	struct clew_unanswered part = {.since = sleep->start};
	size_t count;
	const struct clew_failed *failed;

	if (sleep->object.kind != CLEW_OBJECT_SOCKET)
		return false;
	failed = clew_trace_failed(trace, sleep->task, sleep->start,
				   clew_trace_until(trace, sleep->end), &count);
	for (; count && !part.until; failed++, count--) {
		if (!is_about(failed, sleep))
			continue;
		/* The queue was full as TCP asked at the part's begin, or as it asked again. */
		part.full |= failed->queued > 0;
		part.listener = failed->listener;
		if (failed->header.time > at) {
			part.until = failed->header.time;
			break;
		}
		part.since = failed->header.time;
		part.full = failed->queued > 0;
	}
	part.acceptor = clew_trace_acceptor(trace, part.listener);
	*ret_unanswered = part;
	return part.until;
}

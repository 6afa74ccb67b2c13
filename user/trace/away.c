/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits for other hosts: by the messages of their questions, or by what the waits themselves say.
 */
#include "trace/idle.h"
#include "trace/internal.h"
#include "trace/talk.h"
#include <clew/kernel/call_numbers.h>

/* Segments in which TCP asked for a connection again during a sleep. */
static uint32_t asked_again(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	size_t count;
	const struct clew_failed *failed = clew_trace_failed(
		trace, sleep->task, sleep->start, clew_trace_until(trace, sleep->end), &count);
	uint32_t again = 0;

	for (size_t i = 0; i < count; i++)
		again += failed[i].header.flags == CLEW_FAILED_ANSWER &&
			 failed[i].object == sleep->object.number;
	return again;
}

/* The wait itself says it, where no message of the question was recorded. */
static bool is_away(const struct clew_trace *trace, const struct clew_sleep *sleep,
		    struct clew_exchange *ret_exchange)
{
	const struct clew_socket_record *socket =
		sleep->away ? clew_trace_socket(trace, sleep->object.number) : NULL;
	uint64_t from = sleep->asked > CLEW_ASKED_SOMETIME ? sleep->asked : sleep->start,
		 to = clew_trace_until(trace, sleep->end);
	bool connects = sleep->call == CLEW_NR_connect, open = sleep->end == CLEW_TIME_OPEN;

	if (!sleep->away ||
	    (!connects && (!sleep->asked || !socket || socket_side_of(socket) != SIDE_CLIENT)))
		return false;
	*ret_exchange = (struct clew_exchange){.from = from,
					       .to = to,
					       .socket = sleep->object.number,
					       .task = sleep->task,
					       .other = CLEW_NO_TASK,
					       .questions = 1,
					       .sent = from,
					       .first = open ? 0 : to,
					       .last = open ? 0 : to,
					       .round_trip = sleep->away - 1,
					       .resent = asked_again(trace, sleep),
					       .outside = true,
					       .client = true,
					       .goes_on = open};
	return true;
}

bool clew_trace_remote(const struct clew_trace *trace, const struct clew_sleep *sleep,
		       struct clew_exchange *ret_exchange)
{
	const struct clew_exchange *exchange;
	struct clew_exchange own;

	if (sleep->context == CLEW_WAKE_TASK && sleep->ended_by != CLEW_NO_TASK)
		return false;
	exchange = trace_awaited(trace, sleep);
	if (exchange ? !exchange->outside : !is_away(trace, sleep, &own))
		return false;
	if (ret_exchange)
		*ret_exchange = exchange ? *exchange : own;
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The task that accepts connections at each listening socket that an attempt to connect failed at.
 * Invariant: a listener at which tasks of several processes accept has none.
 */
#include "trace/internal.h"

/* Tasks of one process may all accept: the first one stands for them. */
static void add_acceptor(struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t *task = sleep->object.kind == CLEW_OBJECT_SOCKET
				 ? map_get(&trace->acceptors, sleep->object.number, 0)
				 : NULL;

	if (!task || *task == UINT32_MAX)
		return;
	if (*task == CLEW_NO_TASK)
		*task = sleep->task;
	else if (clew_trace_process(trace, (uint32_t)*task) !=
		 clew_trace_process(trace, sleep->task))
		*task = UINT32_MAX;
}

int trace_finish_acceptors(struct clew_trace *trace)
{
	const struct clew_failed *all = trace->failed.data;
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = 0;

	for (size_t i = 0; i < trace->failed.count && r >= 0; i++)
		if (all[i].listener)
			r = map_set(&trace->acceptors, all[i].listener, 0, CLEW_NO_TASK);
	for (size_t i = 0; i < count && trace->acceptors.count && r >= 0; i++)
		add_acceptor(trace, &sleeps[i]);
	return r < 0 ? r : 0;
}

uint32_t clew_trace_acceptor(const struct clew_trace *trace, uint64_t listener)
{
	const uint64_t *task = map_get(&trace->acceptors, listener, 0);

	return task && *task != UINT32_MAX ? (uint32_t)*task : CLEW_NO_TASK;
}

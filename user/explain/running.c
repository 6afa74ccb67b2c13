/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts about the running of a task. */
#include "explain/running.h"

#include <clew/kernel/calls.h>
#include <clew/tokens.h>

static void add_ticks(const struct clew_trace *trace, const struct clew_segment *segment,
		      uint32_t *by_call, struct clew_running *running)
{
	const struct clew_stay *tick =
		clew_trace_tick(trace, segment->task, segment->start ? segment->start - 1 : 0);

	for (; tick && tick->end < segment->end; tick = clew_trace_next_stay(trace, tick)) {
		running->ticks++;
		if (tick->call < CLEW_CALL_COUNT)
			by_call[tick->call]++;
	}
}

/* Adds what a tally has that lies within from..to. */
static uint64_t sum_tallies(const struct clew_trace *trace, uint32_t task, uint64_t from,
			    uint64_t to, enum clew_tally_what what)
{
	const struct clew_tally *tally = clew_trace_tally(trace, task, from);
	uint64_t sum = 0;

	for (; tally && tally->end <= to; tally = clew_trace_next_tally(trace, tally))
		if (tally->what == what && tally->start >= from)
			sum += tally->number;
	return sum;
}

void clew_running_find(const struct clew_trace *trace, const struct clew_segment *const *segments,
		       size_t count, struct clew_running *ret_running)
{
	const struct clew_segment *first = segments[0], *last = segments[count - 1];
	struct clew_running running = {.call = CLEW_NO_CALL};
	uint32_t by_call[CLEW_CALL_COUNT] = {0};

	if (first->kind == CLEW_SEGMENT_RUNQUEUE && first->by != UINT32_MAX)
		running.yields =
			sum_tallies(trace, first->by, first->start, last->end, CLEW_TALLY_YIELDS);
	for (size_t i = 0; i < count && first->kind == CLEW_SEGMENT_RUNNING; i++) {
		running.faults += sum_tallies(trace, segments[i]->task, segments[i]->start,
					      segments[i]->end, CLEW_TALLY_FAULTS);
		if (!segments[i]->stay)
			add_ticks(trace, segments[i], by_call, &running);
	}
	for (unsigned call = 0; running.ticks && call < CLEW_CALL_COUNT; call++)
		if (by_call[call] > running.in_call) {
			running.in_call = by_call[call];
			running.call = (uint16_t)call;
		}
	*ret_running = running;
}

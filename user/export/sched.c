/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scheduling in the kernel's terms. */
#include "export/sched.h"

/* The bits that the tracepoint reports of a task that sleeps. */
#define STATE_SHOWN 0xffu

const struct clew_sleep *sched_sleep_behind(const struct clew_trace *trace,
					    const struct clew_run *run)
{
	struct clew_piece piece;

	if (!clew_trace_piece(trace, run->task, run->end, false, &piece) || !piece.sleep ||
	    piece.sleep->start != run->end)
		return NULL;
	return piece.sleep;
}

unsigned sched_state_behind(const struct clew_trace *trace, const struct clew_run *run)
{
	const struct clew_sleep *sleep;

	switch (run->ended) {
	case CLEW_RUN_SLEPT:
		sleep = sched_sleep_behind(trace, run);
		return sleep && sleep->state & STATE_SHOWN ? sleep->state & STATE_SHOWN
							   : SCHED_INTERRUPTIBLE;
	case CLEW_RUN_PREEMPTED:
		return SCHED_PREEMPTED;
	case CLEW_RUN_EXITED:
		return SCHED_DEAD;
	default:
		return SCHED_RUNNABLE;
	}
}

int sched_priority_at(const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	struct clew_scheduled scheduled = clew_trace_scheduled_at(trace, serial, at);
	bool real_time = scheduled.policy == 1 || scheduled.policy == 2;

	return real_time ? 99 - scheduled.value : SCHED_NORMAL_PRIORITY + scheduled.value;
}

uint64_t sched_wake_time(const struct clew_sleep *sleep)
{
	uint64_t at = sleep->raw_end ? sleep->raw_end : sleep->end;

	return at > sleep->start ? at : sleep->start + 1;
}

static uint16_t cpu_of(const struct clew_trace *trace, uint32_t serial, uint64_t at, bool before)
{
	struct clew_piece piece;

	if (clew_trace_piece(trace, serial, at, before, &piece) && piece.kind == CLEW_PIECE_RUNNING)
		return piece.cpu;
	return SCHED_NO_CPU;
}

uint16_t sched_cpu_at(const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	return cpu_of(trace, serial, at, false);
}

uint16_t sched_cpu_before(const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	return cpu_of(trace, serial, at, true);
}

uint16_t sched_cpu_behind(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint16_t cpu = sleep->switch_in == CLEW_TIME_OPEN
			       ? SCHED_NO_CPU
			       : sched_cpu_at(trace, sleep->task, sleep->switch_in);

	return cpu == SCHED_NO_CPU ? 0 : cpu;
}

bool sched_woken_by_task(const struct clew_sleep *sleep)
{
	return sleep->context == CLEW_WAKE_TASK || sleep->context == CLEW_WAKE_WORK ||
	       sleep->context == CLEW_WAKE_SOFTIRQ;
}

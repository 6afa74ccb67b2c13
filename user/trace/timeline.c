/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timelines: the piece of a task, and the run of a CPU, that contain a moment. An entry
 * of a sleep stands for two pieces, the sleep and the run queue after it. The time
 * between two entries is unknown.
 */
#include "trace/internal.h"

static const struct clew_run *run_of(const struct clew_trace *trace, uint32_t piece)
{
	return (const struct clew_run *)trace->runs.data + (piece & PIECE_INDEX);
}

static const struct clew_sleep *sleep_of(const struct clew_trace *trace, uint32_t piece)
{
	return (const struct clew_sleep *)trace->sleeps.data + (piece & PIECE_INDEX);
}

static const struct clew_ready *ready_of(const struct clew_trace *trace, uint32_t piece)
{
	return (const struct clew_ready *)trace->readies.data + (piece & PIECE_INDEX);
}

uint64_t trace_piece_start(const struct clew_trace *trace, uint32_t piece)
{
	switch (piece >> PIECE_SHIFT) {
	case PIECE_RUN:
		return run_of(trace, piece)->start;
	case PIECE_SLEEP:
		return sleep_of(trace, piece)->start;
	default:
		return ready_of(trace, piece)->start;
	}
}

/* The number of `count` entries that begin at or before a moment; searches near `hint` first. */
static uint32_t count_until(const struct clew_trace *trace, const uint32_t *pieces, uint32_t count,
			    uint64_t at, uint32_t hint)
{
	uint32_t low = 0, high = count, step = 1;

	if (hint > 0 && hint <= count) {
		if (trace_piece_start(trace, pieces[hint - 1]) <= at) {
			low = hint;
			while (low + step <= count &&
			       trace_piece_start(trace, pieces[low + step - 1]) <= at) {
				low += step;
				step *= 2;
			}
			high = low + step <= count ? low + step - 1 : count;
		} else {
			high = hint - 1;
			while (high >= step && trace_piece_start(trace, pieces[high - step]) > at) {
				high -= step;
				step *= 2;
			}
			low = high >= step ? high - step : 0;
		}
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (trace_piece_start(trace, pieces[middle]) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The CPU that the entry after one begins to run on at a moment. */
static uint16_t cpu_after(const struct clew_trace *trace, const struct trace_task *task,
			  uint32_t index, uint64_t at)
{
	const struct clew_run *run;

	if (index + 1 >= task->pieces.count ||
	    task->pieces.data[index + 1] >> PIECE_SHIFT != PIECE_RUN)
		return UINT16_MAX;
	run = run_of(trace, task->pieces.data[index + 1]);
	return run->start == at ? run->cpu : UINT16_MAX;
}

static bool run_queue_piece(const struct clew_trace *trace, const struct trace_task *task,
			    uint32_t index, uint64_t start, uint64_t switch_in,
			    struct clew_piece *piece)
{
	*piece = (struct clew_piece){
		.start = start, .end = switch_in, .kind = CLEW_PIECE_RUNQUEUE, .cpu = UINT16_MAX};
	if (switch_in == CLEW_TIME_OPEN)
		piece->end = task->end;
	else
		piece->cpu = cpu_after(trace, task, index, switch_in);
	return true;
}

/* The piece of an entry at a moment at or after its start; false: the entry has ended. */
static bool entry_at(const struct clew_trace *trace, const struct trace_task *task, uint32_t index,
		     uint64_t at, struct clew_piece *piece)
{
	uint32_t entry = task->pieces.data[index];
	const struct clew_sleep *sleep;
	const struct clew_ready *ready;
	const struct clew_run *run;

	switch (entry >> PIECE_SHIFT) {
	case PIECE_RUN:
		run = run_of(trace, entry);
		*piece = (struct clew_piece){.start = run->start,
					     .end = run->end,
					     .cpu = run->cpu,
					     .kind = CLEW_PIECE_RUNNING};
		return at < run->end;
	case PIECE_READY:
		ready = ready_of(trace, entry);
		return at < ready->end &&
		       run_queue_piece(trace, task, index, ready->start, ready->end, piece);
	default:
		sleep = sleep_of(trace, entry);
		if (at >= sleep->end)
			return at < sleep->switch_in &&
			       run_queue_piece(trace, task, index, sleep->end, sleep->switch_in,
					       piece);
		*piece = (struct clew_piece){
			.start = sleep->start,
			.end = sleep->end == CLEW_TIME_OPEN ? task->end : sleep->end,
			.sleep = sleep,
			.cpu = UINT16_MAX,
			.kind = CLEW_PIECE_SLEEP,
		};
		return true;
	}
}

/* Where an entry ends. */
static uint64_t entry_end(const struct clew_trace *trace, const struct trace_task *task,
			  uint32_t index)
{
	uint32_t entry = task->pieces.data[index];
	uint64_t end;

	switch (entry >> PIECE_SHIFT) {
	case PIECE_RUN:
		end = run_of(trace, entry)->end;
		break;
	case PIECE_READY:
		end = ready_of(trace, entry)->end;
		break;
	default:
		end = sleep_of(trace, entry)->end == CLEW_TIME_OPEN
			      ? CLEW_TIME_OPEN
			      : sleep_of(trace, entry)->switch_in;
		break;
	}
	return end < task->end ? end : task->end;
}

uint32_t trace_pieces_until(const struct clew_trace *trace, const struct trace_task *task,
			    uint64_t at)
{
	return count_until(trace, task->pieces.data, task->pieces.count, at, 0);
}

bool trace_piece_at(const struct clew_trace *trace, const struct trace_task *task, uint64_t at,
		    uint32_t *hint, struct clew_piece *ret_piece)
{
	uint32_t count;

	if (at < task->begin || at >= task->end)
		return false;
	count = *hint = count_until(trace, task->pieces.data, task->pieces.count, at, *hint);
	if (count == 0 || !entry_at(trace, task, count - 1, at, ret_piece))
		*ret_piece = (struct clew_piece){
			.start = count ? entry_end(trace, task, count - 1) : task->begin,
			.end = count < task->pieces.count
				       ? trace_piece_start(trace, task->pieces.data[count])
				       : task->end,
			.cpu = UINT16_MAX,
			.kind = CLEW_PIECE_UNKNOWN,
		};
	if (ret_piece->end > task->end)
		ret_piece->end = task->end;
	return true;
}

bool clew_trace_piece(const struct clew_trace *trace, uint32_t serial, uint64_t at, bool before,
		      struct clew_piece *ret_piece)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	uint32_t hint = 0;

	/* Times are whole ns: the piece before a moment contains the ns before it. */
	if (!task || (before && at == 0))
		return false;
	return trace_piece_at(trace, task, before ? at - 1 : at, &hint, ret_piece);
}

/* The number of a CPU's runs that begin at or before a moment. */
static uint32_t runs_until(const struct clew_trace *trace, const struct numbers *runs, uint64_t at)
{
	return count_until(trace, runs->data, runs->count, at, 0);
}

bool clew_trace_running(const struct clew_trace *trace, uint16_t cpu, uint64_t at,
			struct clew_run *ret_run)
{
	const struct clew_run *run;
	uint32_t count;

	if (cpu >= trace->cpu_count)
		return false;
	count = runs_until(trace, &trace->cpus[cpu], at);
	if (count == 0)
		return false;
	run = run_of(trace, trace->cpus[cpu].data[count - 1]);
	if (at >= run->end)
		return false;
	*ret_run = *run;
	return true;
}

bool trace_ran_at(const struct clew_trace *trace, uint16_t cpu, uint64_t at, uint64_t to,
		  uint32_t *ret_task, uint64_t *ret_until)
{
	const struct numbers *runs;
	const struct clew_run *run;
	uint32_t count;
	uint64_t next;

	*ret_until = to;
	if (cpu >= trace->cpu_count)
		return false;
	runs = &trace->cpus[cpu];
	count = runs_until(trace, runs, at);
	run = count ? run_of(trace, runs->data[count - 1]) : NULL;
	if (run && at < run->end) {
		*ret_task = run->task;
		*ret_until = run->end < to ? run->end : to;
		return true;
	}
	next = count < runs->count ? run_of(trace, runs->data[count])->start : to;
	*ret_until = next < to ? next : to;
	return false;
}

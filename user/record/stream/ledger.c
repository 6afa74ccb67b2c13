/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger: counts of what the programs saw, the drain read and the file
 * stored, by CPU and kind of record. It balances if seen = filtered + reserved
 * + lost + missed, and reserved = read = stored.
 *
 * A wake has no record, only a stamp in the task that it wakes: it counts as
 * read and stored once it is reserved. Runs of programs that the kernel skipped
 * are in the user stream's rows, as seen and missed.
 *
 * The ledgers of a recording's files add up to that of the whole recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/stream/ledger.h"
#include "record/stream/outlet.h"
#include "record/stream/recorder_state.h"
#include "store/kinds.h"

static bool is_zero(const struct clew_ledger_row *row)
{
	return !row->seen && !row->filtered && !row->reserved && !row->read && !row->stored &&
	       !row->lost && !row->missed;
}

/* The row of a CPU's records of a kind, since the recording began. */
static void count_cpu(const struct clew_recorder *recorder, unsigned cpu, unsigned kind,
		      struct clew_ledger_row *row)
{
	const struct clew_cpu_state *state = &recorder->rings.cpus[cpu];

	*row = (struct clew_ledger_row){
		.cpu = cpu,
		.kind = kind,
		.seen = state->counts[kind].seen,
		.filtered = state->counts[kind].filtered,
		.reserved = state->counts[kind].reserved,
		.lost = state->counts[kind].lost,
		.missed = state->counts[kind].missed,
	};
}

static void count_user(const struct clew_recorder *recorder, const uint64_t *missed, unsigned kind,
		       struct clew_ledger_row *row)
{
	*row = (struct clew_ledger_row){
		.cpu = CLEW_STREAM_USER,
		.kind = kind,
		.missed = missed[kind] - recorder->ledger.missed_before[kind],
		.lost = recorder->user.lost[kind],
	};
}

static void subtract(struct clew_ledger_row *row, const struct clew_ledger_row *before)
{
	row->seen -= before->seen;
	row->filtered -= before->filtered;
	row->reserved -= before->reserved;
	row->lost -= before->lost;
	row->missed -= before->missed;
}

static void add(struct clew_ledger_row *sum, const struct clew_ledger_row *row)
{
	sum->seen += row->seen;
	sum->filtered += row->filtered;
	sum->reserved += row->reserved;
	sum->lost += row->lost;
	sum->missed += row->missed;
}

/*
 * Makes the row one of the file. The programs go on while a file that is not the `last` is ended,
 * so it counts as reserved what it has. The rest of the kernel's counts is the next file's.
 */
static void finish_row(const struct outlet *outlet, bool last, struct clew_ledger_row *row)
{
	bool has_records = store_shape(row->kind)->size, user = row->cpu == CLEW_STREAM_USER;

	if (has_records && (user || !last))
		row->reserved = outlet->read[row->kind];
	if (user || !last)
		row->seen = row->filtered + row->reserved + row->lost + row->missed;
	row->read = has_records ? outlet->read[row->kind] : row->reserved;
	row->stored = has_records ? clew_writer_stored(outlet->writer, row->cpu, row->kind)
				  : row->reserved;
	row->stored -= outlet->made[row->kind];
}

static void sum_up(struct clew_recorder_summary *summary, const struct clew_ledger_row *row)
{
	if (row->seen != row->filtered + row->reserved + row->lost + row->missed ||
	    row->reserved != row->read || row->read != row->stored)
		summary->balanced = false;
	summary->records += store_shape(row->kind)->size ? row->stored : 0;
	summary->lost += row->lost;
	summary->missed += row->missed;
	summary->missed_by[row->kind] += row->missed;
	if (row->kind == CLEW_KIND_SWITCH)
		summary->seen_switches += row->seen;
}

/* Rows that earlier files have counted. NULL: no memory. */
static struct clew_ledger_row *counted(struct clew_recorder *recorder, size_t count)
{
	if (!recorder->ledger.counted)
		recorder->ledger.counted = calloc(count, sizeof(*recorder->ledger.counted));
	return recorder->ledger.counted;
}

int clew_ledger_write(struct clew_recorder *recorder, const struct outlet *outlets, bool last,
		      const struct clew_cost *cost)
{
	size_t count = 0, most = (size_t)(recorder->cpu_count + 1) * CLEW_KIND_COUNT;
	struct clew_ledger_row *rows = calloc(most, sizeof(*rows)),
			       *before = counted(recorder, most);
	uint64_t missed[CLEW_KIND_COUNT];
	int error;

	if (!rows || !before) {
		free(rows);
		return -ENOMEM;
	}
	clew_missed_runs(recorder, missed);
	for (unsigned cpu = 0; cpu <= recorder->cpu_count; cpu++)
		for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
			size_t place = (size_t)cpu * CLEW_KIND_COUNT + kind;
			struct clew_ledger_row *row = &rows[count];

			if (!store_shape(kind)->in_ledger)
				continue;
			if (cpu == recorder->cpu_count)
				count_user(recorder, missed, kind, row);
			else
				count_cpu(recorder, cpu, kind, row);
			subtract(row, &before[place]);
			finish_row(&outlets[cpu], last, row);
			add(&before[place], row);
			if (is_zero(row))
				continue;
			sum_up(&recorder->files.summary, row);
			count++;
		}
	error = clew_writer_ledger(outlets->writer, rows, count, cost);
	free(rows);
	return error;
}

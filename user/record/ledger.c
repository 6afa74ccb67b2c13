/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger: counts of what the programs saw, the drain read and the file
 * stored, by CPU and kind of record. It balances if seen = filtered + reserved
 * + lost + missed, and reserved = read = stored.
 *
 * A wake has no record, only a stamp in the task that it wakes: it counts as
 * read and stored once it is reserved. Runs of programs that the kernel skipped
 * are in the user stream's rows, as seen and missed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"
#include "store/kinds.h"

static bool is_zero(const struct clew_ledger_row *row)
{
	return !row->seen && !row->filtered && !row->reserved && !row->read && !row->stored &&
	       !row->lost && !row->missed;
}

int clew_ledger_write(struct clew_recorder *recorder, const struct clew_cost *cost,
		      struct clew_recorder_summary *ret_summary)
{
	struct clew_ledger_row *rows =
		calloc((size_t)(recorder->cpu_count + 1) * CLEW_KIND_COUNT, sizeof(*rows));
	uint64_t missed[CLEW_KIND_COUNT];
	size_t count = 0;
	int error;

	if (!rows)
		return -ENOMEM;
	ret_summary->balanced = true;
	clew_missed_runs(recorder, missed);
	for (unsigned cpu = 0; cpu <= recorder->cpu_count; cpu++)
		for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
			struct clew_ledger_row *row = &rows[count];
			bool has_records = store_shape(kind)->size;

			memset(row, 0, sizeof(*row));
			row->kind = kind;
			if (!store_shape(kind)->in_ledger)
				continue;
			if (cpu == recorder->cpu_count) {
				row->cpu = CLEW_STREAM_USER;
				row->seen = row->reserved = row->read = recorder->user_reads[kind];
				row->missed = missed[kind] - recorder->missed_before[kind];
				row->lost = recorder->user_lost[kind];
				row->seen += row->missed + row->lost;
				row->stored = clew_writer_stored(recorder->writer, CLEW_STREAM_USER,
								 kind);
			} else {
				const struct clew_cpu_state *state = &recorder->cpus[cpu];

				row->cpu = cpu;
				row->seen = state->counts[kind].seen;
				row->filtered = state->counts[kind].filtered;
				row->reserved = state->counts[kind].reserved;
				row->lost = state->counts[kind].lost;
				row->missed = state->counts[kind].missed;
				row->read = has_records ? recorder->streams[cpu].read[kind]
							: row->reserved;
				row->stored = has_records ? clew_writer_stored(recorder->writer,
									       cpu, kind)
							  : row->reserved;
				row->stored -= recorder->streams[cpu].made[kind];
			}
			if (is_zero(row))
				continue;
			if (row->seen != row->filtered + row->reserved + row->lost + row->missed ||
			    row->reserved != row->read || row->read != row->stored)
				ret_summary->balanced = false;
			ret_summary->records += has_records ? row->stored : 0;
			ret_summary->lost += row->lost;
			ret_summary->missed += row->missed;
			ret_summary->missed_by[row->kind] += row->missed;
			if (kind == CLEW_KIND_SWITCH)
				ret_summary->seen_switches += row->seen;
			count++;
		}
	error = clew_writer_ledger(recorder->writer, rows, count, cost);
	free(rows);
	return error;
}

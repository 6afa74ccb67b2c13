/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counts of records seen, lost and stored, and of runs that the kernel skipped. */
#ifndef CLEW_RECORD_STREAM_LEDGER_H
#define CLEW_RECORD_STREAM_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/stream/outlet.h"
#include "store/capture.h"

struct clew_recorder;

struct ledger {
	struct clew_ledger_row *counted; /* by those of earlier files; NULL: there are none */
	uint64_t missed_before[CLEW_KIND_COUNT]; /* clew_missed_runs() at the start */
};

/*
 * The number of runs of programs that the kernel has skipped so far, by kind of
 * record: CLEW_KIND_COUNT numbers.
 */
void clew_missed_runs(const struct clew_recorder *recorder, uint64_t *ret_counts);

/*
 * Writes the ledger of a file and adds it to recorder->files.summary. `outlets`: those of the
 * file, by CPU, then the user stream's. `last`: the programs have ended. 0 or the file's error.
 */
int clew_ledger_write(struct clew_recorder *recorder, const struct outlet *outlets, bool last,
		      const struct clew_cost *cost);

#endif

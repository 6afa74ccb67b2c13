/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Says on standard error, if that is a terminal, what a recording does: that it loads, that it
 * records, and then a line each second, which is written again and again.
 */
#ifndef CLEW_CLI_RECORD_RECORD_PROGRESS_H
#define CLEW_CLI_RECORD_RECORD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct clew_recorder;

struct clew_record_progress {
	bool terminal;
	bool machine;	/* no command has the terminal */
	uint64_t begun; /* ns of CLOCK_MONOTONIC, when it began to record */
	uint64_t shown; /* seconds since then, of the last line; 0: none */
};

/* Before anything is loaded. `command`: one is recorded; `silent`: says nothing at all. */
void clew_record_progress_begin(struct clew_record_progress *progress, bool command, bool silent);
/* It records from now on. `duration`: for so many ns, 0: without an end. */
void clew_record_progress_start(struct clew_record_progress *progress, uint64_t duration);
/* To be called several times a second. */
void clew_record_progress_tick(struct clew_record_progress *progress,
			       const struct clew_recorder *recorder);
/* Removes the line. */
void clew_record_progress_end(const struct clew_record_progress *progress);

#endif

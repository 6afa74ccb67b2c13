/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Progress of a long job, on standard error if that is a terminal. Nothing is
 * shown in the first half second.
 */
#ifndef CLEW_CLI_FRONT_PROGRESS_H
#define CLEW_CLI_FRONT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct clew_progress {
	const char *what;
	uint64_t begun;
	uint64_t shown; /* when it was last written, 0 never */
	bool terminal;
};

void clew_progress_begin(struct clew_progress *progress, const char *what);
/* `progress`: struct clew_progress *; `done`: 0..1. */
void clew_progress_update(void *progress, double done);
/* Removes the line. */
void clew_progress_end(struct clew_progress *progress);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that a capture takes when it is read. On a machine that serves others, clew takes none
 * that is not there: it refuses to read what cannot fit, and where memory runs out all the same it
 * is killed before anything else is.
 */
#ifndef CLEW_CLI_FRONT_MEMORY_H
#define CLEW_CLI_FRONT_MEMORY_H

#include "trace/trace.h"

/* Call it before a capture is read into memory: `from` to `to` of it, ns; both 0: all of it.
 * `model`: a causal trace is made of it, too. Returns 0 or, after clew_fail(), an exit status. */
int clew_memory_check(const char *name, const struct clew_capture_info *info, uint64_t from,
		      uint64_t to, bool model);

#endif

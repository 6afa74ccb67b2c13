/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of a long capture that began before the window of their end knows everything. */
#ifndef CLEW_CLI_OPERAND_LONG_OPERATIONS_H
#define CLEW_CLI_OPERAND_LONG_OPERATIONS_H

#include "explain/why.h"

/*
 * Reads the capture once more, once for all operations that are near each other, and calls `find`
 * with a trace of all of their time; it returns 0 or -errno. Sorts the operations, which are of
 * `size` bytes and begin with a struct clew_operation. Says on standard error how many there are.
 * Returns 0 or, after clew_fail(), an exit status.
 */
int clew_long_operations(const char *operand, void *operations, size_t count, size_t size,
			 int (*find)(void *context, const struct clew_trace *trace,
				     const void *operations, size_t count),
			 void *context);

/* Reads from..to of a capture; `title` is that of the progress. 0 or, after clew_fail(), an exit
 * status. */
int clew_load_interval(const char *operand, const char *title, uint64_t from, uint64_t to,
		       struct clew_trace **ret_trace);

#endif

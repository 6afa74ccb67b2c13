/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The choices of `clew locks`. */
#ifndef CLEW_CLI_LOCKS_LOCKS_H
#define CLEW_CLI_LOCKS_LOCKS_H

#include "cli/front/options.h"
#include "cli/operand/selection.h"
#include "cli/operand/window.h"
#include "explain/locks.h"
#include "explain/locks_taken.h"

struct locks_values {
	struct clew_selection selection;
	struct clew_window window;
	struct clew_number top;
	bool json;
};

/* How many locks are shown. */
size_t locks_top(const struct locks_values *values);
/* Prints the answer; `trace` has the names. */
void locks_print(const struct clew_trace *trace, const struct locks_values *values,
		 const struct clew_locks *locks, const struct clew_taken_locks *taken);

/* The answer about a long capture, in windows. Returns an exit status. */
struct clew_reader;
int locks_in_windows(const char *operand, struct clew_reader *reader, struct locks_values *values);

#endif

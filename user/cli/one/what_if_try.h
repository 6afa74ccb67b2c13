/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew what-if --try: a prediction, tried by making a function take longer. */
#ifndef CLEW_CLI_ONE_WHAT_IF_TRY_H
#define CLEW_CLI_ONE_WHAT_IF_TRY_H

#include <stdbool.h>

#include "cli/front/options.h"

struct clew_try_values {
	const char *function, *span, *delay;
	struct clew_number pid, blocks;
	bool everybody;
};

/* `trace`: what predicts the same, NULL none; `words`: the command to run, NULL none. Returns an
 * exit status. */
int clew_what_if_try(const struct clew_try_values *values, const char *trace, char **words,
		     bool json);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew what-if --try and --quota: a prediction, tried by making a program slower. */
#ifndef CLEW_CLI_ONE_WHAT_IF_TRY_H
#define CLEW_CLI_ONE_WHAT_IF_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/front/options.h"

struct clew_try_values {
	const char *function, *quota;	      /* one of them */
	const char *span, *class, *operation; /* one of them */
	const char *delay;
	uint64_t block; /* ns, 0: the usual length */
	struct clew_number pid, blocks;
	bool everybody;
};

/* True if one of the options was given. */
bool clew_try_is_asked(const struct clew_try_values *values);

/* `trace`: what predicts the same, NULL none; `words`: the command to run, NULL none. Returns an
 * exit status. */
int clew_what_if_try(const struct clew_try_values *values, const char *trace, char **words,
		     bool json);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew why --now. */
#ifndef CLEW_CLI_ONE_WHY_NOW_H
#define CLEW_CLI_ONE_WHY_NOW_H

#include "cli/operand/selection.h"

/* Answers about the process that --pid names. `operand`: only the default one goes with it.
 * Returns an exit status. */
int clew_why_now(const char *operand, struct clew_selection *selection, bool as_json);

#endif

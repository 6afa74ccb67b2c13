/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a period of clew top: a segment. */
#ifndef CLEW_CLI_TOP_TOP_PERIOD_H
#define CLEW_CLI_TOP_TOP_PERIOD_H

#include "answers/top/top.h"
#include "cli/operand/selection.h"
#include "relate/job_kept.h"
#include "top/ages.h"

/*
 * Reads a segment. `ages` and `kept` go on from period to period. top_period_free() in any case.
 * Returns 0 or, after clew_fail(), an exit status.
 */
int top_period_read(const char *path, const struct clew_selection *selection, struct ages *ages,
		    struct clew_jobs_kept *kept, struct top_period **ret_period);
void top_period_free(struct top_period *period);

#endif

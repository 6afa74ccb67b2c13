/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew report of a long capture, in windows. */
#ifndef CLEW_CLI_REPORT_REPORT_WINDOWS_H
#define CLEW_CLI_REPORT_REPORT_WINDOWS_H

#include "answers/report/report.h"
#include "cli/operand/selection.h"
#include "store/capture.h"

struct long_report;

/*
 * Makes the report of all of a capture, about the chosen threads. report_windows_done() frees it,
 * also after an error. Returns 0 or, after clew_fail(), an exit status.
 */
int report_windows_make(const char *operand, struct clew_reader *reader,
			struct clew_selection *selection, struct long_report **ret_made);
const struct report *report_windows_report(const struct long_report *made);
void report_windows_done(struct long_report *made);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A report is begun, looked for in each window of a long capture or in a trace that was read in one
 * piece, which is one window (trace/windows.h), and finished.
 */
#ifndef CLEW_ANSWERS_REPORT_REPORT_SUM_H
#define CLEW_ANSWERS_REPORT_REPORT_SUM_H

#include "answers/report/report.h"
#include "explain/recorded.h"
#include "trace/windows.h"

struct report_asked {
	struct clew_chosen chosen;	     /* tasks; clew's own are left out in any case */
	const struct clew_recorded *command; /* of which the tasks are; NULL: of none */
	uint64_t from, to;		     /* ns, CLOCK_MONOTONIC; UINT64_MAX: until the end */
};

struct report_sum;

/* `asked` stays the caller's; it may say more until the first window is looked at. NULL: no memory.
 */
struct report_sum *report_sum_begin(const struct report_asked *asked);
/* For clew_windows_run() and clew_windows_alone(). */
struct clew_windows_taker report_sum_taker(struct report_sum *sum);
/*
 * Makes the report. `names` has all names or is the trace that was looked at; `relations`, of that,
 * may be NULL. An operation that no window could explain has `explained` = false. Free the report
 * with report_done(), also after an error. 0 or -errno.
 */
int report_sum_finish(struct report_sum *sum, const struct clew_trace *names,
		      const struct clew_relations *relations, struct report *ret_report);
void report_sum_free(struct report_sum *sum);

/* All of that for a trace that was read in one piece. */
int report_make(const struct clew_trace *trace, const struct clew_relations *relations,
		const struct report_asked *asked, struct report *ret_report);

#endif

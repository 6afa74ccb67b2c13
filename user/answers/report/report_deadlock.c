/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The headline about tasks that wait for each other, until the recording or a signal ends that. */
#include "answers/report/report.h"
#include "format/text.h"
#include "words/deadlock.h"

static bool has_chosen(const struct report *report, const struct clew_deadlock *deadlock)
{
	for (size_t i = 0; i < deadlock->count; i++)
		if (clew_is_chosen(&report->chosen, report->trace, deadlock->steps[i].task))
			return true;
	return false;
}

const struct clew_deadlock *report_find_deadlock(const struct report *report)
{
	size_t count;
	const struct clew_deadlock *all = clew_trace_deadlocks(report->trace, &count);

	for (size_t i = 0; i < count; i++)
		if (has_chosen(report, &all[i]))
			return &all[i];
	return NULL;
}

void report_print_deadlock(FILE *out, const struct report *report)
{
	const struct clew_deadlock *deadlock = report->deadlock;
	uint64_t start = clew_trace_start(report->trace), end = clew_trace_end(report->trace);

	if (deadlock->since > start)
		fprintf(out, "Deadlock since +%s",
			CLEW_OFFSET(deadlock->since - start, end - start));
	else
		fputs("Deadlock from before the recording", out);
	if (deadlock->until != CLEW_TIME_OPEN)
		fprintf(out, ", until a signal came at +%s",
			CLEW_OFFSET(deadlock->until - start, end - start));
	fputs(": ", out);
	clew_print_circle(out, report->trace, deadlock, CLEW_NO_TASK);
	putc('.', out);
}

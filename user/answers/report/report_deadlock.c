/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The headline about threads that wait for each other's locks as the recording ends. */
#include <errno.h>

#include "answers/report/report.h"
#include "format/text.h"
#include "words/object.h"
#include "words/task.h"

int report_find_deadlock(struct report *report)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(report->trace, &count);
	struct map waits;
	int r = clew_hangs_index(report->trace, &waits);

	for (size_t i = 0; i < count && r == 0 && !report->deadlocked; i++) {
		if (sleeps[i].end != CLEW_TIME_OPEN || !sleeps[i].holder_count ||
		    !clew_is_chosen(&report->chosen, report->trace, sleeps[i].task))
			continue;
		r = clew_hang_find(report->trace, &waits, sleeps[i].task, &report->deadlock);
		report->deadlocked = r == 0 && clew_hang_is_deadlock(&report->deadlock);
	}
	map_done(&waits);
	return r;
}

/* When the last wait of the circle began; 0: none began in the recording. */
static uint64_t closed_at(const struct clew_hang *hang)
{
	uint64_t since = 0;

	for (size_t i = hang->cycle; i < hang->count; i++) {
		const struct clew_sleep *sleep = hang->steps[i].sleep;

		if (!(sleep->open & CLEW_OPEN_START) && sleep->start > since)
			since = sleep->start;
	}
	return since;
}

void report_print_deadlock(FILE *out, const struct report *report)
{
	const struct clew_trace *trace = report->trace;
	const struct clew_hang *hang = &report->deadlock;
	uint64_t start = clew_trace_start(trace), since = closed_at(hang);

	if (since)
		fprintf(out, "Deadlock since +%s: ",
			CLEW_OFFSET(since - start, clew_trace_end(trace) - start));
	else
		fputs("Deadlock from before the recording: ", out);
	for (size_t i = hang->cycle; i < hang->count; i++) {
		const struct clew_hang_step *step = &hang->steps[i];
		size_t next = i + 1 < hang->count ? i + 1 : hang->cycle;

		clew_print_task(out, trace, step->task, clew_trace_end(trace));
		fputs(" waits for ", out);
		if (!clew_print_object(out, trace, &step->sleep->object, step->sleep))
			fputs("a lock", out);
		fputs(", which ", out);
		clew_print_task(out, trace, hang->steps[next].task, clew_trace_end(trace));
		fputs(i + 1 < hang->count ? " has; " : " has.", out);
	}
}

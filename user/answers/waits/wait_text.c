/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the line about a wait. */
#include <inttypes.h>

#include "answers/waits/internal.h"
#include "answers/waits/waits.h"
#include "format/style.h"
#include "format/text.h"
#include "trace/deadlock.h"
#include "words/describe.h"
#include "words/ledger.h"
#include "words/link.h"
#include "words/object.h"
#include "words/other_end.h"
#include "words/remote.h"
#include "words/task.h"
#include "words/tried.h"
#include "words/wait.h"

void wait_print_holders(FILE *out, const struct clew_row *row)
{
	const struct clew_trace *trace = row->trace;
	const struct clew_sleep *sleep = row->item;

	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t to = clew_trace_until(trace, holder->to);

		if (holder->coming) {
			fputs(", for ", out);
			fputs(CLEW_DURATION(to - holder->from), out);
			fputs(" free, or held unseen, while ", out);
			clew_print_task(out, trace, holder->task, holder->from);
			fputs(" was woken for it and had no CPU", out);
			continue;
		}
		fputs(i ? ", then by " : ", held by ", out);
		clew_print_task(out, trace, holder->task, holder->from);
		fprintf(out, " for %s", CLEW_DURATION(to - holder->from));
		if (holder->barged)
			fputs(" (barged in)", out);
	}
}

void wait_print_end(FILE *out, const struct clew_row *row)
{
	const struct clew_trace *trace = row->trace;
	const struct clew_sleep *sleep = row->item;
	uint64_t runqueue = clew_wait_runqueue(trace, sleep);

	if (sleep->end == CLEW_TIME_OPEN) {
		fprintf(out, "; not over %s", clew_end_words(trace));
		return;
	}
	if (sleep->ended_by != CLEW_NO_TASK) {
		fputs("; ended by ", out);
		clew_print_task(out, trace, sleep->ended_by, sleep->raw_end ?: sleep->end);
		if (sleep->link_count) {
			fputs(" through ", out);
			clew_print_first_link(out, trace, sleep);
		}
		if (sleep->context != CLEW_WAKE_TASK)
			fprintf(out, " (in %s)", clew_context_name(sleep->context));
	} else if (sleep->link_count && sleep->links[0].kind != CLEW_LINK_IPI) {
		fputs("; ended by ", out);
		clew_print_first_link(out, trace, sleep);
		fprintf(out, " (in %s)", clew_context_name(sleep->context));
	} else if (sleep->context == CLEW_WAKE_UNKNOWN) {
		fputs("; who ended it is unknown", out);
	} else {
		fprintf(out, "; ended in %s", clew_context_name(sleep->context));
	}
	if (runqueue)
		fprintf(out, ", then ready for %s", CLEW_DURATION(runqueue));
}

void wait_print_start(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;
	uint64_t start = clew_trace_start(row->trace);

	fprintf(out, "+%-13s ",
		CLEW_OFFSET(sleep->start - start, clew_trace_end(row->trace) - start));
}

void wait_print_ns(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	fprintf(out, "%9s  ", CLEW_DURATION(clew_wait_end(row->trace, sleep) - sleep->start));
}

void wait_print_kind(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	clew_print_styled(out, clew_style_of_kind(sleep->kind), 8,
			  clew_wait_kind_name(sleep->kind));
}

void wait_print_task(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	putc(' ', out);
	clew_print_task(out, row->trace, sleep->task, sleep->start);
}

void wait_print_call(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;
	const char *call = clew_call_name(sleep->call);

	/* "futex futex 0x.." would say nothing more. */
	if (call && sleep->object.kind != CLEW_OBJECT_FUTEX)
		fprintf(out, ", %s", call);
}

void wait_print_object(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	if (!clew_waits_for_object(sleep))
		return;
	fputs(", ", out);
	clew_print_object(out, row->trace, &sleep->object, sleep);
}

void wait_print_since(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->open & CLEW_OPEN_START)
		fputs(" (since before the capture)", out);
}

void wait_print_other_end(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	clew_print_other_end(out, row->trace, sleep, true);
}

void wait_print_remote(FILE *out, const struct clew_row *row)
{
	clew_print_remote(out, "; ", row->trace, row->item);
}

void wait_print_tried(FILE *out, const struct clew_row *row)
{
	const struct clew_tried *tried = clew_trace_tried(row->trace, row->item);

	if (!tried)
		return;
	fputs("; ", out);
	clew_print_tried(out, row->trace, tried);
	if (tried->other == CLEW_NO_TASK) {
		fputs(clew_tried_alone(tried), out);
		return;
	}
	fputs(clew_tried_before(tried), out);
	clew_print_task(out, row->trace, tried->other, tried->to);
	fputs(clew_tried_after(tried), out);
	if (tried->what == CLEW_TRIED_SAFEPOINT)
		fputs(", candidate", out);
}

void wait_print_deadlock(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	if (clew_trace_is_stuck(row->trace, sleep))
		fputs(clew_trace_stuck_step(row->trace, sleep->task) ? "; in a deadlock"
								     : "; for a deadlock",
		      out);
}

void wait_print_slices(FILE *out, const struct clew_row *row)
{
	const struct clew_retried *retried = clew_trace_retried(row->trace, row->item);

	if (retried)
		fprintf(out, "; one of %" PRIu32 " calls that make up one wait", retried->slices);
}

void wait_print_blind(FILE *out, const struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->blind)
		fprintf(out, " %s", clew_blind_mark(sleep));
}

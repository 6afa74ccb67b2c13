/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A wait in a list: in words and as JSON. See waits.h. */
#include "answers/waits/waits.h"

#include <inttypes.h>

#include "format/style.h"
#include "format/text.h"
#include "words/describe.h"
#include "words/ledger.h"
#include "words/link.h"
#include "words/object.h"
#include "words/other_end.h"
#include "words/stack.h"
#include "words/stack_table.h"
#include "words/task.h"
#include "words/wait.h"

#define STACK_MOST 5 /* functions of a stack in text */
#define STACK_LEAD "                        in "
#define WAKER_LEAD "                  woken in "

/* `coming`: those that had been woken for the lock and had no CPU yet. */
static void json_holders(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_sleep *sleep, bool coming)
{
	clew_json_array(json, coming ? "coming" : "holders");
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];

		if (holder->coming != coming)
			continue;
		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, holder->task, holder->from);
		clew_json_unsigned(json, "from", holder->from);
		clew_json_unsigned(json, "to", clew_trace_until(trace, holder->to));
		clew_json_string(json, "evidence", clew_evidence_name(holder->evidence));
		if (!coming)
			clew_json_bool(json, "barged", holder->barged);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static bool somebody_came(const struct clew_sleep *sleep)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++)
		if (sleep->holders[i].coming)
			return true;
	return false;
}

static void json_ended_by(struct clew_json *json, const struct clew_trace *trace, bool stacks,
			  const struct clew_sleep *sleep)
{
	if (sleep->end == CLEW_TIME_OPEN) {
		clew_json_null(json, "ended_by");
		return;
	}
	clew_json_object(json, "ended_by");
	clew_json_task_fields(json, trace, sleep->ended_by, sleep->raw_end ?: sleep->end);
	clew_json_string(json, "context", clew_context_name(sleep->context));
	clew_json_unsigned(json, "at", sleep->end);
	clew_json_unsigned(json, "raw_at", sleep->raw_end ?: sleep->end);
	clew_json_links(json, trace, sleep);
	if (stacks)
		clew_json_table_number(
			json, "stack",
			clew_stack_of_waker(json->stacks, sleep->ended_by, sleep->raw_end));
	clew_json_object_end(json);
}

void clew_json_wait(struct clew_json *json, const struct clew_trace *trace, bool stacks,
		    const struct clew_sleep *sleep)
{
	uint64_t vain;

	clew_json_object(json, NULL);
	clew_json_task_fields(json, trace, sleep->task, sleep->start);
	clew_json_unsigned(json, "start", sleep->start);
	clew_json_known(json, "end", sleep->end, CLEW_TIME_OPEN);
	clew_json_string(json, "kind", clew_wait_kind_name(sleep->kind));
	clew_json_string(json, "call", clew_call_name(sleep->call));
	clew_json_unsigned(json, "call_id", sleep->call_id);
	clew_json_object_of(json, "object", trace, &sleep->object, sleep);
	json_holders(json, trace, sleep, false);
	if (somebody_came(sleep))
		json_holders(json, trace, sleep, true);
	json_ended_by(json, trace, stacks, sleep);
	clew_json_other_end(json, trace, sleep);
	clew_json_unsigned(json, "runqueue_ns", clew_wait_runqueue(trace, sleep));
	clew_json_string(json, "open", clew_wait_open_name(sleep->open));
	clew_json_bool(json, "blind", sleep->blind);
	if (sleep->link_count && sleep->links[0].kind == CLEW_LINK_PACKET &&
	    CLEW_LINK_HELD(sleep->links))
		clew_json_string(json, "held_back", clew_held_name(CLEW_LINK_HELD(sleep->links)));
	clew_json_slices(json, trace, sleep);
	if (clew_trace_vain(trace, sleep, &vain))
		clew_json_unsigned(json, "for_nothing_ns", vain);
	if (stacks)
		clew_json_table_number(json, "stack", clew_stack_of_sleep(json->stacks, sleep));
	clew_json_object_end(json);
}

static void print_holders(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
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

static void print_end(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
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

static void print_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_retried *retried = clew_trace_retried(trace, sleep);
	const char *call = clew_call_name(sleep->call);

	fprintf(out, "+%-13s %9s  ",
		CLEW_OFFSET(sleep->start - clew_trace_start(trace),
			    clew_trace_end(trace) - clew_trace_start(trace)),
		CLEW_DURATION(clew_wait_end(trace, sleep) - sleep->start));
	clew_print_styled(out, clew_style_of_kind(sleep->kind), 8,
			  clew_wait_kind_name(sleep->kind));
	putc(' ', out);
	clew_print_task(out, trace, sleep->task, sleep->start);
	/* "futex futex 0x.." would say nothing more. */
	if (call && sleep->object.kind != CLEW_OBJECT_FUTEX)
		fprintf(out, ", %s", call);
	if (clew_waits_for_object(sleep)) {
		fputs(", ", out);
		clew_print_object(out, trace, &sleep->object, sleep);
	}
	if (sleep->open & CLEW_OPEN_START)
		fputs(" (since before the capture)", out);
	print_holders(out, trace, sleep);
	print_end(out, trace, sleep);
	clew_print_other_end(out, trace, sleep, true);
	if (retried)
		fprintf(out, "; one of %" PRIu32 " calls that make up one wait", retried->slices);
	if (sleep->blind)
		fprintf(out, " %s", clew_blind_mark(sleep));
	putc('\n', out);
}

static void print_stack(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (clew_has_stack(trace, sleep)) {
		fputs(STACK_LEAD, out);
		clew_print_stack(out, trace, sleep, STACK_MOST);
		putc('\n', out);
	}
	if (clew_print_waker_stack(out, WAKER_LEAD, trace, sleep, STACK_MOST))
		putc('\n', out);
}

void clew_print_wait(FILE *out, const struct clew_trace *trace, bool stacks,
		     const struct clew_sleep *sleep)
{
	print_wait(out, trace, sleep);
	if (stacks)
		print_stack(out, trace, sleep);
}

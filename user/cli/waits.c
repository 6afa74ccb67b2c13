/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew waits: every sleep of the chosen threads, on what, held and ended by whom.
 */
#include "cli/waits.h"

#include "base/sort.h"
#include <inttypes.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/windows.h"
#include "explain/operations.h"
#include "words/describe.h"
#include "words/ledger.h"
#include "words/lines.h"
#include "words/link.h"
#include "words/object.h"
#include "words/other_end.h"
#include "words/stack.h"
#include "words/style.h"
#include "words/task.h"
#include "words/text.h"
#include "words/wait.h"

#define STACK_MOST 5 /* functions of a stack in text */
#define STACK_LEAD "                        in "
#define WAKER_LEAD "                  woken in "

const struct clew_option clew_waits_options[] = {
	{0, "tid", "N", "only waits of this thread", clew_take_number,
	 offsetof(struct waits_values, selection.tid)},
	{0, "pid", "N", "only waits of this process's threads", clew_take_number,
	 offsetof(struct waits_values, selection.pid)},
	{0, "comm", "GLOB", "only waits of threads named like this", clew_take_string,
	 offsetof(struct waits_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct waits_values, selection.group, "waits of threads"),
	{0, "min", "DURATION", "only waits at least so long (5ms)", clew_take_duration,
	 offsetof(struct waits_values, least)},
	{0, "kind", "KIND,..", "only waits of these kinds", clew_take_wait_kinds,
	 offsetof(struct waits_values, kinds)},
	CLEW_VIEW_OPTIONS(struct waits_values, view,
			  "show waits for work, of idle kernel threads and of threads that slept "
			  "throughout, too"),
	{0, "stacks", NULL, "say from where in the code each wait was made", clew_take_flag,
	 offsetof(struct waits_values, stacks)},
	CLEW_SOURCE_OPTIONS(struct waits_values, source,
			    "the same with lines of the source and inlined functions"),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct waits_values, json)},
	CLEW_OPTION_END,
};

/* A thread that was asked for by number is shown all through, with what it waits for at the end. */
static bool is_idle(const struct clew_trace *trace, const struct waits_values *values,
		    const struct clew_sleep *sleep)
{
	if (!values->selection.tid.given)
		return sleep_is_idle(trace, sleep);
	return sleep->end != CLEW_TIME_OPEN && wait_is_idle(trace, sleep);
}

bool waits_wanted(const struct clew_trace *trace, struct waits_values *values,
		  const struct clew_sleep *sleep)
{
	const struct clew_trace_task *task = clew_trace_task(values->tasks ?: trace, sleep->task);
	struct clew_selection selection = values->selection;

	selection.self = true;
	if (!task || !clew_selection_wants_at(&selection, trace, task, sleep->start))
		return false;
	if (values->kinds && !(values->kinds >> sleep->kind & 1))
		return false;
	if (!clew_window_has(&values->view.window, sleep->start, clew_wait_end(trace, sleep)) ||
	    clew_wait_end(trace, sleep) - sleep->start < values->least)
		return false;
	if (!clew_selection_wants_at(&values->selection, trace, task, sleep->start)) {
		values->view.self_left_out++;
		return false;
	}
	/* A kind that was named is wanted although it is idle. */
	if (!values->view.idle && !values->kinds && is_idle(trace, values, sleep)) {
		values->view.idle_left_out++;
		return false;
	}
	return true;
}

void waits_add(const struct clew_trace *trace, const struct waits_values *values,
	       const struct clew_sleep *sleep, struct waits_count *count)
{
	uint64_t ns = clew_wait_end(trace, sleep) - sleep->start;
	struct clew_sleep_stacks stacks;

	count->wanted++;
	count->ns += ns;
	if (values->stacks && clew_trace_sleep_stacks(trace, sleep, &stacks)) {
		count->covered++;
		count->covered_ns += ns;
	}
}

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
		clew_json_waker_stack(json, "stack", trace, sleep->ended_by, sleep->raw_end);
	clew_json_object_end(json);
}

static void json_wait(struct clew_json *json, const struct clew_trace *trace, bool stacks,
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
		clew_json_stack(json, trace, sleep);
	clew_json_object_end(json);
}

static void print_holders(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t to = clew_trace_until(trace, holder->to);

		if (holder->coming) {
			fputs(", for ", stdout);
			fputs(CLEW_DURATION(to - holder->from), stdout);
			fputs(" by none while ", stdout);
			clew_print_task(stdout, trace, holder->task, holder->from);
			fputs(" was woken for it and had no CPU", stdout);
			continue;
		}
		fputs(i ? ", then by " : ", held by ", stdout);
		clew_print_task(stdout, trace, holder->task, holder->from);
		printf(" for %s", CLEW_DURATION(to - holder->from));
		if (holder->barged)
			fputs(" (barged in)", stdout);
	}
}

static void print_end(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t runqueue = clew_wait_runqueue(trace, sleep);

	if (sleep->end == CLEW_TIME_OPEN) {
		printf("; not over %s", clew_end_words(trace));
		return;
	}
	if (sleep->ended_by != CLEW_NO_TASK) {
		fputs("; ended by ", stdout);
		clew_print_task(stdout, trace, sleep->ended_by, sleep->raw_end ?: sleep->end);
		if (sleep->link_count) {
			fputs(" through ", stdout);
			clew_print_first_link(stdout, trace, sleep);
		}
		if (sleep->context != CLEW_WAKE_TASK)
			printf(" (in %s)", clew_context_name(sleep->context));
	} else if (sleep->link_count && sleep->links[0].kind != CLEW_LINK_IPI) {
		fputs("; ended by ", stdout);
		clew_print_first_link(stdout, trace, sleep);
		printf(" (in %s)", clew_context_name(sleep->context));
	} else if (sleep->context == CLEW_WAKE_UNKNOWN) {
		fputs("; who ended it is unknown", stdout);
	} else {
		printf("; ended in %s", clew_context_name(sleep->context));
	}
	if (runqueue)
		printf(", then ready for %s", CLEW_DURATION(runqueue));
}

static void print_wait(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_retried *retried = clew_trace_retried(trace, sleep);
	const char *call = clew_call_name(sleep->call);

	printf("+%-13s %9s  ",
	       CLEW_OFFSET(sleep->start - clew_trace_start(trace),
			   clew_trace_end(trace) - clew_trace_start(trace)),
	       CLEW_DURATION(clew_wait_end(trace, sleep) - sleep->start));
	clew_print_styled(stdout, clew_style_of_kind(sleep->kind), 8,
			  clew_wait_kind_name(sleep->kind));
	putchar(' ');
	clew_print_task(stdout, trace, sleep->task, sleep->start);
	/* "futex futex 0x.." would say nothing more. */
	if (call && sleep->object.kind != CLEW_OBJECT_FUTEX)
		printf(", %s", call);
	if (clew_waits_for_object(sleep)) {
		fputs(", ", stdout);
		clew_print_object(stdout, trace, &sleep->object, sleep);
	}
	if (sleep->open & CLEW_OPEN_START)
		fputs(" (since before the capture)", stdout);
	print_holders(trace, sleep);
	print_end(trace, sleep);
	clew_print_other_end(stdout, trace, sleep, true);
	if (retried)
		printf("; one of %" PRIu32 " calls that make up one wait", retried->slices);
	if (sleep->blind)
		printf(" %s", clew_blind_mark(sleep));
	putchar('\n');
}

static void print_stack(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_sleep_stacks stacks;

	if (clew_trace_sleep_stacks(trace, sleep, &stacks) && (stacks.user || stacks.kernel)) {
		fputs(STACK_LEAD, stdout);
		clew_print_stack(stdout, trace, sleep, STACK_MOST);
		putchar('\n');
	}
	if (clew_print_waker_stack(stdout, WAKER_LEAD, trace, sleep, STACK_MOST))
		putchar('\n');
}

/* The waits that are wanted, in their order: as keys whose index is the wait's. */
struct list {
	struct sort_key *keys;
	struct waits_count count;
};

static int make_list(const struct clew_trace *trace, struct waits_values *values,
		     struct list *ret_list)
{
	struct waits_count *count = &ret_list->count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count->all);
	struct sort_key *spare = malloc((count->all + 1) * sizeof(*spare));

	ret_list->keys = malloc((count->all + 1) * sizeof(*ret_list->keys));
	if (!spare || !ret_list->keys) {
		free(spare);
		return clew_fail_memory();
	}
	for (size_t i = 0; i < count->all; i++) {
		if (!waits_wanted(trace, values, &sleeps[i]))
			continue;
		ret_list->keys[count->wanted] = (struct sort_key){
			.key = ~(clew_wait_end(trace, &sleeps[i]) - sleeps[i].start),
			.index = (uint32_t)i};
		waits_add(trace, values, &sleeps[i], count);
	}
	if (values->view.sort == CLEW_SORT_LENGTH)
		sort_keys(ret_list->keys, spare, count->wanted);
	free(spare);
	return 0;
}

void waits_end_json(struct clew_json *json, const struct clew_trace *trace,
		    const struct waits_values *values)
{
	clew_json_lines_told(json, trace);
	clew_json_left_out(json, &values->view);
	clew_json_ledger(json, trace, values->view.window.from, values->view.window.to);
	clew_json_object_end(json);
	clew_json_end(json);
}

void waits_end_text(const struct clew_trace *trace, const struct waits_values *values,
		    const struct waits_count *count)
{
	putchar('\n');
	clew_print_count(&values->view, count->wanted, count->all, "waits");
	printf(", %s in all\n", CLEW_DURATION(count->ns));
	if (values->stacks)
		printf("Stacks of %zu waits, %.1f %% of that time\n", count->covered,
		       count->ns ? 100.0 * (double)count->covered_ns / (double)count->ns : 0.0);
	clew_print_lines_told(stdout, trace);
	clew_print_left_out(&values->view, "idle waits");
	clew_print_ledger(stdout, trace, values->view.window.from, values->view.window.to);
	clew_print_cost(stdout, clew_trace_info(trace));
}

static void list_json(const struct clew_trace *trace, const struct waits_values *values,
		      const struct list *list)
{
	struct clew_json json = {.out = stdout};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	clew_json_object(&json, NULL);
	clew_json_array(&json, "waits");
	for (size_t i = 0; i < list->count.wanted; i++)
		json_wait(&json, trace, values->stacks, &sleeps[list->keys[i].index]);
	clew_json_array_end(&json);
	waits_end_json(&json, trace, values);
}

static void list_text(const struct clew_trace *trace, const struct waits_values *values,
		      const struct list *list)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < list->count.wanted; i++) {
		print_wait(trace, &sleeps[list->keys[i].index]);
		if (values->stacks)
			print_stack(trace, &sleeps[list->keys[i].index]);
	}
	waits_end_text(trace, values, &list->count);
}

static int answer(struct clew_trace *trace, struct waits_values *values)
{
	struct list list = {};
	int status;

	values->selection.self = values->view.self;
	status = clew_selection_check(&values->selection, trace);
	if (!status && values->view.by != CLEW_BY_NONE)
		return waits_by(trace, values);
	if (!status)
		status = make_list(trace, values, &list);
	if (!status)
		(values->json ? list_json : list_text)(trace, values, &list);
	free(list.keys);
	return status;
}

/* True if the answer is a sum over the whole of a capture. */
static bool is_sum(const struct waits_values *values)
{
	return values->view.by != CLEW_BY_NONE && !values->stacks &&
	       !clew_window_given(&values->view.window);
}

int clew_command_waits(const struct clew_command *command, int argc, char **argv)
{
	struct waits_values values = {};
	struct clew_reader *reader = NULL;
	struct clew_trace *trace = NULL;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	values.stacks |= clew_source_wanted(&values.source);
	status = is_sum(&values) ? clew_windows_open(operands[0], &reader) : 0;
	if (status)
		return status;
	if (reader) {
		status = waits_by_in_windows(operands[0], reader, &values);
		clew_reader_close(reader);
	} else {
		status = clew_open_window(operands[0], 0, &values.view.window, &trace);
		if (!status && values.stacks)
			status = clew_need_stacks("waits", trace, &values.source);
		if (!status)
			status = answer(trace, &values);
		clew_trace_free(trace);
	}
	clew_selection_done(&values.selection);
	return status;
}

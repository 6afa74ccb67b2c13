/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew waits: every sleep of the chosen threads, on what, held and ended by whom.
 */
#include "cli/waits/waits.h"

#include "base/sort.h"
#include <stdlib.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/operand/windows.h"
#include "explain/operations.h"
#include "format/text.h"
#include "words/ledger.h"
#include "words/lines.h"
#include "words/wait.h"

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

void waits_count_add(struct waits_count *count, const struct waits_count *more)
{
	count->wanted += more->wanted;
	count->all += more->all;
	count->ns += more->ns;
	count->covered += more->covered;
	count->covered_ns += more->covered_ns;
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
		waits_json(&json, trace, values->stacks, &sleeps[list->keys[i].index]);
	clew_json_array_end(&json);
	waits_end_json(&json, trace, values);
}

static void list_text(const struct clew_trace *trace, const struct waits_values *values,
		      const struct list *list)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < list->count.wanted; i++)
		waits_print(stdout, trace, values->stacks, &sleeps[list->keys[i].index]);
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

int waits_look(const char *operand, struct clew_reader *reader, struct waits_values *values,
	       const struct clew_windows_taker *taker, struct clew_trace **ret_tasks,
	       struct clew_trace **ret_names)
{
	int status = 0;

	*ret_tasks = *ret_names = NULL;
	values->selection.self = values->view.self;
	if (clew_selection_chooses(&values->selection)) {
		status = clew_windows_names(operand, reader, ret_tasks);
		if (!status)
			status = clew_selection_check(&values->selection, *ret_tasks);
		values->tasks = *ret_tasks;
	}
	if (!status)
		status = clew_windows_look(operand, reader, 0, taker, ret_names);
	return status ?: clew_window_take(&values->view.window, *ret_names);
}

static int answer_in_windows(const char *operand, struct clew_reader *reader,
			     struct waits_values *values)
{
	return values->view.by == CLEW_BY_NONE ? waits_in_windows(operand, reader, values)
					       : waits_by_in_windows(operand, reader, values);
}

static bool has_windows(const struct waits_values *values)
{
	return !values->stacks && !clew_window_given(&values->view.window);
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
	status = has_windows(&values) ? clew_windows_open(operands[0], &reader) : 0;
	if (status)
		return status;
	if (reader) {
		status = answer_in_windows(operands[0], reader, &values);
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew locks: what each contended lock cost, who held it, and why for so long.
 */
#include "cli/locks/locks.h"

#include <stdlib.h>

#include "answers/locks/locks.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/operand/open.h"
#include "cli/operand/windows.h"
#include "words/ledger.h"

#define TOP 10 /* locks in text */

const struct clew_option clew_locks_options[] = {
	{0, "tid", "N", "only locks that this thread waited for, and its waits", clew_take_number,
	 offsetof(struct locks_values, selection.tid)},
	{0, "pid", "N", "the same of this process's threads", clew_take_number,
	 offsetof(struct locks_values, selection.pid)},
	{0, "comm", "GLOB", "the same of threads named like this", clew_take_string,
	 offsetof(struct locks_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct locks_values, selection.group, "waits of threads"),
	CLEW_WINDOW_OPTIONS(struct locks_values, window),
	{0, "self", NULL, "show waits of clew's own threads, too", clew_take_flag,
	 offsetof(struct locks_values, selection.self)},
	{0, "top", "K", "the K locks that cost most (in text 10)", clew_take_number,
	 offsetof(struct locks_values, top)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct locks_values, json)},
	CLEW_OPTION_END,
};

size_t locks_top(const struct locks_values *values)
{
	return values->top.given ? (size_t)values->top.value : values->json ? SIZE_MAX : TOP;
}

void locks_print(const struct clew_trace *trace, const struct locks_values *values,
		 const struct clew_locks *locks, const struct clew_taken_locks *taken)
{
	struct clew_json json = {.out = stdout};
	size_t top = locks_top(values);

	if (!values->json) {
		clew_print_locks(stdout, trace, locks, taken, top);
		clew_print_ledger(stdout, trace, values->window.from, values->window.to);
		clew_print_cost(stdout, clew_trace_info(trace));
		return;
	}
	clew_json_object(&json, NULL);
	clew_json_locks(&json, trace, locks, taken, top);
	clew_json_ledger(&json, trace, values->window.from, values->window.to);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

/* Follows the holders of the locks that the answer shows. */
static int explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct clew_locks *locks, struct clew_taken_locks *taken, size_t top)
{
	int r = 0;

	for (size_t i = 0; i < locks->count && i < top && r == 0; i++)
		r = clew_lock_explain(trace, relations, &locks->locks[i]);
	for (size_t i = 0, more = top; i < taken->count && r == 0; i++) {
		struct clew_taken_lock *lock = &taken->locks[i];

		if (lock->waited < top || (lock->waited == SIZE_MAX && more && more--))
			r = clew_taken_explain(trace, relations, lock);
	}
	return r;
}

static int answer(const struct clew_trace *trace, const struct clew_relations *relations,
		  struct locks_values *values)
{
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = &values->selection};
	struct clew_taken_locks taken = {};
	struct clew_locks locks;
	int r = clew_locks_make(trace, &chosen, values->window.from, values->window.to, &locks);

	if (r == 0)
		r = clew_taken_make(trace, &chosen, values->window.from, values->window.to, &locks,
				    &taken);
	if (r == 0)
		r = explain(trace, relations, &locks, &taken, locks_top(values));
	if (r == 0)
		locks_print(trace, values, &locks, &taken);
	clew_taken_done(&taken);
	clew_locks_done(&locks);
	return r < 0 ? clew_fail_memory() : 0;
}

static int answer_whole(const char *operand, struct locks_values *values)
{
	struct clew_relations *relations = NULL;
	struct clew_trace *trace;
	int status = clew_open_window(operand, 0, &values->window, &trace);

	if (status)
		return status;
	status = clew_selection_check(&values->selection, trace);
	if (!status)
		status = clew_try_relations(trace, &relations);
	if (!status)
		status = answer(trace, relations, values);
	clew_relations_free(relations);
	clew_trace_free(trace);
	return status;
}

/* A window does not know which calls were under way when it began. */
static bool has_calls(const struct clew_reader *reader)
{
	const struct clew_capture_info *info = clew_reader_info(reader);

	return info->counts[CLEW_KIND_FUNCTION] || info->counts[CLEW_KIND_ANNOUNCE];
}

int clew_command_locks(const struct clew_command *command, int argc, char **argv)
{
	struct locks_values values = {};
	struct clew_reader *reader = NULL;
	char **operands;
	int status = 0;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!clew_window_given(&values.window))
		status = clew_windows_open(operands[0], &reader);
	if (!status)
		status = reader && !has_calls(reader)
				 ? locks_in_windows(operands[0], reader, &values)
				 : answer_whole(operands[0], &values);
	if (reader)
		clew_reader_close(reader);
	clew_selection_done(&values.selection);
	return status;
}

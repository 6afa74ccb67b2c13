/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The columns of waits: what their list, JSON, CSV and SQL have. */
#include <clew/tokens.h>

#include "answers/waits/internal.h"
#include "answers/waits/waits.h"
#include "explain/operations.h"
#include "explain/spent.h"
#include "words/wait.h"

static int of_tid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_tid(row->trace, sleep->task, value);
	return 0;
}

static int of_pid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_pid(row->trace, sleep->task, value);
	return 0;
}

static int of_comm(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_comm(row->trace, sleep->task, sleep->start, value);
	return 0;
}

static int of_process(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_process(row->trace, sleep->task, sleep->start, value);
	return 0;
}

static int of_start(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_number(value, sleep->start);
	return 0;
}

static int of_end(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_known(value, sleep->end, CLEW_TIME_OPEN);
	return 0;
}

static int of_ns(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_number(value, clew_wait_end(row->trace, sleep) - sleep->start);
	return 0;
}

static int of_kind(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_string(value, clew_wait_kind_name(sleep->kind));
	return 0;
}

static int of_class(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_string(value, clew_spent_word(clew_spent_within(row->trace, sleep)));
	return 0;
}

static int of_call(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_string(value, clew_call_name(sleep->call));
	return 0;
}

static int of_call_id(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_number(value, sleep->call_id);
	return 0;
}

static int of_runqueue(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_number(value, clew_wait_runqueue(row->trace, sleep));
	return 0;
}

static int of_ended_by_tid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->end != CLEW_TIME_OPEN)
		clew_set_tid(row->trace, sleep->ended_by, value);
	return 0;
}

static int of_ended_by(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->end != CLEW_TIME_OPEN)
		clew_set_comm(row->trace, sleep->ended_by, sleep->raw_end ?: sleep->end, value);
	return 0;
}

static int of_context(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->end != CLEW_TIME_OPEN)
		clew_set_string(value, clew_context_name(sleep->context));
	return 0;
}

static int of_type(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->edge_type >= 0)
		clew_set_string(value,
				clew_trace_type_name(row->trace, (unsigned)sleep->edge_type));
	return 0;
}

static int of_evidence(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->edge_type >= 0)
		clew_set_string(value, clew_evidence_name(sleep->edge_evidence));
	return 0;
}

static int of_holder_tid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;
	const struct clew_holder *holder = clew_wait_main_holder(sleep);

	if (holder)
		clew_set_tid(row->trace, holder->task, value);
	return 0;
}

static int of_holder(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;
	const struct clew_holder *holder = clew_wait_main_holder(sleep);

	if (holder)
		clew_set_comm(row->trace, holder->task, holder->from, value);
	return 0;
}

static int of_open(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_string(value, clew_wait_open_name(sleep->open));
	return 0;
}

static int of_blind(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_number(value, sleep->blind);
	return 0;
}

static int of_idle(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_number(value, sleep_is_idle(row->trace, sleep));
	return 0;
}

static int of_self(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	clew_set_number(value,
			(clew_trace_task(row->trace, sleep->task)->flags & CLEW_TASK_SELF) != 0);
	return 0;
}

static int of_object_kind(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	return clew_set_object(&row->text, row->trace, &sleep->object, sleep, false, value);
}

static int of_object(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_sleep *sleep = row->item;

	return clew_set_object(&row->text, row->trace, &sleep->object, sleep, true, value);
}

const struct clew_column clew_wait_columns[] = {
	CLEW_INTEGER("id", "number of the wait", .value = clew_row_number),
	{.name = "task", .json = wait_json_task},
	CLEW_INTEGER("tid", "the thread that waited", .value = of_tid),
	CLEW_INTEGER("pid", "its process", .value = of_pid),
	CLEW_TEXT("comm", "its name then", .value = of_comm),
	CLEW_TEXT("process", "name of its process's first thread", .value = of_process),
	CLEW_INTEGER("start", "when it went to sleep", .value = of_start, .json = clew_json_column,
		     .print = wait_print_start),
	CLEW_INTEGER("end", "when it was woken; NULL not in the capture", .value = of_end,
		     .json = clew_json_column),
	CLEW_INTEGER("ns", "how long it slept, at most until the capture's end", .value = of_ns,
		     .print = wait_print_ns),
	CLEW_TEXT("kind", "kind of wait, as in clew waits", .value = of_kind,
		  .json = clew_json_column, .print = wait_print_kind),
	{.name = "who", .print = wait_print_task},
	CLEW_TEXT(
		"class",
		"quota, lock, disk, net, mem, peer, pipe, thread, proc, timer or other; NULL idle",
		.value = of_class),
	CLEW_TEXT("call", "system call that it waited in; NULL none", .value = of_call,
		  .json = clew_json_column, .print = wait_print_call),
	{.name = "call_id", .value = of_call_id, .json = clew_json_column},
	CLEW_TEXT("object_kind", "kind of what it waited for", .value = of_object_kind),
	CLEW_TEXT("object", "name of what it waited for", .value = of_object,
		  .json = wait_json_object, .print = wait_print_object),
	{.name = "since", .print = wait_print_since},
	{.name = "holders", .json = wait_json_holders, .print = wait_print_holders},
	{.name = "coming", .json = wait_json_coming},
	{.name = "ended_by", .json = wait_json_ended_by, .print = wait_print_end},
	{.name = "answering", .print = wait_print_remote},
	{.name = "other_end", .json = wait_json_other_end, .print = wait_print_other_end},
	CLEW_INTEGER("runqueue_ns", "then ready, until it had a CPU", .value = of_runqueue,
		     .json = clew_json_column),
	CLEW_INTEGER("ended_by_tid", "the thread that woke it", .value = of_ended_by_tid),
	CLEW_TEXT("ended_by", "name of that thread", .value = of_ended_by),
	CLEW_TEXT("context", "where the wake came from: task, timer, ..", .value = of_context),
	CLEW_TEXT("type", "type of the dependency that ended it", .value = of_type),
	CLEW_TEXT("evidence", "exact, observed or candidate", .value = of_evidence),
	CLEW_INTEGER("holder_tid", "the thread that held it longest", .value = of_holder_tid),
	CLEW_TEXT("holder", "name of that thread", .value = of_holder),
	CLEW_TEXT("open", "start, end or both: those are not in the capture", .value = of_open,
		  .json = clew_json_column),
	{.name = "deadlock", .json = wait_json_deadlock, .print = wait_print_deadlock},
	{.name = "tried", .json = wait_json_tried, .print = wait_print_tried},
	{.name = "retried", .print = wait_print_slices},
	CLEW_INTEGER("blind", "1: records are missing, the end may be wrong", .value = of_blind,
		     .json = clew_json_truth, .print = wait_print_blind),
	CLEW_INTEGER("idle", "1: a wait for work, which clew waits leaves out", .value = of_idle),
	CLEW_INTEGER("self", "1: a wait of clew itself", .value = of_self),
	{.name = "frozen", .json = wait_json_frozen},
	{.name = "held_back", .json = wait_json_held_back},
	{.name = "remote", .json = wait_json_remote},
	{.name = "slices", .json = wait_json_slices},
	{.name = "for_nothing_ns", .json = wait_json_vain},
	{.name = "stack", .json = wait_json_stack},
	{},
};

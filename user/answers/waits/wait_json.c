/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields of a wait in JSON. */
#include "answers/waits/internal.h"
#include "answers/waits/waits.h"
#include "trace/deadlock.h"
#include "words/link.h"
#include "words/object.h"
#include "words/other_end.h"
#include "words/remote.h"
#include "words/stack_table.h"
#include "words/task.h"
#include "words/tried.h"
#include "words/wait.h"

/* Rows of a list have stacks if it was asked for them: it points to a bool. */
static bool has_stacks(const struct clew_row *row)
{
	const bool *stacks = row->context;

	return stacks && *stacks;
}

/* `coming`: those that had been woken for the lock and had no CPU yet. */
static void put_holders(struct clew_json *json, const struct clew_row *row, bool coming)
{
	const struct clew_sleep *sleep = row->item;
	const struct clew_trace *trace = row->trace;

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

void wait_json_ended_by(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row)
{
	const struct clew_trace *trace = row->trace;
	const struct clew_sleep *sleep = row->item;

	(void)column;
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
	if (has_stacks(row))
		clew_json_table_number(
			json, "stack",
			clew_stack_of_waker(json->stacks, sleep->ended_by, sleep->raw_end));
	clew_json_object_end(json);
}

void wait_json_task(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	(void)column;
	clew_json_task_fields(json, row->trace, sleep->task, sleep->start);
}

void wait_json_object(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	clew_json_object_of(json, column->name, row->trace, &sleep->object, sleep);
}

void wait_json_holders(struct clew_json *json, const struct clew_column *column,
		       struct clew_row *row)
{
	(void)column;
	put_holders(json, row, false);
}

void wait_json_coming(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	(void)column;
	if (somebody_came(sleep))
		put_holders(json, row, true);
}

void wait_json_other_end(struct clew_json *json, const struct clew_column *column,
			 struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	(void)column;
	clew_json_other_end(json, row->trace, sleep);
}

void wait_json_tried(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	(void)column;
	clew_json_tried(json, row->trace, row->item);
}

void wait_json_deadlock(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row)
{
	if (clew_trace_is_stuck(row->trace, row->item))
		clew_json_bool(json, column->name, true);
}

void wait_json_frozen(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->frozen)
		clew_json_bool(json, column->name, true);
}

void wait_json_held_back(struct clew_json *json, const struct clew_column *column,
			 struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	if (sleep->link_count && sleep->links[0].kind == CLEW_LINK_PACKET &&
	    CLEW_LINK_HELD(sleep->links))
		clew_json_string(json, column->name, clew_held_name(CLEW_LINK_HELD(sleep->links)));
}

void wait_json_remote(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	(void)column;
	clew_json_remote(json, row->trace, row->item);
}

void wait_json_slices(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	(void)column;
	clew_json_slices(json, row->trace, sleep);
}

void wait_json_vain(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;
	uint64_t vain;

	if (clew_trace_vain(row->trace, sleep, &vain))
		clew_json_unsigned(json, column->name, vain);
}

void wait_json_stack(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	const struct clew_sleep *sleep = row->item;

	if (has_stacks(row))
		clew_json_table_number(json, column->name,
				       clew_stack_of_sleep(json->stacks, sleep));
}

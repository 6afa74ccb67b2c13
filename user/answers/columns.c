/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The columns of a list. */
#include "answers/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words/describe.h"
#include "words/task.h"

void clew_set_tid(const struct clew_trace *trace, uint32_t task, struct clew_cell *value)
{
	const struct clew_trace_task *known = clew_trace_task(trace, task);

	if (known)
		clew_set_number(value, known->tid);
}

void clew_set_pid(const struct clew_trace *trace, uint32_t task, struct clew_cell *value)
{
	const struct clew_trace_task *known = clew_trace_task(trace, task);

	if (known)
		clew_set_number(value, known->pid);
}

void clew_set_comm(const struct clew_trace *trace, uint32_t task, uint64_t at,
		   struct clew_cell *value)
{
	if (clew_trace_task(trace, task))
		clew_set_string(value, clew_trace_comm_at(trace, task, at));
}

void clew_set_process(const struct clew_trace *trace, uint32_t task, uint64_t at,
		      struct clew_cell *value)
{
	const struct clew_trace_task *known = clew_trace_task(trace, task);

	if (known)
		clew_set_string(value, clew_process_name(trace, known, at));
}

int clew_set_copy(char **text, const char *string, struct clew_cell *value)
{
	free(*text);
	*text = strdup(string);
	if (!*text)
		return -ENOMEM;
	clew_set_string(value, *text);
	return 0;
}

int clew_set_object(char **text, const struct clew_trace *trace, const struct clew_object *object,
		    const struct clew_sleep *sleep, bool name, struct clew_cell *value)
{
	struct object_description it;

	if (!object_describe(trace, object, sleep, &it))
		return 0;
	if (name)
		return clew_set_copy(text, it.name, value);
	clew_set_string(value, it.kind);
	return 0;
}

int clew_row_number(struct clew_row *row, struct clew_cell *ret_value)
{
	clew_set_number(ret_value, row->number);
	return 0;
}

void clew_json_column(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	struct clew_cell value = {};

	if (column->value(row, &value) < 0 || value.kind == CLEW_CELL_NULL)
		clew_json_null(json, column->name);
	else if (value.kind == CLEW_CELL_STRING)
		clew_json_string(json, column->name, value.string);
	else
		clew_json_signed(json, column->name, value.number);
}

void clew_json_truth(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	struct clew_cell value = {};

	column->value(row, &value);
	clew_json_bool(json, column->name, value.number != 0);
}

void clew_json_row(struct clew_json *json, const struct clew_column *columns, struct clew_row *row)
{
	for (; columns->name; columns++)
		if (columns->json)
			columns->json(json, columns, row);
}

void clew_print_row(FILE *out, const struct clew_column *columns, const struct clew_row *row)
{
	for (; columns->name; columns++)
		if (columns->print)
			columns->print(out, row);
}

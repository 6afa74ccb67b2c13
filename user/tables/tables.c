/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of tables, and the rows of any. See tables.h. */
#include "tables/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tables/internal.h"
#include "words/describe.h"
#include "words/task.h"

const struct table *const tables[] = {
	&table_tasks,	 &table_runs,	       &table_waits,	  &table_holders, &table_edges,
	&table_requests, &table_request_files, &table_operations, &table_spans,	  &table_samples,
	&table_losses,	 &table_tables,	       &table_columns,	  NULL,
};

void table_source_done(struct table_source *source)
{
	free(source->operations);
}

/* Goes on to the next item that has rows. */
static void find_item(struct table_cursor *cursor, const struct table *table)
{
	for (; cursor->item < cursor->until; cursor->item++) {
		cursor->part = 0;
		cursor->of = table->parts(cursor->source, cursor->item);
		if (cursor->of)
			return;
	}
}

static void go_on(struct table_cursor *cursor, const struct table *table)
{
	if (++cursor->part < cursor->of)
		return;
	cursor->item++;
	find_item(cursor, table);
}

/* Skips rows that are left out. */
static void settle(struct table_cursor *cursor, const struct table *table)
{
	while (!table_cursor_ended(cursor) && table->wanted && !table->wanted(cursor))
		go_on(cursor, table);
}

void table_cursor_begin(struct table_cursor *cursor, const struct table *table,
			struct table_source *source, size_t first, size_t last)
{
	size_t count = table->count(source);

	cursor->source = source;
	cursor->item = first;
	cursor->until = last < count ? last + 1 : count;
	find_item(cursor, table);
	settle(cursor, table);
}

bool table_cursor_ended(const struct table_cursor *cursor)
{
	return cursor->item >= cursor->until;
}

void table_cursor_next(struct table_cursor *cursor, const struct table *table)
{
	go_on(cursor, table);
	settle(cursor, table);
}

int table_cursor_value(struct table_cursor *cursor, const struct table *table, unsigned column,
		       struct table_value *ret_value)
{
	*ret_value = (struct table_value){};
	return table->value(cursor, column, ret_value);
}

void table_cursor_done(struct table_cursor *cursor)
{
	free(cursor->text);
	*cursor = (struct table_cursor){};
}

unsigned table_column_count(const struct table *table)
{
	unsigned count = 0;

	while (table->columns[count].name)
		count++;
	return count;
}

/* ---- columns that tables share ---- */

void set_tid(const struct table_source *source, uint32_t task, struct table_value *value)
{
	const struct clew_trace_task *known = clew_trace_task(source->trace, task);

	if (known)
		set_number(value, known->tid);
}

void set_pid(const struct table_source *source, uint32_t task, struct table_value *value)
{
	const struct clew_trace_task *known = clew_trace_task(source->trace, task);

	if (known)
		set_number(value, known->pid);
}

void set_comm(const struct table_source *source, uint32_t task, uint64_t at,
	      struct table_value *value)
{
	if (clew_trace_task(source->trace, task))
		set_string(value, clew_trace_comm_at(source->trace, task, at));
}

void set_process(const struct table_source *source, uint32_t task, uint64_t at,
		 struct table_value *value)
{
	const struct clew_trace_task *known = clew_trace_task(source->trace, task);

	if (known)
		set_string(value, clew_process_name(source->trace, known, at));
}

int set_copy(struct table_cursor *cursor, const char *text, struct table_value *value)
{
	free(cursor->text);
	cursor->text = strdup(text);
	if (!cursor->text)
		return -ENOMEM;
	set_string(value, cursor->text);
	return 0;
}

int set_object(struct table_cursor *cursor, const struct clew_object *object,
	       const struct clew_sleep *sleep, bool name, struct table_value *value)
{
	struct object_description it;

	if (!object_describe(cursor->source->trace, object, sleep, &it))
		return 0;
	if (name)
		return set_copy(cursor, it.name, value);
	set_string(value, it.kind);
	return 0;
}

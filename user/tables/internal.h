/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables, and what their functions share. */
#ifndef CLEW_TABLES_INTERNAL_H
#define CLEW_TABLES_INTERNAL_H

#include "tables/tables.h"

extern const struct table table_tasks, table_runs, table_waits, table_holders, table_edges,
	table_requests, table_request_files, table_operations, table_spans, table_samples,
	table_losses, table_tables, table_columns;

static inline void set_number(struct table_value *value, uint64_t number)
{
	value->kind = TABLE_NUMBER;
	value->number = (int64_t)number;
}

/* NULL stays one. */
static inline void set_string(struct table_value *value, const char *string)
{
	value->kind = string ? TABLE_STRING : TABLE_NULL;
	value->string = string;
}

/* A number that is NULL where it is `unknown`. */
static inline void set_known(struct table_value *value, uint64_t number, uint64_t unknown)
{
	if (number != unknown)
		set_number(value, number);
}

/* True if a task was asked for, and an interval lies in the source's, at least in part. */
static inline bool row_wanted(const struct table_source *source, uint32_t task, uint64_t start,
			      uint64_t end)
{
	return start <= source->to && end >= source->from &&
	       clew_is_chosen(&source->chosen, source->trace, task);
}

/* Columns about a task at a moment. */
void set_tid(const struct table_source *source, uint32_t task, struct table_value *value);
void set_pid(const struct table_source *source, uint32_t task, struct table_value *value);
void set_comm(const struct table_source *source, uint32_t task, uint64_t at,
	      struct table_value *value);
void set_process(const struct table_source *source, uint32_t task, uint64_t at,
		 struct table_value *value);

/* The kind and the name of an object; `sleep`: as for object_describe(). */
int set_object(struct table_cursor *cursor, const struct clew_object *object,
	       const struct clew_sleep *sleep, bool name, struct table_value *value);
/* A copy of a text that lives as long as the value. */
int set_copy(struct table_cursor *cursor, const char *text, struct table_value *value);

#endif

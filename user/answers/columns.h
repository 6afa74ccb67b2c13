/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The columns of a list: one table of them is what text, JSON, CSV and SQL have of each row. A
 * column is in the tables of `clew sql` and in CSV if it has a meaning, in JSON if it has json(),
 * and in the line of text if it has print(); each form has its columns in the table's order.
 */
#ifndef CLEW_ANSWERS_COLUMNS_H
#define CLEW_ANSWERS_COLUMNS_H

#include <stdio.h>

#include "format/json.h"
#include "trace/trace.h"

enum clew_column_type { CLEW_COLUMN_INTEGER, CLEW_COLUMN_TEXT };

/* The value of a column in a row. */
struct clew_cell {
	enum clew_cell_kind { CLEW_CELL_NULL, CLEW_CELL_NUMBER, CLEW_CELL_STRING } kind;
	int64_t number;
	const char *string; /* the trace's, a constant, or the row's until its next value */
};

/* An item of a trace as a row. */
struct clew_row {
	const struct clew_trace *trace;
	const void *item;
	size_t number;	     /* of the item */
	const void *context; /* what the rows of a list share; the columns know what it is */
	char *text;	     /* of the last value that needed memory, for free(3) */
};

struct clew_column {
	const char *name;
	enum clew_column_type type;
	const char *meaning;
	/* Sets *ret_value, which is CLEW_CELL_NULL. -ENOMEM, otherwise 0. */
	int (*value)(struct clew_row *row, struct clew_cell *ret_value);
	void (*json)(struct clew_json *json, const struct clew_column *column,
		     struct clew_row *row);
	void (*print)(FILE *out, const struct clew_row *row);
};

/* Columns of tables: a name and a meaning, then other members as they are needed. */
#define CLEW_COLUMN(type_, name_, ...)                                                             \
	{                                                                                          \
		.name = name_, .type = type_, .meaning = __VA_ARGS__                               \
	}
#define CLEW_INTEGER(...) CLEW_COLUMN(CLEW_COLUMN_INTEGER, __VA_ARGS__)
#define CLEW_TEXT(...)	  CLEW_COLUMN(CLEW_COLUMN_TEXT, __VA_ARGS__)

/* Say a row in all of its columns, which end with one without a name: as fields of the open object,
 * and as a line without its end. */
void clew_json_row(struct clew_json *json, const struct clew_column *columns, struct clew_row *row);
void clew_print_row(FILE *out, const struct clew_column *columns, const struct clew_row *row);

/* For clew_column.json: the value as it is, and a number as true or false. */
void clew_json_column(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void clew_json_truth(struct clew_json *json, const struct clew_column *column,
		     struct clew_row *row);
/* For clew_column.value: the number of the item. */
int clew_row_number(struct clew_row *row, struct clew_cell *ret_value);

static inline void clew_set_number(struct clew_cell *value, uint64_t number)
{
	value->kind = CLEW_CELL_NUMBER;
	value->number = (int64_t)number;
}

/* NULL stays one. */
static inline void clew_set_string(struct clew_cell *value, const char *string)
{
	value->kind = string ? CLEW_CELL_STRING : CLEW_CELL_NULL;
	value->string = string;
}

/* A number that is NULL where it is `unknown`. */
static inline void clew_set_known(struct clew_cell *value, uint64_t number, uint64_t unknown)
{
	if (number != unknown)
		clew_set_number(value, number);
}

/* Values about a task at a moment. */
void clew_set_tid(const struct clew_trace *trace, uint32_t task, struct clew_cell *value);
void clew_set_pid(const struct clew_trace *trace, uint32_t task, struct clew_cell *value);
void clew_set_comm(const struct clew_trace *trace, uint32_t task, uint64_t at,
		   struct clew_cell *value);
void clew_set_process(const struct clew_trace *trace, uint32_t task, uint64_t at,
		      struct clew_cell *value);

/* The kind or the name of an object; `sleep`: as for object_describe(). `text`: of a row. */
int clew_set_object(char **text, const struct clew_trace *trace, const struct clew_object *object,
		    const struct clew_sleep *sleep, bool name, struct clew_cell *value);
/* A copy of a text that lives as long as the value. */
int clew_set_copy(char **text, const char *string, struct clew_cell *value);

#endif

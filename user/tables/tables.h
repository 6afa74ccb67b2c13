/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as tables: one list of tables, from which come those of `clew sql`, the files of
 * `clew export --to sqlite` and csv, and their reference in docs/sql.md. Nothing is copied: a
 * cursor goes over the trace.
 *
 * The first column of each table is the number of an item of the trace, in ascending order.
 * Rows with one number stand together and are found without reading the others. Times are ns of
 * CLOCK_MONOTONIC.
 */
#ifndef CLEW_TABLES_TABLES_H
#define CLEW_TABLES_TABLES_H

#include <stdio.h>

#include "answers/columns.h"
#include "explain/chosen.h"
#include "explain/classes.h"

/* A trace, and which of its rows there are. */
struct table_source {
	const struct clew_trace *trace;
	struct clew_chosen chosen;		  /* rows of other tasks are left out */
	uint64_t from, to;			  /* and those outside of this interval */
	struct clew_operation_classes operations; /* made when they are first needed */
	bool has_operations;
	int error; /* -errno of what could not be made */
};

struct table_cursor {
	struct table_source *source;
	size_t item;  /* of the trace, from 0 */
	size_t until; /* the item at which it ends */
	size_t part;  /* of the item */
	size_t of;    /* parts that the item has */
	char *text;   /* of the last value that needed memory */
};

struct table {
	const char *name;
	const char *meaning;
	const struct clew_column
		*columns; /* ended by one without a name; those that have a meaning */
	size_t (*count)(struct table_source *source); /* items */
	/* The number of an item's rows; it may be none. */
	size_t (*parts)(const struct table_source *source, size_t item);
	/* False: the row that the cursor is at is left out. NULL: none is. */
	bool (*wanted)(const struct table_cursor *cursor);
	/* The item itself, for columns that know their value. */
	const void *(*item)(const struct table_source *source, size_t item);
	/* For columns without value(): sets *ret_value, which is CLEW_CELL_NULL, to the value of a
	   column; may use cursor->text. -ENOMEM, otherwise 0. */
	int (*value)(struct table_cursor *cursor, unsigned column, struct clew_cell *ret_value);
};

/* All tables, ended by NULL. */
extern const struct table *const tables[];

void table_source_done(struct table_source *source);

/* The first row of items first..last, or (`last` SIZE_MAX) of all from `first` on. */
void table_cursor_begin(struct table_cursor *cursor, const struct table *table,
			struct table_source *source, size_t first, size_t last);
bool table_cursor_ended(const struct table_cursor *cursor);
void table_cursor_next(struct table_cursor *cursor, const struct table *table);
/* 0 or -ENOMEM. */
int table_cursor_value(struct table_cursor *cursor, const struct table *table, unsigned column,
		       struct clew_cell *ret_value);
void table_cursor_done(struct table_cursor *cursor);

/* A column by its number, from 0; NULL: there are no more. */
const struct clew_column *table_column(const struct table *table, unsigned number);
unsigned table_column_count(const struct table *table);

#endif

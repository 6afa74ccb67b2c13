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

#include "explain/chosen.h"
#include "explain/why.h"

enum table_type { TABLE_INTEGER, TABLE_TEXT };

struct table_column {
	const char *name;
	enum table_type type;
	const char *meaning;
};

/* The value of a column. */
struct table_value {
	enum table_kind { TABLE_NULL, TABLE_NUMBER, TABLE_STRING } kind;
	int64_t number;
	const char *string; /* the trace's, a constant, or the cursor's until its next value */
};

/* A trace, and which of its rows there are. */
struct table_source {
	const struct clew_trace *trace;
	struct clew_chosen chosen;	   /* rows of other tasks are left out */
	uint64_t from, to;		   /* and those outside of this interval */
	struct clew_operation *operations; /* made when they are first needed */
	size_t operation_count;
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
	const struct table_column *columns;	      /* ended by one without a name */
	size_t (*count)(struct table_source *source); /* items */
	/* The number of an item's rows; it may be none. */
	size_t (*parts)(const struct table_source *source, size_t item);
	/* False: the row that the cursor is at is left out. NULL: none is. */
	bool (*wanted)(const struct table_cursor *cursor);
	/* Sets *ret_value, which is TABLE_NULL, to the value of a column; may use cursor->text.
	   -ENOMEM otherwise 0. */
	int (*value)(struct table_cursor *cursor, unsigned column, struct table_value *ret_value);
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
		       struct table_value *ret_value);
void table_cursor_done(struct table_cursor *cursor);

unsigned table_column_count(const struct table *table);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of clew top's screen: rows of text about a period, in order and filtered. */
#ifndef CLEW_ANSWERS_TOP_TOP_TABLE_H
#define CLEW_ANSWERS_TOP_TOP_TABLE_H

#include "answers/top/top.h"
#include "format/style.h"

enum top_table { TOP_WAITS, TOP_OBJECTS, TOP_BLAME, TOP_CPUS, TOP_REQUESTS, TOP_SPANS, TOP_TABLES };

#define TOP_COLUMNS_MOST 6

struct top_column {
	const char *title; /* NULL: there are no more columns */
	unsigned width;	   /* columns of the terminal, at least */
	bool grows;	   /* what is left of the terminal is shared by these */
	bool number;	   /* right-aligned; large ones come first */
	bool end;	   /* of paths and the like, whose ends differ: those are kept */
};

struct top_row {
	char *cells[TOP_COLUMNS_MOST];
	uint64_t values[TOP_COLUMNS_MOST]; /* of numbers: by which rows are put in order */
	const struct clew_sleep *wait;	   /* whose chain can be opened; NULL: none */
	uint64_t name;			   /* a hash, the same in each period */
	enum clew_style style;		   /* of the row's kind */
};

struct top_rows {
	struct top_row *rows;
	size_t count;
};

/* The rows of a table, and their order. */
struct top_choice {
	enum top_table table;
	enum top_by by;	    /* of BLAME */
	unsigned sort;	    /* a column */
	const char *filter; /* rows without this text are left out, "" none; the case of letters is
			       not looked at */
};

extern const char *const top_table_names[TOP_TABLES];
extern const struct top_column top_columns[TOP_TABLES][TOP_COLUMNS_MOST + 1];

/* top_rows_done() in either case. 0 or -ENOMEM. */
int top_rows_make(const struct top_period *period, const struct top_choice *choice,
		  struct top_rows *ret_rows);
void top_rows_done(struct top_rows *rows);

/* Why the wait of a row took so long, as lines of text, for free(3); NULL: no memory. `lines`,
 * `width`: of the screen. */
char *top_chain_text(const struct top_period *period, const struct clew_sleep *wait, size_t lines,
		     size_t width);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the time of each pod went, or of each container that is in no pod that is known, or of each
 * unit of systemd. A pod that was made again under its name is one with the earlier one.
 */
#ifndef CLEW_ANSWERS_REPORT_REPORT_PLACES_H
#define CLEW_ANSWERS_REPORT_REPORT_PLACES_H

#include "answers/report/report.h"

/* A row of a table of where time went. */
struct report_spent {
	const char *name;
	size_t tasks;			  /* that spent any time */
	uint64_t total;			  /* ns, the sum of `spent` */
	uint64_t spent[CLEW_SPENT_COUNT]; /* ns */
};

struct report_table {
	const char *heading, *what; /* the first column's */
	size_t width;		    /* of that column */
	const char *more;	    /* what those are called for which there was no room */
	struct report_spent *rows;
	size_t count;
};

/* Prints a table of where time went; `bars`: with a bar for each row. */
void report_print_table(FILE *out, const struct report_table *table, size_t width, bool bars);

/* Prints the table of places, if there are several. */
void report_print_places(FILE *out, const struct report *report, size_t width, bool bars);
/* The field "places". */
void report_json_places(struct clew_json *json, const struct report *report);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The changes that would help: those that would shorten the operations of the class that hurts
 * most, and by how much. Each is a what-if program (docs/what-if.md).
 */
#ifndef CLEW_ANSWERS_REPORT_REPORT_HELP_H
#define CLEW_ANSWERS_REPORT_REPORT_HELP_H

#include "explain/changes.h"
#include "explain/recorded.h"
#include "format/json.h"
#include <stdio.h>

#define REPORT_MOST_HELPS 3

struct report_help {
	struct clew_change change;
	char *program;
	unsigned cpus;	      /* CPU: how many there would be */
	bool alone;	      /* CPU: for the program alone */
	bool no_change;	      /* CPU: threads were ready to run, and yet it would not help */
	uint64_t least, most; /* ns that it would take; where queues are simulated it is between */
};

struct report_helps {
	struct report_help list[REPORT_MOST_HELPS]; /* the one that helps most first */
	size_t count;
	bool tried;	 /* they were looked for */
	bool command;	 /* they are about the recorded command as a whole, and not about a class */
	uint64_t before; /* ns: the 99th percentile of 100 operations and more, else the longest */
};

struct report;

/*
 * Finds what would help the recorded command, or without one the operations of the first class.
 * Nothing where the gain would be within what a simulation is off, nothing where records are
 * missing, and nothing of a recording of more than 300,000 runs on CPUs. 0 or -ENOMEM.
 */
int report_find_helps(struct report *report, const struct clew_recorded *command);
void report_helps_done(struct report_helps *helps);

void report_print_helps(FILE *out, const struct report *report, size_t width);
/* The field "would_help" of the open object. */
void report_json_helps(struct clew_json *json, const struct report *report);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the functions that are to be recorded: what a person writes as OBJECT:GLOB or
 * OBJECT:GLOB(VALUES).
 */
#ifndef CLEW_RECORD_FUNCTIONS_CHOICE_H
#define CLEW_RECORD_FUNCTIONS_CHOICE_H

#include "base/message.h"
#include "symbol/code/signature.h"

#define CLEW_CHOICES_MOST 64 /* of one recording */

struct clew_function_choice {
	char object[4096]; /* a path, the number of a process, or the last part of a path */
	char glob[4096];   /* of the functions' names */
	bool points;	   /* of probes that programs carry instead, as PROVIDER:NAME */
	bool has_values;
	struct clew_wanted values; /* that are recorded with each call */
};

/*
 * A path ends at the last ':' before which a file of that name exists: names of functions may have
 * colons, too. 0, or -EINVAL with a message.
 */
int clew_choice_parse(const char *text, struct clew_function_choice *ret,
		      struct clew_message *message);

/*
 * The same of PROVIDER:NAME or OBJECT:PROVIDER:NAME, maybe with values. ret->object is "" without
 * one.
 */
int clew_choice_parse_points(const char *text, struct clew_function_choice *ret,
			     struct clew_message *message);

#endif

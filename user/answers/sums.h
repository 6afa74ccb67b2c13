/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times added up by a key, as a table and as JSON; and the end of a list or of sums. */
#ifndef CLEW_ANSWERS_SUMS_H
#define CLEW_ANSWERS_SUMS_H

#include <stdbool.h>
#include <stdio.h>

#include "explain/sums.h"
#include "format/json.h"

/* Prints ", 12 of them for nothing (1.2 ms)" behind a group's name; nothing if none was. */
void clew_print_sum_vain(FILE *out, const struct clew_sum *sum);
/* A group's sums as fields of the open object. */
void clew_json_sum(struct clew_json *json, const struct clew_sum *sum);

/* The name of a group. */
struct clew_sums_names {
	/* Prints the name by the group's longest item. */
	void (*name)(void *context, FILE *out, uint32_t item);
	/* Adds fields to the group's object; may be NULL. */
	void (*fields)(void *context, struct clew_json *json, uint32_t item);
	void *context;
};

/* Prints a table of groups, or the fields "by" and "sums" of the open object. */
void clew_print_groups(FILE *out, const struct clew_sum *groups, size_t count, enum clew_sum_by by,
		       const struct clew_sums_names *names);
void clew_json_groups(struct clew_json *json, const struct clew_sum *groups, size_t count,
		      enum clew_sum_by by, const struct clew_sums_names *names);
/* Makes the groups of sums, and writes them into `json` or, if that is NULL, to `out`. 0 or
 * -ENOMEM. */
int clew_say_sums(FILE *out, struct clew_json *json, struct clew_sums *sums, enum clew_sum_by by,
		  const struct clew_sums_names *names);

/* The items that a list leaves out, as it was not asked for them. */
struct clew_left_out {
	size_t idle;
	size_t self;
	bool timed; /* the sums of their times are known */
	uint64_t idle_ns, self_ns;
};

/* "2 of 9 waits", or "2 waits" if only an interval was asked for (`part`), as then only a part of
 * the capture was read. `things`: in the plural. */
void clew_print_count(FILE *out, bool part, size_t count, size_t of, const char *things);
/* Says after a list what is not in it, and how to see it. `idle`: what is idle, in the plural. */
void clew_print_left_out(FILE *out, const struct clew_left_out *left_out, const char *idle);
/* The field "left_out" of the open object: {"idle", "self"}, and their times if known. */
void clew_json_left_out(struct clew_json *json, const struct clew_left_out *left_out);

#endif

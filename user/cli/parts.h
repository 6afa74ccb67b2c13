/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program whose text comes in parts, from options that may be given several times and from
 * files; an error is told at its byte of the part that it is in. Functions that return an
 * int return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_PARTS_H
#define CLEW_CLI_PARTS_H

#include "cli/options.h"

struct clew_part {
	char *what; /* as a message names it */
	char *text;
	size_t size;
};

struct clew_parts {
	struct clew_part *items;
	size_t count;
	char *text; /* of all, a line feed behind each */
	size_t size;
};

/* Take functions of options, whose value is a struct clew_parts: the argument itself, or the file
 * that it names. */
int clew_take_part(const struct clew_option *option, const char *argument, void *value);
int clew_take_part_file(const struct clew_option *option, const char *argument, void *value);
int clew_add_part(struct clew_parts *parts, const char *what, const char *text);
/* Makes the text of all. */
int clew_join_parts(struct clew_parts *parts);
/* Says what is wrong at a byte of that; CLEW_EXIT_INPUT. */
int clew_fail_in_parts(const struct clew_parts *parts, size_t offset, const char *message);
void clew_parts_done(struct clew_parts *parts);

#endif

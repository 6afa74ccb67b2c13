/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program whose text comes in parts, from files and from options that may be
 * given several times. An error is reported at its byte of the part that it is
 * in. Functions that return an int return 0 or, after clew_fail(), an exit
 * status.
 */
#ifndef CLEW_CLI_OPERAND_PARTS_H
#define CLEW_CLI_OPERAND_PARTS_H

#include "cli/front/options.h"

struct clew_part {
	char *what; /* its name in messages */
	char *text;
	size_t size;
};

struct clew_parts {
	struct clew_part *items;
	size_t count;
	char *text; /* all parts, a line feed behind each */
	size_t size;
};

/*
 * Functions for options whose value is a struct clew_parts: they add the
 * argument itself, or the file that it names.
 */
int clew_take_part(const struct clew_option *option, const char *argument, void *value);
int clew_take_part_file(const struct clew_option *option, const char *argument, void *value);
int clew_add_part(struct clew_parts *parts, const char *what, const char *text);
/* Makes the text of all parts. */
int clew_join_parts(struct clew_parts *parts);
/* Reports an error at a byte of that text. Returns CLEW_EXIT_INPUT. */
int clew_fail_in_parts(const struct clew_parts *parts, size_t offset, const char *message);
void clew_parts_done(struct clew_parts *parts);

#endif

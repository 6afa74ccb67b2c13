/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of a subcommand: one table says how they are read and what --help prints.
 * A row names the member of a structure of values that the option sets, and the
 * function that converts its argument to that value:
 *
 *	struct check_values {
 *		bool json;
 *	};
 *
 *	const struct clew_option clew_check_options[] = {
 *		{0, "json", NULL, "print one JSON object", clew_take_flag,
 *		 offsetof(struct check_values, json)},
 *		CLEW_OPTION_END,
 *	};
 *
 *	int clew_command_check(const struct clew_command *command, int argc, char **argv)
 *	{
 *		struct check_values values = {0};
 *		char **operands;
 *		int status;
 *
 *		if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
 *			return status;
 *
 * --help and -h need no row. A new kind of value needs a function of its own, see
 * struct clew_option.
 */
#ifndef CLEW_CLI_FRONT_OPTIONS_H
#define CLEW_CLI_FRONT_OPTIONS_H

#include "cli/front/command.h"
#include <stdint.h>
#include <stdio.h>

/* The capture that `clew record` writes and that commands with the operand "[TRACE]" read, unless
 * another one is named. */
#define CLEW_DEFAULT_TRACE "trace.clew"

#define CLEW_OPTION_END                                                                            \
	{                                                                                          \
		0, NULL, NULL, NULL, NULL, 0                                                       \
	}

/*
 * Reads argv by the command's table of options. True: *ret_operands is the rest of
 * argv; for a command that takes a command, what follows "--". False: the caller
 * returns *ret_status; help was printed, or what is wrong.
 */
bool clew_options_parse(const struct clew_command *command, int argc, char **argv, void *values,
			char ***ret_operands, int *ret_status);

/* Prints what `clew COMMAND --help` shows to standard output. */
void clew_options_print_help(const struct clew_command *command);

/* Sets a bool. */
int clew_take_flag(const struct clew_option *option, const char *argument, void *value);
/* Sets an enum clew_returns_wanted. */
int clew_take_returns(const struct clew_option *option, const char *argument, void *value);
/* Sets a const char *. */
int clew_take_string(const struct clew_option *option, const char *argument, void *value);
/* Sets a struct clew_number; without its optional argument, to 1. */
int clew_take_number(const struct clew_option *option, const char *argument, void *value);
/* Sets a uint64_t, ns: a number with a unit; a bare one is ns. */
int clew_take_duration(const struct clew_option *option, const char *argument, void *value);
/* The same, but a bare number is seconds, as sleep(1) takes it. */
int clew_take_seconds(const struct clew_option *option, const char *argument, void *value);
/* Sets a uint64_t, the bit mask of a list of wait kinds. */
int clew_take_wait_kinds(const struct clew_option *option, const char *argument, void *value);
/* Sets a uint32_t, the bit mask of a list of dependency types. */
int clew_take_edge_types(const struct clew_option *option, const char *argument, void *value);

struct clew_number {
	uint32_t value;
	bool given;
};

#endif

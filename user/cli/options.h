/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of a subcommand: one table says how they are read and what --help
 * prints. A row names the member of a structure of values that the option sets
 * and the function that turns its argument into that value:
 *
 *	struct record_values { const char *output; uint64_t duration; bool sync; };
 *
 *	const struct clew_option clew_record_options[] = {
 *		{'o', "output", "FILE", "write the capture there (clew.clew)", clew_take_string,
 *offsetof(struct record_values, output)},
 *		{'d', "duration", "DURATION", "stop after that long (10s, 500ms)", clew_take_seconds,
 *offsetof(struct record_values, duration)}, {0, "sync", NULL, "each chunk reaches the medium",
 *clew_take_flag, offsetof(struct record_values, sync)}, CLEW_OPTION_END,
 *	};
 *
 *	int clew_command_record(int argc, char **argv)
 *	{
 *		struct record_values values = {.output = "clew.clew"};
 *		char **operands;	// of a command that takes a COMMAND: what stands after "--", or
 *operands[0] == NULL int status;
 *
 *		if (!clew_options_parse(argc, argv, &values, &operands, &status))
 *			return status;
 *
 * An option of one's own kind needs a function of its own: it gets the row, the
 * argument and the member's address, and returns 0 or an exit status after
 * clew_fail(). --help and -h are understood without a row.
 */
#ifndef CLEW_CLI_OPTIONS_H
#define CLEW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct clew_option {
	char letter;	      /* 0: none */
	const char *name;     /* without dashes */
	const char *argument; /* as --help names it; NULL: a flag; "[N]": may be left out */
	const char *help;
	int (*take)(const struct clew_option *option, const char *argument, void *value);
	size_t offset; /* of the value in the structure of values */
};

#define CLEW_OPTION_END                                                                            \
	{                                                                                          \
		0, NULL, NULL, NULL, NULL, 0                                                       \
	}

/*
 * Reads argv by the table of the command that argv[0] names. True: go on;
 * *ret_operands is the rest of argv. False: return *ret_status (help was
 * printed, or what is wrong).
 */
bool clew_options_parse(int argc, char **argv, void *values, char ***ret_operands, int *ret_status);

/* The options as --help lists them. */
void clew_options_print(FILE *out, const struct clew_option *options);

/* Sets a bool. */
int clew_take_flag(const struct clew_option *option, const char *argument, void *value);
/* Sets a const char *. */
int clew_take_string(const struct clew_option *option, const char *argument, void *value);
/* Sets a struct clew_number; of an argument that may be left out, to 1. */
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

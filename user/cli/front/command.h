/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A subcommand: what it is called, what runs it, and its options.
 *
 * To add one: a file of its own with the function and the table of options, both
 * declared in commands.h, and a row in commands.c.
 */
#ifndef CLEW_CLI_FRONT_COMMAND_H
#define CLEW_CLI_FRONT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* One option: how it is read, and what --help prints. See options.h. */
struct clew_option {
	char letter;	      /* 0: none */
	const char *name;     /* without dashes */
	const char *argument; /* as --help names it; NULL: a flag; "[N]": may be left out */
	const char *help;
	/* Converts the argument and stores it at `value`. Returns 0 or, after clew_fail(), an
	 * exit status. */
	int (*take)(const struct clew_option *option, const char *argument, void *value);
	size_t offset; /* of the value in the structure of values */
};

/* The treatment of standard output; see terminal.h. */
enum clew_output {
	CLEW_OUTPUT_RAW,   /* not at all: other programs read it */
	CLEW_OUTPUT_LINES, /* a thing a line: broken lines and a pager only on a terminal */
	CLEW_OUTPUT_PROSE, /* for people: lines are broken everywhere */
};

/* Where `clew help` lists a command. */
enum clew_command_group {
	CLEW_GROUP_FIRST, /* what a newcomer needs */
	CLEW_GROUP_RECORD,
	CLEW_GROUP_LOOK,
	CLEW_GROUP_EXPLAIN,
	CLEW_GROUP_TRACE,
	CLEW_GROUP_TOOLS,
	CLEW_GROUP_MACHINE,
	CLEW_GROUP_COUNT,
};

struct clew_command {
	const char *name;
	enum clew_command_group group;
	const char *operands; /* as the usage line shows them, "" none */
	const char *summary;
	/* Runs it; argv[0] is the subcommand's name. Returns the program's exit status. */
	int (*run)(const struct clew_command *command, int argc, char **argv);
	const struct clew_option *options; /* the last row is CLEW_OPTION_END */
	bool takes_command;		   /* operands are a command and come only after "--" */
	enum clew_output output;
	const char *examples; /* pairs of lines: a command, and what it is for, indented by 4 */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one table of subcommands, and what a subcommand says when it fails.
 *
 * A subcommand is a function that takes its own arguments (argv[0] is its name)
 * and returns the program's exit status. It reads its options by
 * clew_options_parse() from its table of options (options.h), which also prints
 * its --help. To add one: its function and option table below, a row in
 * commands.c, a file of its own.
 */
#ifndef CLEW_CLI_COMMANDS_H
#define CLEW_CLI_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"

#define CLEW_VERSION "0.1"

/* The exit statuses of every subcommand. */
#define CLEW_EXIT_DONE	   0
#define CLEW_EXIT_NEGATIVE 1 /* the answer is no: nothing found, a problem found */
#define CLEW_EXIT_INPUT	   2 /* arguments or input that cannot be used */
#define CLEW_EXIT_SYSTEM   3 /* the system refused */

struct clew_command {
	const char *name;
	const char *operands; /* as the usage line shows them, "" none */
	const char *summary;
	int (*run)(int argc, char **argv);
	const struct clew_option *options;
	bool takes_command; /* operands are a command and come only after "--" */
};

/* All subcommands, ended by one without a name. */
extern const struct clew_command clew_commands[];

int clew_command_record(int argc, char **argv);
int clew_command_info(int argc, char **argv);
int clew_command_waits(int argc, char **argv);
int clew_command_edges(int argc, char **argv);
int clew_command_requests(int argc, char **argv);
int clew_command_io(int argc, char **argv);
int clew_command_why(int argc, char **argv);
int clew_command_dump(int argc, char **argv);
int clew_command_convert(int argc, char **argv);
int clew_command_check(int argc, char **argv);
int clew_command_select(int argc, char **argv);
int clew_command_path(int argc, char **argv);
int clew_command_slack(int argc, char **argv);
int clew_command_blame(int argc, char **argv);
int clew_command_what_if(int argc, char **argv);
int clew_command_pair(int argc, char **argv);
int clew_command_forest(int argc, char **argv);
int clew_command_stitch(int argc, char **argv);
int clew_command_annotate(int argc, char **argv);
int clew_command_doctor(int argc, char **argv);

extern const struct clew_option clew_record_options[];
extern const struct clew_option clew_info_options[];
extern const struct clew_option clew_waits_options[];
extern const struct clew_option clew_edges_options[];
extern const struct clew_option clew_requests_options[];
extern const struct clew_option clew_io_options[];
extern const struct clew_option clew_why_options[];
extern const struct clew_option clew_dump_options[];
extern const struct clew_option clew_convert_options[];
extern const struct clew_option clew_check_options[];
extern const struct clew_option clew_select_options[];
extern const struct clew_option clew_path_options[];
extern const struct clew_option clew_slack_options[];
extern const struct clew_option clew_blame_options[];
extern const struct clew_option clew_what_if_options[];
extern const struct clew_option clew_pair_options[];
extern const struct clew_option clew_forest_options[];
extern const struct clew_option clew_stitch_options[];
extern const struct clew_option clew_annotate_options[];
extern const struct clew_option clew_doctor_options[];

/* The command of this name, or NULL. */
const struct clew_command *clew_command_find(const char *name);

/* The command whose name is nearest to a mistyped one, or NULL if none is near. */
const struct clew_command *clew_command_nearest(const char *name);

/* The list of subcommands, as `clew help` shows it. */
void clew_commands_print(FILE *out);

/* What `clew COMMAND --help` shows. */
void clew_command_print_help(FILE *out, const struct clew_command *command);

/*
 * Says "clew: MESSAGE" in one line on standard error and returns `status`.
 * Messages have the form "what is wrong: what to do".
 */
int clew_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew: finds the subcommand, runs it, and reports it if standard output could
 * not be written completely.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/terminal.h"
#include "format/wrap.h"
#include "opener/opener.h"

#define OPENER "__opener" /* what clew runs itself with, to open files of others */

static int unknown_command(const char *name)
{
	const struct clew_command *nearest = clew_command_nearest(name);

	if (name[0] == '-')
		return clew_fail(CLEW_EXIT_INPUT, "unknown option '%s': see `clew help`", name);
	if (nearest)
		return clew_fail(CLEW_EXIT_INPUT, "'%s' is no command: did you mean `clew %s`?",
				 name, nearest->name);
	return clew_fail(CLEW_EXIT_INPUT, "'%s' is no command: see `clew help`", name);
}

static int help(int argc, char **argv)
{
	const struct clew_command *command;

	clew_terminal_begin(CLEW_OUTPUT_PROSE);
	if (argc < 2 || !strcmp(argv[1], "help") || !strcmp(argv[1], "--help") ||
	    !strcmp(argv[1], "-h")) {
		clew_commands_print(stdout);
		return CLEW_EXIT_DONE;
	}
	command = clew_command_find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	clew_options_print_help(command);
	return CLEW_EXIT_DONE;
}

/* The list goes to standard error, which the terminal module does not wrap. */
static int list_commands(void)
{
	size_t size = 0;
	char *text = NULL, *end;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return CLEW_EXIT_SYSTEM;
	clew_commands_print(out);
	if (fclose(out)) {
		free(text);
		return CLEW_EXIT_SYSTEM;
	}
	for (char *line = text; (end = strchr(line, '\n')); line = end + 1)
		clew_print_line(stderr, line, (size_t)(end - line), clew_terminal_width());
	free(text);
	return CLEW_EXIT_INPUT;
}

/* True if a command to run may follow, which a question is to be about. */
static bool has_command(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return true;
	return false;
}

static int run(int argc, char **argv)
{
	const struct clew_command *command;

	if (argc < 2)
		return list_commands();
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(argc - 1, argv + 1);
	if (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version")) {
		puts("clew " CLEW_VERSION);
		return CLEW_EXIT_DONE;
	}
	command = clew_command_find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	/* A command that clew starts would inherit an ignored signal. */
	if (!command->takes_command && !has_command(argc, argv))
		signal(SIGPIPE, SIG_IGN);
	return command->run(command, argc - 1, argv + 1);
}

/*
 * True if standard output is a pipe whose reader has left, having seen enough:
 * not an error.
 */
static bool reader_left(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

int main(int argc, char **argv)
{
	int status, error;

	if (argc == 2 && !strcmp(argv[1], OPENER))
		return clew_opener_main();
	clew_opener_enable(OPENER);
	status = run(argc, argv);
	errno = 0;
	error = clew_terminal_end();
	if ((error | ferror(stdout) | fflush(stdout)) && !reader_left()) {
		error = error ? -error : errno;
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "standard output: %s: make room or write elsewhere",
				 error ? strerror(error) : "not all could be written");
	}
	return status;
}

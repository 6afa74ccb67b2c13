/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture that a question records first.
 *
 * Invariant: no capture that was there before is written over, unless --keep names it.
 */
#include "cli/record/fresh.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/fail.h"
#include "format/text.h"

#define KEEP_ELSEWHERE "name another file with --keep"

void clew_fresh_begin(struct clew_fresh *fresh, int *argc, char **argv)
{
	for (int i = 1; i < *argc && !fresh->words; i++)
		if (!strcmp(argv[i], "--")) {
			fresh->words = argv + i + 1;
			argv[i] = NULL;
			*argc = i;
		}
}

/* An option that asks for a recording and was given; NULL: none was. */
static const char *option_of(const struct clew_fresh *fresh)
{
	const struct clew_recording *recording = &fresh->recording;

	return fresh->option			? fresh->option
	       : recording->duration		? "-d"
	       : recording->functions.count	? "-f"
	       : recording->returns		? "--returns"
	       : recording->strict_entry	? "--strict-entry"
	       : recording->max_functions.given ? "--max-functions"
	       : recording->max_cost.given	? "--max-cost"
						: NULL;
}

int clew_fresh_check(const struct clew_fresh *fresh, const struct clew_command *about, int argc,
		     char **operands)
{
	const char *option = option_of(fresh), *command = about->name;
	const char *operand = optind < argc ? operands[0] : NULL;

	if (fresh->words && !*fresh->words)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: no command after --: name one, or leave out --", command);
	if (fresh->words && operand)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: '%s' and a command: give a trace or a command", command,
				 operand);
	if (option && operand)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: %s is about a recording to make: leave it out, or '%s'",
				 command, option, operand);
	if (fresh->keep && !option && !fresh->words)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: --keep is about a recording to make: give -d DURATION or a "
				 "command, too",
				 command);
	if (fresh->keep && !strcmp(fresh->keep, "-"))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--keep: '-': a capture cannot go to standard output: name a file");
	return 0;
}

/* The first name that no file has: clew-101500.clew, clew-101500-2.clew, .. */
static char *own_name(void)
{
	time_t now = time(NULL);
	struct tm local;
	char *name;

	if (!localtime_r(&now, &local))
		memset(&local, 0, sizeof(local));
	for (unsigned number = 1;; number++) {
		char suffix[16] = "";

		if (number > 1)
			snprintf(suffix, sizeof(suffix), "-%u", number);
		if (asprintf(&name, "clew-%02d%02d%02d%s.clew", local.tm_hour, local.tm_min,
			     local.tm_sec, suffix) < 0)
			return NULL;
		if (access(name, F_OK) < 0)
			return name;
		free(name);
	}
}

int clew_fresh_record(struct clew_fresh *fresh, const struct clew_command *command, int argc,
		      char ***ret_operands)
{
	char *no_words[] = {NULL};
	struct clew_recording *recording = &fresh->recording;
	bool recorded;
	int status = clew_fresh_check(fresh, command, argc, *ret_operands);

	if (status || (!option_of(fresh) && !fresh->words))
		return status;
	fresh->operands[0] = fresh->keep ? strdup(fresh->keep) : own_name();
	if (!fresh->operands[0])
		return clew_fail_memory();
	recording->output = fresh->operands[0];
	recording->elsewhere = KEEP_ELSEWHERE;
	recording->stacks_if_possible = true;
	recording->keyframe = CLEW_KEYFRAME_USUAL;
	fresh->status = clew_recording_run(recording, fresh->words ?: no_words, &recorded);
	/* A command inherits what SIGPIPE does, and an answer is not killed by it. */
	signal(SIGPIPE, SIG_IGN);
	if (!recorded)
		return fresh->status;
	fputs("clew: the answer is about ", stderr);
	clew_print_safe(stderr, fresh->operands[0]);
	fputs(", which is kept\n", stderr);
	*ret_operands = fresh->operands;
	return 0;
}

int clew_fresh_end(struct clew_fresh *fresh, int status)
{
	free(fresh->operands[0]);
	return status ?: fresh->status;
}

int clew_fresh_answer(const struct clew_command *command, int argc, char **argv, void *values,
		      struct clew_fresh *fresh, const struct clew_fresh_question *question)
{
	char **operands;
	int status;

	clew_fresh_begin(fresh, &argc, argv);
	if (!clew_options_parse(command, argc, argv, values, &operands, &status))
		return status;
	status = question->check ? question->check(values) : 0;
	if (!status)
		status = clew_fresh_record(fresh, command, argc, &operands);
	if (!status)
		status = question->answer(values, operands);
	return clew_fresh_end(fresh, status);
}

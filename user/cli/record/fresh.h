/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture that a question records first, and is then about. */
#ifndef CLEW_CLI_RECORD_FRESH_H
#define CLEW_CLI_RECORD_FRESH_H

#include "cli/front/command.h"
#include "cli/record/recording.h"

struct clew_fresh {
	struct clew_recording recording;
	const char *keep;   /* where the capture goes; NULL: to a name of its own */
	const char *option; /* one of the owner that asks for a recording; NULL: none */
	char **words;	    /* of the command; NULL: there is none */
	char *operands[2];  /* the capture that was made */
	int status;	    /* of the command */
};

/* The rows of an option table: `member` is a struct clew_fresh of the structure of values. */
#define CLEW_FRESH_OPTIONS(structure, member)                                                      \
	{'d',                                                                                      \
	 "duration",                                                                               \
	 "DURATION",                                                                               \
	 "record that long, and answer about that",                                                \
	 clew_take_length,                                                                         \
	 offsetof(structure, member.recording.duration)},                                          \
	{                                                                                          \
		0, "keep", "FILE",                                                                 \
			"keep the capture of such a recording there (clew-HHMMSS.clew)",           \
			clew_take_string, offsetof(structure, member.keep)                         \
	}

/* Cuts "--" and the command behind it off: the options are what is before it. `fresh` is zeroed. */
void clew_fresh_begin(struct clew_fresh *fresh, int *argc, char **argv);

/* Fails unless what was given about a recording fits together. `argc`: as the options were parsed.
 * Returns 0 or, after clew_fail(), an exit status. */
int clew_fresh_check(const struct clew_fresh *fresh, const struct clew_command *command, int argc,
		     char **operands);

/*
 * Checks that, and records, if that was asked for; *ret_operands is then the capture. It says on
 * standard error where that is. Returns 0 or, after clew_fail(), an exit status.
 */
int clew_fresh_record(struct clew_fresh *fresh, const struct clew_command *command, int argc,
		      char ***ret_operands);

/* The exit status: that of the answer, or of the command if the answer's is 0. */
int clew_fresh_end(struct clew_fresh *fresh, int status);

/*
 * All of that: parses the options into `values`, of which `fresh` is a part, and has them checked,
 * before anything is recorded, and the question answered. `check` may be NULL; both return 0 or,
 * after clew_fail(), an exit status. Returns the exit status.
 */
struct clew_fresh_question {
	int (*check)(void *values);
	int (*answer)(void *values, char **operands);
};
int clew_fresh_answer(const struct clew_command *command, int argc, char **argv, void *values,
		      struct clew_fresh *fresh, const struct clew_fresh_question *question);

#endif

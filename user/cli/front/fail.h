/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exit statuses, and the one line that says what went wrong. */
#ifndef CLEW_CLI_FRONT_FAIL_H
#define CLEW_CLI_FRONT_FAIL_H

/* The exit statuses of every subcommand. */
#define CLEW_EXIT_DONE	   0
#define CLEW_EXIT_NEGATIVE 1 /* the answer is no: nothing found, a problem found */
#define CLEW_EXIT_INPUT	   2 /* arguments or input that cannot be used */
#define CLEW_EXIT_SYSTEM   3 /* the system refused */

/*
 * Writes what standard output still has, ends the pager, prints "clew: MESSAGE" as one line on
 * standard error and returns `status`. Messages have the form "what is wrong: what to do".
 */
int clew_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for want of memory; returns CLEW_EXIT_SYSTEM. */
int clew_fail_memory(void);

#endif

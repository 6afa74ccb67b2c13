/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file that a compiler works on. */
#ifndef CLEW_WORDS_SOURCE_FILE_H
#define CLEW_WORDS_SOURCE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/trace.h"

/* Prints `lead` and the last operand of a task's command line that is a source file, without its
 * folder, and a closing bracket: "slow.c)". False, and nothing: it has none. */
bool clew_print_source_file(FILE *out, const char *lead, const struct clew_trace_task *task);

#endif

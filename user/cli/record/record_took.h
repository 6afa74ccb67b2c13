/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last lines of `clew record -- COMMAND` on a terminal: what the command took, and what for. A
 * live builder beside the recording adds that up. If it needs too much memory or time, a line says
 * what to ask instead.
 */
#ifndef CLEW_CLI_RECORD_RECORD_TOOK_H
#define CLEW_CLI_RECORD_RECORD_TOOK_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/stream/taker.h"

struct clew_record_took;

/* True if a person started this clew at a terminal and reads what it says; not if a script did. */
bool clew_record_took_wanted(void);

/* `pid`: of the command, which has not begun. NULL: there is no memory. */
struct clew_record_took *clew_record_took_new(pid_t pid);
struct clew_record_taker clew_record_took_taker(struct clew_record_took *took);
/* Says it, after the recording; `command` in words, `output` the capture. */
void clew_record_took_print(struct clew_record_took *took, const char *command, const char *output);
/* After the recording. NULL is ignored. */
void clew_record_took_free(struct clew_record_took *took);

#endif

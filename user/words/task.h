/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks in JSON and in words, the same in every answer. */
#ifndef CLEW_WORDS_TASK_H
#define CLEW_WORDS_TASK_H

#include "trace/trace.h"
#include <stdio.h>

#include "words/json.h"

/* The fields "pid", "tid" and "comm" of the open object; null where the task is unknown. `at`: ns;
 * the name is the one that it had then. */
void clew_json_task_fields(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
			   uint64_t at);

/* COMM-TID, safe to print. Serial 0 is "the idle task". */
void clew_print_task(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at);

#endif

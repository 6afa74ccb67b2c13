/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks in JSON and in words, the same in every answer. */
#ifndef CLEW_WORDS_TASK_H
#define CLEW_WORDS_TASK_H

#include "trace/trace.h"
#include <stdio.h>

#include "format/json.h"

/* The fields "pid", "tid", "comm" and "process" of the open object; null where the task is unknown.
 * `at`: ns; names are those of then. For a task in an inner pid namespace also "inner_pid" and
 * "inner_tid", and for one with an unusual priority "policy" and "priority" or "nice". */
void clew_json_task_fields(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
			   uint64_t at);

/* The last two of them, if there are any, and "process", of an object that has the others. */
void clew_json_task_place(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
			  uint64_t at);

/* COMM-TID, safe to print; then " (inside N)" if its tid in its own pid namespace is another one,
 * and " of PROCESS" if its process has another name, and how it is scheduled if that is unusual:
 * " (FIFO 50)", " (idle policy)". Serial 0 is "the idle task". */
void clew_print_task(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at);

/* COMM-TID alone, and what follows it. */
void clew_print_task_name(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at);
void clew_print_task_place(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at);

/* The nice value of a task of the usual policy at a moment, else 0. */
int clew_nice_at(const struct clew_trace *trace, uint32_t serial, uint64_t at);

/* The name of a task's process at a moment, "" unknown. */
const char *clew_process_name(const struct clew_trace *trace, const struct clew_trace_task *task,
			      uint64_t at);

#endif

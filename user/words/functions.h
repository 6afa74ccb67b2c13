/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traced functions in a why: in which ones a task ran, and from which ones its waits came. A
 * trace in which no function was traced has no word of this.
 */
#ifndef CLEW_WORDS_FUNCTIONS_H
#define CLEW_WORDS_FUNCTIONS_H

#include <stdio.h>

#include "explain/why.h"
#include "format/json.h"
#include "trace/frames.h"

/* True if functions were traced. */
bool clew_has_functions(const struct clew_trace *trace);

/* The name of a function as people write it; never NULL. It may be that of several overloads, and
 * is not safe for a terminal. */
const char *clew_function_name(const struct clew_trace *trace, uint32_t number);
/* Prints "store", safe for a terminal. */
void clew_print_function_title(FILE *out, const struct clew_trace *trace, uint32_t number);
/* Prints "store()", without arguments and safe for a terminal. */
void clew_print_function(FILE *out, const struct clew_trace *trace, uint32_t number);
/* True if a glob fits the name of a function: mangled, readable, or readable without its
 * arguments. */
bool clew_match_function(const char *glob, const struct clew_trace_function *function);

/*
 * The function from which a task went into what it does at a moment at which it does not run;
 * CLEW_NO_NUMBER: from no traced one.
 */
uint32_t clew_function_at(const struct clew_trace *trace, uint32_t serial, uint64_t at);
/* The same of a segment's task: for a request, where the task queued it. CLEW_NO_NUMBER also for a
 * segment in which it ran or only had no CPU. */
uint32_t clew_segment_function(const struct clew_trace *trace, const struct clew_segment *segment);
/* Prints ", in store()"; nothing where there is none. */
void clew_print_segment_function(FILE *out, const struct clew_trace *trace,
				 const struct clew_segment *segment);
/* Prints " in store()" for a task at a moment; nothing where there is none. */
void clew_print_in_function(FILE *out, const struct clew_trace *trace, uint32_t serial,
			    uint64_t at);

/*
 * Prints ": 30.1 ms in parse, 9.8 ms in other functions" for segments of one task in which it
 * ran; nothing where it was in no traced function. 0 or -ENOMEM.
 */
int clew_print_functions(FILE *out, const struct clew_trace *trace,
			 const struct clew_segment *const *segments, size_t count);

/* An object with the sums of a function; "name" is null for time in none. */
void clew_json_function_time(struct clew_json *json, const struct clew_trace *trace,
			     const struct clew_function_time *time);
/* The field "functions" of a RUNNING segment, "from" of another one. 0 or -ENOMEM. */
int clew_json_functions(struct clew_json *json, const struct clew_trace *trace,
			const struct clew_segment *segment);
/* The field "from": the functions that a task is in at a moment, outermost first. */
void clew_json_from(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
		    uint64_t at);

/* ns that clew's probes took of a why's running time. 0 or -ENOMEM. */
int clew_functions_probe(const struct clew_trace *trace, const struct clew_why *why,
			 uint64_t *ret_ns);

#endif

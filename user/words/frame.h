/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Activations of functions: how they ended, their values, and their fields in JSON. */
#ifndef CLEW_WORDS_FRAME_H
#define CLEW_WORDS_FRAME_H

#include <stdio.h>

#include "format/json.h"
#include "trace/frames.h"

/* The way in which it ended, for people: "left by longjmp". */
const char *clew_frame_closed_text(unsigned closed);

/* A value that was asked for; neither text nor number: it could not be read. */
struct clew_frame_value {
	const char *name; /* NULL: the result */
	const char *text;
	bool has_number, is_address, is_signed;
	uint64_t number;
};
/* Calls `take` for each value of an activation, the result last. Texts live during the call. */
void clew_frame_values(const struct clew_trace *trace, const struct clew_trace_frame *frame,
		       void (*take)(void *context, const struct clew_frame_value *value),
		       void *context);

/*
 * Writes the argument of a call that has this name: a text, a number, or "?" if it could not be
 * read. `detail`: of the call, or NULL. False: nothing of that name was recorded with it.
 */
bool clew_frame_argument(const struct clew_trace *trace, uint32_t function,
			 const struct clew_frame_detail *detail, const char *name, char *ret_text,
			 size_t size);
/* True if an argument of that name was recorded with the calls of any function. */
bool clew_functions_have_argument(const struct clew_trace *trace, const char *name);

/* Prints "(path="/etc/hosts", flags=0) = 3", the values that were recorded; "?" for one that could
 * not be read. False, and nothing, where none were asked for. */
bool clew_print_frame_values(FILE *out, const struct clew_trace *trace,
			     const struct clew_trace_frame *frame);
/* Prints "open(path="/etc/hosts")", or "open()" without values. */
void clew_print_frame(FILE *out, const struct clew_trace *trace,
		      const struct clew_trace_frame *frame);
/* The fields "args", an object, and "ret". */
void clew_json_frame_values(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_trace_frame *frame);
/* The fields of an entry of "list" of `clew spans`. */
void clew_json_frame_fields(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_trace_task *task,
			    const struct clew_trace_frame *frame);

#endif

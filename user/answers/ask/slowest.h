/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines and fields of `clew why` before and between the operations that it explains. */
#ifndef CLEW_ANSWERS_ASK_SLOWEST_H
#define CLEW_ANSWERS_ASK_SLOWEST_H

#include "answers/ask/ask.h"
#include "explain/classes.h"

/* The operations that are explained one by one, longest first. */
struct clew_slowest {
	const struct clew_ask *ask; /* NULL: nothing was asked for by name */
	struct clew_operation *operations;
	size_t count; /* to be explained */
	size_t total;
	bool between_sleeps;
	struct clew_operation_classes
		classes; /* none with --idle, nor where a thing is asked for */
	size_t class;
};

/* The line above the operation of that number. `width`: columns of the terminal. */
void clew_print_slowest(FILE *out, const struct clew_trace *trace,
			const struct clew_slowest *slowest, size_t i, size_t width);
/* The fields of the open object before those of the operations. 0 or -errno. */
int clew_json_slowest(struct clew_json *json, const struct clew_asked_of *in,
		      const struct clew_slowest *slowest);
/* The fields of the open object of the operation of that number. */
void clew_json_slowest_one(struct clew_json *json, const struct clew_trace *trace,
			   const struct clew_slowest *slowest, size_t i);

/* Where nothing was chosen: what the answer is about, and how to ask for something else. */
enum clew_about { CLEW_ABOUT_ALL, CLEW_ABOUT_SLOWEST, CLEW_ABOUT_COMMAND };
void clew_print_about(FILE *out, const struct clew_trace *trace, enum clew_about about);
void clew_json_about(struct clew_json *json, enum clew_about about);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes that a program carries, by name, and what of their arguments can be read. */
#ifndef CLEW_RECORD_FUNCTIONS_CARRIED_H
#define CLEW_RECORD_FUNCTIONS_CARRIED_H

#include <stdbool.h>

#include "base/vector.h"
#include "symbol/code/probes.h"
#include "symbol/code/signature.h"

#define CLEW_CARRIED_ARGUMENTS 12 /* that a note can describe */

/* A probe at one of its instructions. */
struct clew_carried {
	struct clew_probe probe; /* its texts are gone */
	char *title;		 /* PROVIDER:NAME */
	char *text;		 /* of the arguments, as the note has it */
	struct clew_operand arguments[CLEW_CARRIED_ARGUMENTS];
};

/*
 * The probes of the file that fit PROVIDER:NAME's pattern, a struct clew_carried for each of their
 * instructions, in the file's order. None of a file that carries none. 0 or -errno; the caller
 * frees *ret_list with clew_carried_done() in any case.
 */
int clew_carried_read(int descriptor, const char *glob, struct vector *ret_list);
void clew_carried_done(struct vector *list);

static inline struct clew_carried *clew_carried_at(const struct vector *list, size_t number)
{
	return (struct clew_carried *)list->data + number;
}

/* "arg0" and so on. */
const char *clew_carried_argument(unsigned number);
/* The type of an argument to which the user gives none. */
struct clew_value_type clew_carried_type(const struct clew_operand *operand);
/* The largest form in which an argument is found at the instructions from `first` on that have
 * their name. NULL: it is nowhere, or nobody knows where. */
const struct clew_operand *clew_carried_widest(const struct vector *list, size_t first,
					       unsigned argument);
/* True if an earlier instruction is of the same probe. */
bool clew_carried_again(const struct vector *list, size_t number);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the registers that have the values of a function that were asked for. */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_VALUES_H
#define CLEW_RECORD_FUNCTIONS_TRACED_VALUES_H

#include <clew/kernel/maps.h>

#include "symbol/code/function.h"
#include "symbol/code/signature.h"

/* For one function. */
struct traced_values {
	struct clew_wanted wanted; /* each with its type and its register */
	unsigned arguments;	   /* a bit for each register of the arguments */
};

/* Why a value cannot be recorded. */
struct traced_refused_value {
	const char *name; /* "" the result */
	const char *why;  /* a few words */
};

/*
 * Finds the values in a function, by its debugging information (NULL: there is none) or else by the
 * order in which they were written, with their types. False: *ret_refused says which is not to be
 * had; texts live as long as the arguments.
 */
bool traced_values_find(struct clew_dwarf *dwarf, const struct clew_function_symbol *symbol,
			const struct clew_wanted *wanted, struct traced_values *ret,
			struct traced_refused_value *ret_refused);
/* True if there are texts that may be read again at the return. */
bool traced_values_again(const struct traced_values *values);
/* As the kernel side reads them; `again`: and keeps what it needs for that. */
void traced_values_fill(const struct traced_values *values, bool again,
			struct clew_function_values *ret);

#endif

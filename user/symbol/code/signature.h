/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Values of a function that somebody asks for: its arguments and its result, written as
 * "(path:str, n:i32) -> i32". The same text is in the capture, where it says how the values
 * behind a FUNCTION record are to be read.
 */
#ifndef CLEW_SYMBOL_CODE_SIGNATURE_H
#define CLEW_SYMBOL_CODE_SIGNATURE_H

#include "base/message.h"
#include "symbol/elf/dwarf.h"

#define CLEW_WANTED_VALUES 6
#define CLEW_WANTED_NAME   64  /* bytes of a name with its NUL */
#define CLEW_WANTED_TEXT   640 /* bytes of all as text with its NUL */

struct clew_wanted_value {
	char name[CLEW_WANTED_NAME]; /* "_": a place in the list, and no value */
	struct clew_value_type type; /* its name is not used */
	bool typed;		     /* the type was given; else debugging information has it */
};

struct clew_wanted {
	struct clew_wanted_value values[CLEW_WANTED_VALUES];
	size_t count;
	struct clew_wanted_value result;
	bool all;     /* "(...)": all that debugging information knows */
	bool returns; /* the result is wanted */
};

/* The word of a type that a value can be read as ("str", "i32"); NULL: it cannot be. */
const char *clew_value_type_word(const struct clew_value_type *type);

/*
 * Splits GLOB(VALUES) -> TYPE. A name in C++ may end with its own parameters: these are taken for
 * values only if each of them can be one. *ret_glob: bytes of the glob. 1 if there are values, 0
 * if there are none, -EINVAL with a message.
 */
int clew_wanted_parse(const char *text, struct clew_wanted *ret, size_t *ret_glob,
		      struct clew_message *message);
/* The same as text that clew_wanted_parse() understands; all types are known. */
void clew_wanted_write(const struct clew_wanted *wanted, char text[CLEW_WANTED_TEXT]);

#endif

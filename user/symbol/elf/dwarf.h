/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions as debugging information (DWARF) describes them: their arguments, and how often a
 * copy of one is inside another function, where no probe sees it.
 */
#ifndef CLEW_SYMBOL_ELF_DWARF_H
#define CLEW_SYMBOL_ELF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clew_value_kind {
	CLEW_VALUE_NUMBER,
	CLEW_VALUE_POINTER,
	CLEW_VALUE_TEXT, /* a pointer to bytes that end with a NUL */
};

/* An argument, or what a function returns. */
struct clew_value_type {
	const char *name;    /* NULL: it has none */
	const char *refused; /* why it cannot be read, a few words; NULL: it can be */
	uint8_t kind;	     /* enum clew_value_kind */
	uint8_t size;	     /* bytes: 1, 2, 4 or 8 */
	bool is_signed;
	uint8_t argument; /* which of the six registers of arguments has it, from 0 */
};

struct clew_signature {
	const struct clew_value_type *arguments;
	size_t count;
	struct clew_value_type result;
	bool returns;	  /* there is a result */
	uint64_t inlined; /* copies in other functions */
};

struct clew_dwarf;

/*
 * Reads a file's debugging information, or that which the system keeps for its build-id
 * under /usr/lib/debug. `descriptor` is used until the close; `path`: as for debug_file_open().
 * 0 or -errno: -ENODATA there is none.
 */
int clew_dwarf_open(int descriptor, const char *path, const uint8_t *build_id, size_t build_id_size,
		    struct clew_dwarf **ret);
/* For the function that begins at an address, as the file was linked; `symbol`: its name. It is the
 * object's. NULL: nothing is known, or no memory. */
const struct clew_signature *clew_dwarf_find(struct clew_dwarf *dwarf, uint64_t address,
					     const char *symbol);
void clew_dwarf_close(struct clew_dwarf *dwarf);

#endif

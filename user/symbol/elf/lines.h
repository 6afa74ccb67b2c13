/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in the source an address of a file is, and which functions were compiled into the one that
 * it lies in, by the file's debugging information. Returned strings are valid until the close.
 */
#ifndef CLEW_SYMBOL_ELF_LINES_H
#define CLEW_SYMBOL_ELF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/debug_file.h"

#define CLEW_LINES_MOST 64 /* functions of an address */

struct clew_line {
	const char *name; /* of the function, as symbols have it; NULL unknown */
	const char *file; /* path of the source file; NULL unknown */
	unsigned line;	  /* from 1; 0 unknown */
	bool inlined;	  /* into the next function */
};

/* The functions of an address. */
struct clew_lines_at {
	uint64_t start; /* address at which the one begins that the others are in; 0 unknown */
	size_t count;
	struct clew_line lines[CLEW_LINES_MOST]; /* innermost first; that one is the last */
};

struct clew_lines;

/* `object`, the build-id, `servers` and *ret_missing: as for debug_file_open(). 0 or -errno:
 * -ENODATA there is no debugging information. */
int clew_lines_open(int object, const uint8_t *id, size_t id_size, struct debug_servers *servers,
		    struct clew_lines **ret_lines, enum debug_missing *ret_missing);
/* For an address as the file was linked. False: nothing is known of it, or no memory. */
bool clew_lines_find(struct clew_lines *lines, uint64_t address, struct clew_lines_at *ret_at);
void clew_lines_close(struct clew_lines *lines);

#endif

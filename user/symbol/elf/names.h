/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The function that a place of a file lies in, and the variable that an address is in. A name is
 * given only if its function contains the place: a stripped file has names for the functions that
 * it exports, and most places lie in others.
 */
#ifndef CLEW_SYMBOL_ELF_NAMES_H
#define CLEW_SYMBOL_ELF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>

struct clew_names;

struct clew_named {
	const char *name; /* as the file has it; "": BOUNDS */
	uint64_t start;	  /* offset in the file */
	uint64_t size;	  /* bytes */
	enum clew_symbol_from from;
};

/* Reads a file's tables; `descriptor` is not needed afterwards. 0 or -errno. */
int clew_names_open(int descriptor, struct clew_names **ret_names);
/* False: nothing says which function has that offset in the file. The name is the table's. */
bool clew_names_find(const struct clew_names *names, uint64_t offset, struct clew_named *ret_named);
/* The same for variables. */
int clew_names_open_data(int descriptor, struct clew_names **ret_names);
/* The distance of a process's addresses from those as linked, by one of its mappings of the file:
 * its first address, and its offset in the file. False: no segment begins there. */
bool clew_names_bias(const struct clew_names *names, uint64_t start, uint64_t offset,
		     uint64_t *ret_bias);
/* The variable at an address as linked; its name is "" if the tables have none there. False: that
 * is not in the file's data. `ret_named->start` is an address as linked. */
bool clew_names_find_data(const struct clew_names *names, uint64_t address,
			  struct clew_named *ret_named);
/* The same of the function at an address as linked. False: the tables have none there. */
bool clew_names_find_code(const struct clew_names *names, uint64_t address,
			  struct clew_named *ret_named);
void clew_names_close(struct clew_names *names);
/* Bytes of memory that the names take; of NULL 0. */
size_t clew_names_memory(const struct clew_names *names);

/* Bytes of memory that it takes to read the names of a file, about, and at most. */
size_t clew_names_needs(int descriptor);

/* The build-id of a file, as much of it as fits. Returns its bytes, 0: it has none. */
size_t clew_build_id(int descriptor, uint8_t ret_id[CLEW_BUILD_ID_BYTES]);
/* The difference between the addresses of a file's code, as linked, and their offsets in it. False:
 * there is no one such number. */
bool clew_code_bias(int descriptor, uint64_t *ret_bias);

#endif

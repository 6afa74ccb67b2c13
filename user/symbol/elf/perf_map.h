/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of code that a program made while it ran, from the list that it writes for perf: a line for
 * each piece of code has the address and the size in hexadecimal, and the name.
 */
#ifndef CLEW_SYMBOL_ELF_PERF_MAP_H
#define CLEW_SYMBOL_ELF_PERF_MAP_H

#include "symbol/elf/names.h"

struct clew_perf_map;

/* Lines of another form, and a last line without its end, are left out. 0 or -ENOMEM. */
int clew_perf_map_read(const char *text, size_t size, struct clew_perf_map **ret_map);
/*
 * False: no line has that address, or several with different names have it, as a place was used
 * again: nothing says when. `start` is an address. The name is the map's.
 */
bool clew_perf_map_find(const struct clew_perf_map *map, uint64_t address,
			struct clew_named *ret_named);
void clew_perf_map_free(struct clew_perf_map *map);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of kernel addresses, from /proc/kallsyms. */
#ifndef CLEW_SYMBOL_ELF_KERNEL_H
#define CLEW_SYMBOL_ELF_KERNEL_H

#include <stddef.h>
#include <stdint.h>

struct clew_kernel_symbols;

/* Reads the table. -EPERM: the kernel hides addresses. Free with clew_kernel_symbols_free. */
int clew_kernel_symbols_load(struct clew_kernel_symbols **ret_symbols);

/* Where a symbol lies, up to the next one. `start` is 0 if there is none of that name. */
struct clew_kernel_place {
	const char *name;
	uint64_t start, end;
};

/* Finds all that are named, in one pass, and sorts them by name. */
void clew_kernel_symbols_find(const struct clew_kernel_symbols *symbols,
			      struct clew_kernel_place *places, size_t count);

/* The same of a name that one address alone has. 0, -ENOENT, or -EEXIST: several have it. */
int clew_kernel_symbol_only(const struct clew_kernel_symbols *symbols, const char *name,
			    uint64_t *ret_start);

/* The name of the function an address lies in, or NULL. It is the table's. */
const char *clew_kernel_symbol_at(const struct clew_kernel_symbols *symbols, uint64_t address);

/* Where that function begins, 0: nobody knows. */
uint64_t clew_kernel_symbol_start(const struct clew_kernel_symbols *symbols, uint64_t address);

void clew_kernel_symbols_free(struct clew_kernel_symbols *symbols);

#endif

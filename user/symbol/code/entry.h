/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * True if an address is where a function begins: nothing below the stack pointer is in
 * use there. It is asked of few addresses of few files, and answers no when in doubt.
 */
#ifndef CLEW_SYMBOL_CODE_ENTRY_H
#define CLEW_SYMBOL_CODE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

struct clew_entries;

/* Reads a file's symbols and unwind tables. `descriptor` is used as long as *ret is. 0 or -errno.
 */
int clew_entries_open(int descriptor, struct clew_entries **ret);
bool clew_entries_has(struct clew_entries *entries, uint64_t address);
void clew_entries_close(struct clew_entries *entries);

#endif

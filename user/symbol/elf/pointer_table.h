/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses that a program publishes in its data beside a name, as tables of methods do. They are
 * found in a file without symbols, too.
 */
#ifndef CLEW_SYMBOL_ELF_POINTER_TABLE_H
#define CLEW_SYMBOL_ELF_POINTER_TABLE_H

#include <stdint.h>

/*
 * The address, as linked, that stands `words` words behind one that refers to a string of just that
 * text. 0, -ENOENT: there is none, -EMLINK: several differ, or -ENOMEM.
 */
int clew_pointer_behind(int descriptor, const char *text, unsigned words, uint64_t *ret_address);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments and result of a function's entry in DWARF. */
#ifndef CLEW_SYMBOL_ELF_ARGUMENTS_H
#define CLEW_SYMBOL_ELF_ARGUMENTS_H

#include <elfutils/libdw.h>

#include "base/vector.h"
#include "symbol/elf/dwarf.h"

/* Fills in all but `inlined`. 0 or -ENOMEM. */
int dwarf_read_arguments(Dwarf_Die *die, uint64_t address, const char *symbol, struct arena *arena,
			 struct clew_signature *signature);

#endif

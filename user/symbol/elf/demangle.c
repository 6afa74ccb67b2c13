/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of C++ and Rust functions, as they were written. */
#include "symbol/elf/demangle.h"

#include <libiberty/demangle.h>
#include <stddef.h>
#include <string.h>

char *symbol_demangle(const char *name, bool parameters)
{
	if (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2))
		return NULL;
	return cplus_demangle(name, DMGL_AUTO | DMGL_ANSI | (parameters ? DMGL_PARAMS : 0));
}

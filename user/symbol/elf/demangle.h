/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of C++ and Rust functions, as they were written. */
#ifndef CLEW_SYMBOL_ELF_DEMANGLE_H
#define CLEW_SYMBOL_ELF_DEMANGLE_H

#include <stdbool.h>

/* The name with or without its parameters, the caller's to free; NULL: it is not mangled. */
char *symbol_demangle(const char *name, bool parameters);

#endif

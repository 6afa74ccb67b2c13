/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the system's loader finds a library: by its cache /etc/ld.so.cache, or in its directories.
 */
#ifndef CLEW_SYMBOL_ELF_LIBRARY_H
#define CLEW_SYMBOL_ELF_LIBRARY_H

#include <stddef.h>

/* The path of the library of this machine with a name such as "libc.so.6". 0 or -errno: -ENOENT the
 * loader knows none. */
int clew_library_find(const char *name, char *ret_path, size_t size);

#endif

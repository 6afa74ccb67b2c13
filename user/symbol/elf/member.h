/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a structure has a member, by debugging information. */
#ifndef CLEW_SYMBOL_ELF_MEMBER_H
#define CLEW_SYMBOL_ELF_MEMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * `descriptor`, `path`, `build_id`: as for debug_file_open(). 0, -ENODATA: there is no such
 * information, -ENOENT: no such type or member, or another -errno.
 */
int clew_member_offset(int descriptor, const char *path, const uint8_t *build_id,
		       size_t build_id_size, const char *type, const char *member,
		       uint64_t *ret_offset);

/*
 * The version that a file gives itself: that of Go that built it, or the highest one of the symbols
 * that it defines (2.36 of GLIBC_2.36). 0 or -ENOENT.
 */
int clew_file_version(int descriptor, char *ret_version, size_t size);

#endif

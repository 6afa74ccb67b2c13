/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ranges of code that .eh_frame describes: of each function, and of each part of one that lies
 * apart. */
#ifndef CLEW_SYMBOL_ELF_EH_FRAME_H
#define CLEW_SYMBOL_ELF_EH_FRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Calls `found` for each range of a section that the linker put at `address`; a negative
 * return ends it and is returned. Entries that cannot be read are left out.
 */
int eh_frame_walk(const uint8_t *section, size_t size, uint64_t address,
		  int (*found)(void *context, uint64_t start, uint64_t size), void *context);

#endif

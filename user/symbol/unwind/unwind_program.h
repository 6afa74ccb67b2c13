/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs of unwind information, run over a range of code. */
#ifndef CLEW_SYMBOL_UNWIND_UNWIND_PROGRAM_H
#define CLEW_SYMBOL_UNWIND_UNWIND_PROGRAM_H

#include "symbol/elf/call_frame.h"

/*
 * Calls `found` with the address from which on each rule (CLEW_UNWIND_RULE) holds, in order of
 * address; the first is where the range begins. A negative return ends it and is returned.
 */
int unwind_program_run(const struct call_frame_range *range,
		       int (*found)(void *context, uint64_t address, uint32_t rule), void *context);

#endif

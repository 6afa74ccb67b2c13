/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers and names of system calls, by libseccomp's tables, which are made from the kernel's: the
 * machine's own calls, and those of its 32-bit programs.
 */
#ifndef CLEW_ARCH_CALLS_H
#define CLEW_ARCH_CALLS_H

/* The number of a call; < 0: the machine has no such call. */
int clew_call_number(const char *name);
/* The name of a call of 32-bit programs, which the caller frees. NULL: there is none. */
char *clew_compat_call_name(int number);

#endif

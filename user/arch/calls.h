/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers and names of system calls, by libseccomp's tables, which are made from the kernel's: the
 * calls of all machines by x86-64's numbers, and those of this machine's 32-bit programs.
 */
#ifndef CLEW_ARCH_CALLS_H
#define CLEW_ARCH_CALLS_H

/* The number of a call; < 0: there is no such call. */
int clew_call_number(const char *name);
/* The name of a call of 32-bit programs, which the caller frees. NULL: there is none. */
char *clew_compat_call_name(int number);
/* The number of a call of arm64 by its own one; < 0: there is none. */
int clew_call_translate(int number);

#endif

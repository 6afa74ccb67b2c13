/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds out if anything that runs in a process may unwind its stack or switch to another one. If
 * nothing may, the kernel may replace return addresses there.
 */
#ifndef CLEW_SYMBOL_CODE_CLOSURE_H
#define CLEW_SYMBOL_CODE_CLOSURE_H

#include <stddef.h>

#define CLEW_CLOSURE_WHY 160

/* Remembers the files that were looked at. */
struct clew_closure;

/* 0 or -ENOMEM. */
int clew_closure_new(struct clew_closure **ret);
void clew_closure_free(struct clew_closure *closure);
/*
 * Looks at one file that a process maps. 1: nothing in it does; 0: something may, *ret_why says
 * what in a few words ("libcrypto.so.3 has makecontext"); or -errno. `path`: for the words.
 */
int clew_closure_file(struct clew_closure *closure, int descriptor, const char *path,
		      char ret_why[CLEW_CLOSURE_WHY]);
/* The same of a program and of all libraries that the loader maps with it. For a library, whose
 * callers nobody knows, it is 0. */
int clew_closure_program(struct clew_closure *closure, int descriptor, const char *path,
			 char ret_why[CLEW_CLOSURE_WHY]);

#endif

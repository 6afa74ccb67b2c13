/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of a C library that take and release locks of POSIX threads. */
#ifndef CLEW_SYMBOL_CODE_LOCK_FUNCTION_H
#define CLEW_SYMBOL_CODE_LOCK_FUNCTION_H

#include <stdbool.h>

enum clew_lock_effect {
	CLEW_LOCK_TAKE,	   /* has the lock once it returned 0 or EOWNERDEAD */
	CLEW_LOCK_RELEASE, /* unlocks it between its entry and its return */
	CLEW_LOCK_WAIT,	   /* releases it, and has it again once it returned */
};

struct clew_lock_function {
	const char *name; /* without a version */
	enum clew_lock_effect effect;
	bool rwlock;
	bool shared; /* others may have the lock, too */
};

/* By the name of a symbol; NULL: it is none of them. */
const struct clew_lock_function *clew_lock_function_named(const char *name);

/* They all, as choices of functions with their first value, the address of the lock. */
#define CLEW_LOCK_CHOICES 4
extern const char *const clew_lock_choices[CLEW_LOCK_CHOICES];
/* The same value in the text of a function's arguments. */
#define CLEW_LOCK_VALUE "lock:ptr"

#endif

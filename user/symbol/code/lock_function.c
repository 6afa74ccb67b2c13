/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that take and release locks. */
#include "symbol/code/lock_function.h"

#include <stddef.h>
#include <string.h>

/* Spin locks are missing: they begin with an instruction that the kernel takes no probe at. */
const char *const clew_lock_choices[CLEW_LOCK_CHOICES] = {
	"pthread_mutex_*lock(" CLEW_LOCK_VALUE ") -> i32",
	"__pthread_mutex_lock_full(" CLEW_LOCK_VALUE ") -> i32",
	"pthread_rwlock_*lock(" CLEW_LOCK_VALUE ") -> i32",
	"pthread_cond_*wait(_, " CLEW_LOCK_VALUE ") -> i32",
};

static const struct clew_lock_function functions[] = {
	{"pthread_mutex_lock", CLEW_LOCK_TAKE, false, false},
	{"pthread_mutex_trylock", CLEW_LOCK_TAKE, false, false},
	{"pthread_mutex_timedlock", CLEW_LOCK_TAKE, false, false},
	{"pthread_mutex_clocklock", CLEW_LOCK_TAKE, false, false},
	{"pthread_mutex_unlock", CLEW_LOCK_RELEASE, false, false},
	/* pthread_mutex_lock() jumps to it for robust locks and those with priorities. */
	{"__pthread_mutex_lock_full", CLEW_LOCK_TAKE, false, false},
	{"pthread_rwlock_rdlock", CLEW_LOCK_TAKE, true, true},
	{"pthread_rwlock_tryrdlock", CLEW_LOCK_TAKE, true, true},
	{"pthread_rwlock_timedrdlock", CLEW_LOCK_TAKE, true, true},
	{"pthread_rwlock_clockrdlock", CLEW_LOCK_TAKE, true, true},
	{"pthread_rwlock_wrlock", CLEW_LOCK_TAKE, true, false},
	{"pthread_rwlock_trywrlock", CLEW_LOCK_TAKE, true, false},
	{"pthread_rwlock_timedwrlock", CLEW_LOCK_TAKE, true, false},
	{"pthread_rwlock_clockwrlock", CLEW_LOCK_TAKE, true, false},
	{"pthread_rwlock_unlock", CLEW_LOCK_RELEASE, true, false},
	{"pthread_cond_wait", CLEW_LOCK_WAIT, false, false},
	{"pthread_cond_timedwait", CLEW_LOCK_WAIT, false, false},
	{"pthread_cond_clockwait", CLEW_LOCK_WAIT, false, false},
};

const struct clew_lock_function *clew_lock_function_named(const char *name)
{
	size_t length = strcspn(name, "@");

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strncmp(functions[i].name, name, length) && !functions[i].name[length])
			return &functions[i];
	return NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps by which clew_locks_make() finds out about a lock. All return 0 or -ENOMEM. */
#ifndef CLEW_EXPLAIN_LOCKS_INTERNAL_H
#define CLEW_EXPLAIN_LOCKS_INTERNAL_H

#include "explain/locks.h"

/* Grows `*array` of items of `size` bytes so that one more has room behind `count`. */
int locks_reserve(void **array, size_t count, size_t size);

/* Finds the holds of a lock from its waits. */
int locks_find_holds(struct clew_contended *lock, uint64_t end);
/* The hand-overs, and what their order shows. */
int locks_find_order(struct clew_contended *lock);
/* The circles of tasks that waited for each other. */
int locks_find_cycles(struct clew_locks *locks, uint64_t end);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that a process shares with those that it forks afterwards, at one address: what one of
 * them writes there, pointers into it included, its parent can read.
 */
#ifndef CLEW_BASE_SHARED_H
#define CLEW_BASE_SHARED_H

#include <stddef.h>

struct shared {
	size_t size;
	size_t used;
	void *root; /* where what was written begins; the writer's to set */
};

/* `size`: bytes, the most that it can hold; what is not used takes none. NULL: no memory. */
struct shared *shared_new(size_t size);
void shared_free(struct shared *shared);

/* Room for `size` bytes, aligned to 8, zeroed; NULL: it is full. */
void *shared_take(struct shared *shared, size_t size);
/* A copy of bytes; NULL: it is full. */
void *shared_copy(struct shared *shared, const void *bytes, size_t size);
/* A copy of a string; NULL of NULL, and if it is full. */
char *shared_string(struct shared *shared, const char *string);

#endif

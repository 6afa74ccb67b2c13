/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arrays that grow to gigabytes and blocks that never move. A vector's memory is
 * zero until written and, once large, grows by moving pages instead of bytes; an
 * arena gives out small pieces that all live until the arena goes.
 */
#ifndef CLEW_BASE_VECTOR_H
#define CLEW_BASE_VECTOR_H

#include <stddef.h>
#include <stdint.h>

struct vector {
	void *data;
	size_t count;	 /* the owner's to set */
	size_t capacity; /* items */
	size_t item;	 /* bytes of one */
	size_t bytes;	 /* in all */
};

/* Makes room for `count` items in all. 0 or -ENOMEM. */
int vector_grow(struct vector *vector, size_t count);
void vector_done(struct vector *vector);

static inline int vector_reserve(struct vector *vector, size_t count)
{
	return count <= vector->capacity ? 0 : vector_grow(vector, count);
}

struct arena_block;
struct arena {
	struct arena_block *last;
	size_t bytes; /* all blocks */
};

/* Room for `size` bytes, aligned to 8, not zeroed; NULL: no memory. */
void *arena_take(struct arena *arena, size_t size);
/* A copy of `size` bytes and a NUL after them. */
void *arena_copy(struct arena *arena, const void *bytes, size_t size);
void arena_done(struct arena *arena);

#endif

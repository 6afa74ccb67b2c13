/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Vectors and arenas of vector.h.
 */
#include "base/vector.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define VECTOR_FIRST 1024u
#define VECTOR_MAPPED                                                                              \
	(256u << 10) /* smaller ones are the heap's: thousands of them cost no system call */
#define VECTOR_HUGE                                                                                \
	(4u << 20) /* from here on, ask for huge pages: an access costs no walk through the page   \
		      tables */
#define ARENA_BLOCK (64u << 10)

static void *grow_heap(void *data, size_t bytes, size_t wanted)
{
	char *grown = realloc(data, wanted);

	if (grown)
		memset(grown + bytes, 0, wanted - bytes);
	return grown;
}

static void *grow_mapped(struct vector *vector, size_t wanted)
{
	bool mapped = vector->bytes >= VECTOR_MAPPED;
	void *data;

	if (mapped)
		data = mremap(vector->data, vector->bytes, wanted, MREMAP_MAYMOVE);
	else
		data = mmap(NULL, wanted, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		return NULL;
	if (!mapped && vector->data) {
		memcpy(data, vector->data, vector->bytes);
		free(vector->data);
	}
	if (wanted >= VECTOR_HUGE)
		madvise(data, wanted, MADV_HUGEPAGE);
	return data;
}

int vector_grow(struct vector *vector, size_t count)
{
	size_t wanted = vector->bytes ? vector->bytes : VECTOR_FIRST;
	void *data;

	if (count > SIZE_MAX / 4 / vector->item)
		return -ENOMEM;
	while (wanted / vector->item < count)
		wanted *= 2;
	data = wanted < VECTOR_MAPPED ? grow_heap(vector->data, vector->bytes, wanted)
				      : grow_mapped(vector, wanted);
	if (!data)
		return -ENOMEM;
	vector->data = data;
	vector->bytes = wanted;
	vector->capacity = wanted / vector->item;
	return 0;
}

void vector_done(struct vector *vector)
{
	if (vector->bytes >= VECTOR_MAPPED)
		munmap(vector->data, vector->bytes);
	else
		free(vector->data);
	*vector = (struct vector){.item = vector->item};
}

struct arena_block {
	struct arena_block *previous;
	size_t used, size;
	uint64_t bytes[];
};

void *arena_take(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->last;
	void *taken;

	size = (size + 7) & ~(size_t)7;
	if (!block || block->size - block->used < size) {
		size_t room = size > ARENA_BLOCK ? size : ARENA_BLOCK;

		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		*block = (struct arena_block){.previous = arena->last, .size = room};
		arena->last = block;
		arena->bytes += sizeof(*block) + room;
	}
	taken = (char *)block->bytes + block->used;
	block->used += size;
	return taken;
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
	char *copy = arena_take(arena, size + 1);

	if (!copy)
		return NULL;
	memcpy(copy, bytes, size);
	copy[size] = 0;
	return copy;
}

void arena_done(struct arena *arena)
{
	while (arena->last) {
		struct arena_block *block = arena->last;

		arena->last = block->previous;
		free(block);
	}
	arena->bytes = 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory shared with forked processes. */
#include "base/shared.h"

#include <string.h>
#include <sys/mman.h>

#define ALIGN(bytes) (((bytes) + 7) & ~(size_t)7)

struct shared *shared_new(size_t size)
{
	struct shared *shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (shared == MAP_FAILED)
		return NULL;
	shared->size = size;
	shared->used = ALIGN(sizeof(*shared));
	return shared;
}

void shared_free(struct shared *shared)
{
	if (shared)
		munmap(shared, shared->size);
}

void *shared_take(struct shared *shared, size_t size)
{
	char *place = (char *)shared + shared->used;

	if (size > shared->size || ALIGN(size) > shared->size - shared->used)
		return NULL;
	shared->used += ALIGN(size);
	return place;
}

void *shared_copy(struct shared *shared, const void *bytes, size_t size)
{
	void *copy = shared_take(shared, size);

	return copy && size ? memcpy(copy, bytes, size) : copy;
}

char *shared_string(struct shared *shared, const char *string)
{
	return string ? shared_copy(shared, string, strlen(string) + 1) : NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffers for records: a stack of those that are free. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/thread.h"
#include "store/buffers.h"

struct store_buffers {
	pthread_mutex_t lock;
	uint8_t *mapped; /* NULL: buffers are allocated one by one, where memory is not
			    overcommitted */
	size_t size;
	unsigned count;
	unsigned free_count;
	uint8_t *free[];
};

int store_buffers_new(unsigned count, size_t size, struct store_buffers **ret_buffers)
{
	struct store_buffers *buffers =
		calloc(1, sizeof(*buffers) + count * sizeof(buffers->free[0]));
	size_t page = sysconf(_SC_PAGESIZE);

	if (!buffers)
		return -ENOMEM;
	store_lock_init(&buffers->lock);
	buffers->size = (size + STORE_BUFFERS_NOTE + page - 1) & ~(page - 1);
	buffers->mapped = mmap(NULL, count * buffers->size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (buffers->mapped == MAP_FAILED)
		buffers->mapped = NULL;
	buffers->count = buffers->free_count = buffers->mapped ? count : 0;
	for (unsigned i = 0; i < buffers->count; i++)
		buffers->free[i] = buffers->mapped + i * buffers->size;
	*ret_buffers = buffers;
	return 0;
}

uint8_t *store_buffers_take(struct store_buffers *buffers)
{
	uint8_t *buffer = NULL;

	pthread_mutex_lock(&buffers->lock);
	if (buffers->free_count)
		buffer = buffers->free[--buffers->free_count];
	pthread_mutex_unlock(&buffers->lock);
	return buffer ?: malloc(buffers->size);
}

void *store_buffers_note(const struct store_buffers *buffers, uint8_t *buffer)
{
	return buffer + buffers->size - STORE_BUFFERS_NOTE;
}

void store_buffers_give(struct store_buffers *buffers, uint8_t *buffer)
{
	if (!buffer)
		return;
	if (!buffers->mapped || buffer < buffers->mapped ||
	    buffer >= buffers->mapped + buffers->count * buffers->size) {
		free(buffer);
		return;
	}
	pthread_mutex_lock(&buffers->lock);
	buffers->free[buffers->free_count++] = buffer;
	pthread_mutex_unlock(&buffers->lock);
}

void store_buffers_free(struct store_buffers *buffers)
{
	if (!buffers)
		return;
	if (buffers->mapped)
		munmap(buffers->mapped, buffers->count * buffers->size);
	pthread_mutex_destroy(&buffers->lock);
	free(buffers);
}

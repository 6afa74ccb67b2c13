/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A record lies in one piece on eight bytes behind its size. Where it does not fit
 * before the end of the memory, a size of 0 stands there and it lies at the beginning.
 */
#include "store/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE_LEAST 4096

int store_queue_init(struct store_queue *queue, size_t size)
{
	*queue = (struct store_queue){.size = SIZE_LEAST};
	while (queue->size < size)
		queue->size *= 2;
	queue->memory = mmap(NULL, queue->size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (queue->memory != MAP_FAILED)
		return 0;
	queue->memory = NULL;
	return -ENOMEM;
}

void store_queue_done(struct store_queue *queue)
{
	if (queue->memory)
		munmap(queue->memory, queue->size);
	queue->memory = NULL;
}

static size_t room_for(size_t size)
{
	return sizeof(uint64_t) + ((size + 7) & ~(size_t)7);
}

static uint64_t *size_at(const struct store_queue *queue, uint64_t at)
{
	return (uint64_t *)(queue->memory + (at & (queue->size - 1)));
}

bool store_queue_put(struct store_queue *queue, const void *record, size_t size)
{
	uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed), end;
	size_t need = room_for(size), left = queue->size - (head & (queue->size - 1));

	end = head + need + (left < need ? left : 0);
	if (end - queue->seen_tail > queue->size)
		queue->seen_tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
	if (end - queue->seen_tail > queue->size)
		return false;
	if (left < need) {
		*size_at(queue, head) = 0;
		head += left;
	}
	*size_at(queue, head) = size;
	memcpy(size_at(queue, head) + 1, record, size);
	atomic_store_explicit(&queue->head, end, memory_order_release);
	return true;
}

const struct clew_header *store_queue_first(struct store_queue *queue)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);

	if (tail == queue->seen_head)
		queue->seen_head = atomic_load_explicit(&queue->head, memory_order_acquire);
	if (tail == queue->seen_head)
		return NULL;
	if (!*size_at(queue, tail)) {
		/* A record follows: it was put in together with this. */
		tail += queue->size - (tail & (queue->size - 1));
		atomic_store_explicit(&queue->tail, tail, memory_order_release);
	}
	return (const struct clew_header *)(size_at(queue, tail) + 1);
}

void store_queue_drop(struct store_queue *queue)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);

	atomic_store_explicit(&queue->tail, tail + room_for(*size_at(queue, tail)),
			      memory_order_release);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of records between two threads, of a fixed size and without locks: one thread
 * puts records in, one takes them out. Neither ever waits for the other, nor asks for
 * memory.
 */
#ifndef CLEW_STORE_QUEUE_H
#define CLEW_STORE_QUEUE_H

#include <linux/types.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>

#define STORE_CACHE_LINE 64

/* The two threads write to different cache lines. */
struct store_queue {
	uint8_t *memory;
	size_t size;
	_Alignas(STORE_CACHE_LINE) _Atomic uint64_t head; /* bytes ever put in; the putting
							     thread writes it */
	uint64_t seen_tail;
	_Alignas(STORE_CACHE_LINE) _Atomic uint64_t tail; /* bytes ever taken out */
	uint64_t seen_head;
};

/* Makes a queue of at least so many bytes. Memory is used once it is written to. 0 or -ENOMEM. */
int store_queue_init(struct store_queue *queue, size_t size);
void store_queue_done(struct store_queue *queue);

/* Copies a record in. False: there is no room for it now. */
bool store_queue_put(struct store_queue *queue, const void *record, size_t size);

/* The oldest record, or NULL. It stays valid until it is dropped. */
const struct clew_header *store_queue_first(struct store_queue *queue);
void store_queue_drop(struct store_queue *queue);

#endif

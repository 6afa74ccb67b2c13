/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Buffers for records that wait to be encoded, all of one size and mapped at
 * the beginning.
 *
 * Invariant: while free buffers are left, neither taking nor returning one
 * changes this process's mappings. The kernel has a lock for these, and a
 * thread of the idle policy that is preempted while it holds the lock blocks
 * the threads that drain the rings: for 70 ms, as measured.
 */
#ifndef CLEW_STORE_BUFFERS_H
#define CLEW_STORE_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

struct store_buffers;

/*
 * The bytes behind each buffer that its holder may use for a note of its
 * contents.
 */
#define STORE_BUFFERS_NOTE 128

/*
 * `count` buffers of `size` bytes. Their pages are allocated when they are
 * written to. Returns 0 or -ENOMEM.
 */
int store_buffers_new(unsigned count, size_t size, struct store_buffers **ret_buffers);

/*
 * Returns the buffer that was given back last, or else a new one. NULL: no
 * memory.
 */
uint8_t *store_buffers_take(struct store_buffers *buffers);

/* Where the note begins. */
void *store_buffers_note(const struct store_buffers *buffers, uint8_t *buffer);

/* Gives a buffer back. NULL is ignored. */
void store_buffers_give(struct store_buffers *buffers, uint8_t *buffer);

/* Frees all buffers, also those that are still taken. NULL is ignored. */
void store_buffers_free(struct store_buffers *buffers);

#endif

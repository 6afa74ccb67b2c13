/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Buffers for records on their way to be encoded, all of one size and mapped at the
 * beginning.
 *
 * Invariant: while there are some left, neither to take nor to give one changes this
 * process's mappings. For that the kernel has a lock, and a thread of the idle policy
 * that is put aside inside of it keeps whoever drains the rings waiting: 70 ms were seen.
 */
#ifndef CLEW_STORE_BUFFERS_H
#define CLEW_STORE_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

struct store_buffers;

/* Behind each buffer there are so many bytes that are its holder's too, to keep a note of what it
 * holds. */
#define STORE_BUFFERS_NOTE 128

/* `count` buffers of `size` bytes. Memory is used once it is written to. 0 or -ENOMEM. */
int store_buffers_new(unsigned count, size_t size, struct store_buffers **ret_buffers);

/* The one that was given last, if any; or else another one. NULL: no memory. */
uint8_t *store_buffers_take(struct store_buffers *buffers);

/* Where the note begins. */
void *store_buffers_note(const struct store_buffers *buffers, uint8_t *buffer);

/* Gives one back. NULL is nothing. */
void store_buffers_give(struct store_buffers *buffers, uint8_t *buffer);

/* Frees all of them, those that were not given back too. NULL is nothing. */
void store_buffers_free(struct store_buffers *buffers);

#endif

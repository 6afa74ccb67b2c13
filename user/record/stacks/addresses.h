/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names the addresses of futexes that tasks wait at, while their processes live. */
#ifndef CLEW_RECORD_STACKS_ADDRESSES_H
#define CLEW_RECORD_STACKS_ADDRESSES_H

#include "record/stream/recording.h"

struct clew_addresses;

/*
 * Adds a taker that notes futexes, and starts the thread that finds their places. Where /proc has
 * other numbers than the kernel, *ret is NULL. 0 or -errno.
 */
int clew_addresses_open(struct clew_recorder *recorder, struct clew_addresses **ret);
/* Bytes of memory that names of variables take. From any thread; of NULL 0. */
size_t clew_addresses_memory(const struct clew_addresses *addresses);
/* Puts the places of the last ones and ends the thread; to be called when the rings are drained,
 * and before the end of the user stream. NULL is ignored. */
void clew_addresses_stop(struct clew_addresses *addresses);
void clew_addresses_close(struct clew_addresses *addresses);

#endif

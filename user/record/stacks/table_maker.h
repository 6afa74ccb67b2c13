/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread that makes unwind tables of files and publishes them to the kernel side. */
#ifndef CLEW_RECORD_STACKS_TABLE_MAKER_H
#define CLEW_RECORD_STACKS_TABLE_MAKER_H

#include <clew/kernel/maps.h>
#include <stddef.h>
#include <stdint.h>

#include "opener/opener.h"

struct clew_table_maker;

/* `map`: of images, `heap`: of tables, with so many blocks. 0 or -errno. */
int clew_table_maker_open(int map, int heap, size_t blocks, struct clew_table_maker **ret);
/* Has the table of a file made, if that is still the image's number by then. `file` stays the
 * caller's. From any thread. 0 or -errno; -EBUSY: too many wait already. */
int clew_table_maker_add(struct clew_table_maker *maker, const struct clew_image_key *key,
			 uint32_t image, const struct clew_opened *file);
/* Waits until all tables are made that were asked for, or for the end. */
void clew_table_maker_wait(struct clew_table_maker *maker);
/* Ends the thread; tables that are not made by then are not needed any more. */
void clew_table_maker_stop(struct clew_table_maker *maker);
/* NULL is ignored. */
void clew_table_maker_close(struct clew_table_maker *maker);

#endif

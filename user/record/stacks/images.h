/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files that stacks lead through: their tables in the kernel, their names in the capture. */
#ifndef CLEW_RECORD_STACKS_IMAGES_H
#define CLEW_RECORD_STACKS_IMAGES_H

#include "opener/opener.h"
#include "record/stream/recording.h"
#include "symbol/elf/names.h"

#include <clew/kernel/maps.h>

struct clew_images;

/* `map`: of images, `heap`: of tables, with so many blocks; `last`: the last image's number, which
 * the kernel side counts up as well. 0 or -errno. */
int clew_images_open(struct clew_recorder *recorder, int map, int heap, size_t blocks,
		     uint32_t *last, struct clew_images **ret);
void clew_images_close(struct clew_images *images);
/* Has the table made of a file that a process has just mapped, before a stack leads through it.
 * `file` stays the caller's. From any thread. */
void clew_images_offer(struct clew_images *images, const struct clew_image_key *key,
		       const struct clew_opened *file, const char *path);
/* Waits for the tables of all files that were offered, or for the end. */
void clew_images_wait(struct clew_images *images);
/* Opens a file that the kernel side asks for, puts its IMAGE record and has its table made. */
void clew_images_take(struct clew_images *images, const struct clew_image_news *news);
/* Forgets files that could not be opened some time ago, so that they are asked for again, and those
 * of too many open ones that were used least recently. From the thread that finds names. */
void clew_images_tick(struct clew_images *images);
/* Bytes of memory that names and open files take. */
size_t clew_images_memory(struct clew_images *images);
/* Drops the names, or else the file, that were used least recently. False: there are none. From the
 * thread that finds names. */
bool clew_images_drop(struct clew_images *images);
/* Makes no tables any more. NULL is ignored. */
void clew_images_stop(struct clew_images *images);
/* The function of a frame: 1, 0 if none is known, or -EAGAIN: the file may yet be opened. From one
 * thread. */
int clew_images_find(struct clew_images *images, uint64_t frame, struct clew_named *ret_named);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work items and the workers that run them.
 */
#ifndef CLEW_BUILDER_WORK_H
#define CLEW_BUILDER_WORK_H

#include "base/map.h"
#include "builder/cause.h"

struct task;

struct work_table {
	struct map loops;	 /* function -> 1: it serves a loop device */
	struct map loop_devices; /* address of an item -> device that it serves */
	size_t memory;
};

int build_feed_work(struct clew_builder *builder, const struct clew_work *record);
/* Appends what led to the item that a worker ran at `at`. False: no item is known. */
bool build_work_links(const struct task *worker, uint64_t at, struct links *links);
/* The loop device that a task serves now, 0 none. */
uint32_t build_loop_device(const struct task *task);
void build_worker_done(struct clew_builder *builder, struct task *task);
void build_works_done(struct clew_builder *builder);
size_t build_works_memory(const struct clew_builder *builder);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Uses of pages in the page cache. They matter where pages were read in: pages
 * that are never used were read ahead for nobody.
 *
 * Invariants: the open USE extent of a CPU holds uses of one task since the last
 * pages of the file were added, so none of them is older than the pages that it
 * used. A use that no record tells is announced by a record of 0 bytes.
 */
#ifndef CLEW_BPF_USE_H
#define CLEW_BPF_USE_H

#include "arch.h"
#include "call.h"
#include "extent.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "object.h"
#include "pagecache.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/*
 * A use that needs a record costs USE_RECORD, another one 1. Once they have cost
 * USES_EACH for each page that was added, no more uses are recorded.
 */
#define USES_EACH  64
#define USE_RECORD 8

/* Says that uses are not recorded from now on. */
static __always_inline void uses_end(const struct actor *actor, const struct touch *touch,
				     struct generation *file, __u64 added)
{
	struct clew_extent *record;
	/* Before another CPU skips its uses, too. */
	__u64 now = clock_ns();

	file->ended = added;
	record = record_reserve(actor->cpu_state, actor->cpu, CLEW_KIND_EXTENT, now,
				sizeof(*record));
	if (!record)
		return;
	record->header.flags = CLEW_EXTENT_USE;
	record->begin = now;
	record->inode = touch->inode;
	record->offset = 0;
	record->bytes = 0;
	record->device = touch->device;
	record->task = actor->task;
	record_submit(record);
}

/* Uses that overlap or follow each other are one extent. False: the use needs
 * another one. */
static __always_inline bool joins_use(struct clew_open_extent *open, const struct touch *touch,
				      __u32 added, __u64 *now)
{
	__u64 end = open->offset + open->bytes;
	struct touch more = *touch;

	if (!same_actor(open, touch) || open->generation != added || touch->offset < open->offset ||
	    touch->offset > end)
		return false;
	if (touch->offset + touch->bytes <= end)
		return true;
	more.bytes = touch->offset + touch->bytes - end;
	return extent_grow(open, &more, 0, now);
}

/*
 * A read that waits for a page in the middle of those that it got reports only
 * those from that page on. The end is that of the whole call in each report, so
 * the size that was asked for gives where the call began, or the page after that.
 */
static __always_inline void widen_to_call(struct task_struct *task, struct touch *touch,
					  struct address_space *mapping)
{
	__u64 end = touch->offset + touch->bytes;
	struct call call;
	struct file *file;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return;
	read_call(task, &call);
	if ((call.number != CALL_READ && call.number != CALL_PREAD64) || call.compat ||
	    call.argument[2] <= touch->bytes || call.argument[2] > end)
		return;
	file = (void *)find_file(number_of(task), call.argument[0]);
	if (!file || READ_NUMBER(file, f_mapping) != number_of(mapping))
		return;
	touch->offset = page_start(end - call.argument[2]);
	touch->bytes = end - touch->offset;
}

/* `called`: a read reports it; else a fault does. */
static __always_inline void use_emit(struct address_space *mapping, __u64 first, __u64 last,
				     bool called)
{
	struct clew_open_extent *open;
	struct generation *file;
	struct inode *inode;
	struct touch touch;
	struct actor actor;
	__u64 added, now = 0;

	if (!uses_wanted || !mapping || !enabled)
		return;
	inode = READ_TRUSTED(mapping, host);
	file = generation_of(inode->i_ino);
	added = *(volatile __u64 *)&file->added;
	if (file->used >= added * USES_EACH && file->ended == added)
		return;
	if (!touch_range(&touch, inode, first << PAGE_SHIFT, (last - first + 1) << PAGE_SHIFT) ||
	    !actor_here(&actor))
		return;
	if (unlikely(file->used >= added * USES_EACH)) {
		uses_end(&actor, &touch, file, added);
		return;
	}
	touch.task = actor.task;
	open = &actor.cpu_state->extents[CLEW_EXTENT_USE];
	touch_begin(actor.cpu_state);
	if (likely(joins_use(open, &touch, added, &now))) {
		touch_end(actor.cpu_state);
		__sync_fetch_and_add(&file->used, 1);
		return;
	}
	if (called)
		widen_to_call(bpf_get_current_task_btf(), &touch, mapping);
	if (!now)
		now = clock_ns();
	if (open->bytes)
		extent_emit(actor.cpu, CLEW_EXTENT_USE, now);
	extent_begin(open, &touch, now);
	open->generation = added;
	open->last = 0;
	open->grown = 0;
	open->written = 0;
	actor.cpu_state->open |= 1u << CLEW_EXTENT_USE;
	touch_end(actor.cpu_state);
	__sync_fetch_and_add(&file->used, USE_RECORD);
}

#endif

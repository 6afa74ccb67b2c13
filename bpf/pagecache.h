/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The page cache: which task acts, and on which pages of which file. Touches
 * become extents (extent.h); nothing is kept per page. The accesses of clew
 * itself are not recorded.
 *
 * A page's epoch starts when its folio becomes dirty. The file system reports
 * the write of a call first; where that makes the folio dirty, the DIRTY extent
 * takes over the range of the WRITE extent.
 */
#ifndef CLEW_BPF_PAGECACHE_H
#define CLEW_BPF_PAGECACHE_H

#include "arch.h"
#include "context.h"
#include "extent.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "read.h"
#include "ring.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

struct actor {
	struct clew_cpu_state *cpu_state;
	__u32 cpu;
	__u32 task;
};

static __always_inline bool actor_here(struct actor *actor)
{
	struct task_struct *task;

	if (!enabled)
		return false;
	task = bpf_get_current_task_btf();
	if (unlikely((__u32)task->tgid == self_pid))
		return false;
	actor->cpu = bpf_get_smp_processor_id();
	actor->cpu_state = this_cpu_state(actor->cpu);
	if (!actor->cpu_state)
		return false;
	actor->task = serial_of_current(actor->cpu_state, task);
	if (unlikely(task->flags & PF_IO_WORKER))
		actor->task = submitter_of(task, actor->task);
	return true;
}

static __always_inline void touch_emit(struct actor *actor, __u8 event, const struct touch *touch,
				       struct inode *inode)
{
	touch_begin(actor->cpu_state);
	extent_touch(actor->cpu_state, actor->cpu, event, touch, false, (__u64)inode);
	touch_end(actor->cpu_state);
}

/* folio_pages() for a folio that the verifier trusts. */
static __always_inline __u32 known_folio_pages(struct folio *folio)
{
	struct folio___pages *pages = (void *)folio;
	struct folio___long *before = (void *)folio;

	/* The flags come first, as a number or as a structure with one. */
	if (!(*(unsigned long *)folio & (1UL << bpf_core_enum_value(enum pageflags, PG_head))))
		return 1;
	if (bpf_core_field_exists(pages->_nr_pages))
		return pages->_nr_pages;
	return bpf_core_field_exists(before->_folio_nr_pages) ? before->_folio_nr_pages : 1;
}

/* The range of a file that a folio caches. False: it is of no file. */
static __always_inline bool touch_folio(struct touch *touch, struct folio *folio,
					struct inode *inode)
{
	if (!inode)
		return false;
	touch->inode = inode->i_ino;
	touch->device = READ_TRUSTED(inode, i_sb, s_dev);
	touch->offset = folio->index << PAGE_SHIFT;
	touch->bytes = (__u64)known_folio_pages(folio) << PAGE_SHIFT;
	return true;
}

static __always_inline bool touch_range(struct touch *touch, struct inode *inode, __u64 offset,
					__u64 bytes)
{
	touch->inode = inode->i_ino;
	touch->device = READ_TRUSTED(inode, i_sb, s_dev);
	touch->offset = offset;
	touch->bytes = bytes;
	return bytes != 0;
}

static __always_inline bool in_user_fault(struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_IO_WORKER)) &&
	       register_call(saved_registers(task)) < 0;
}

#endif

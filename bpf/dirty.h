/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Folios that become dirty without a write call or a store: calls zero the ends
 * of a range within pages that stay, and those who write back or commit make
 * dirty again what others wrote.
 */
#ifndef CLEW_BPF_DIRTY_H
#define CLEW_BPF_DIRTY_H

#include "call.h"
#include "extent.h"
#include "kernel.h"
#include "pagecache.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define CALL_MSYNC     26
#define CALL_FSYNC     74
#define CALL_FDATASYNC 75
#define CALL_TRUNCATE  76
#define CALL_FTRUNCATE 77
#define CALL_SYNC      162
#define CALL_FALLOCATE 285
#define CALL_SYNCFS    306

#define FALLOC_ZEROES  0x92 /* FALLOC_FL_PUNCH_HOLE, _ZERO_RANGE, _WRITE_ZEROES */
#define FALLOC_UNSHARE 0x40 /* FALLOC_FL_UNSHARE_RANGE */

static __always_inline bool zeroes(__s64 number)
{
	return number == CALL_FALLOCATE || number == CALL_FTRUNCATE || number == CALL_TRUNCATE;
}

/* True if the task is a thread of the kernel, or in a call that writes back. A
 * thread of the kernel that writes is known as a writer by its WRITE extents. */
static __always_inline bool dirties_again(struct task_struct *task)
{
	struct call call;

	if (task->flags & PF_KTHREAD)
		return true;
	if (task->flags & PF_IO_WORKER)
		return false;
	read_call(task, &call);
	switch (call.number) {
	case CALL_MSYNC:
	case CALL_FSYNC:
	case CALL_FDATASYNC:
	case CALL_SYNC:
	case CALL_SYNC_FILE_RANGE:
	case CALL_SYNCFS:
		return true;
	}
	return false;
}

/* Records that the bytes `from`..`to` were zeroed, as far as `folio` has them. */
static __always_inline void zero_part(struct actor *actor, const struct touch *folio, __u64 from,
				      __u64 to, struct inode *inode)
{
	struct touch touch = *folio;
	__u64 end = folio->offset + folio->bytes;

	touch.offset = from > folio->offset ? from : folio->offset;
	if (to < end)
		end = to;
	if (touch.offset >= end)
		return;
	touch.bytes = end - touch.offset;
	touch_emit(actor, CLEW_EXTENT_ZERO, &touch, inode);
}

/*
 * The task makes `folio`, or a buffer of it, dirty in a call. If that call zeroes
 * parts of pages, these are the parts: whole pages leave the page cache instead.
 */
static __always_inline void zero_emit(struct task_struct *task, struct actor *actor,
				      const struct touch *folio, struct inode *inode)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 from, to;

	/* A 32-bit call has its offsets in halves. */
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER) || !zeroes(regs->orig_ax) ||
	    task->thread_info.status & TS_COMPAT)
		return;
	if (regs->orig_ax != CALL_FALLOCATE) {
		from = regs->si;
		zero_part(actor, folio, from, page_end(from), inode);
		return;
	}
	from = regs->dx;
	to = from + regs->r10;
	if (regs->si & FALLOC_UNSHARE) {
		zero_part(actor, folio, from, to, inode);
		return;
	}
	if (!(regs->si & FALLOC_ZEROES))
		return;
	if (page_end(from) >= to) {
		zero_part(actor, folio, from, to, inode);
		return;
	}
	zero_part(actor, folio, from, page_end(from), inode);
	zero_part(actor, folio, page_start(to), to, inode);
}

#endif

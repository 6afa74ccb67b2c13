/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Folios that become dirty without a write call or a store: calls zero the ends
 * of a range within pages that stay, and those who write back or commit make
 * dirty again what others wrote.
 */
#ifndef CLEW_BPF_DIRTY_H
#define CLEW_BPF_DIRTY_H

#include "arch.h"
#include "call.h"
#include "extent.h"
#include "kernel.h"
#include "pagecache.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

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
	struct pt_regs *registers = saved_registers(task);
	__u64 from, to;

	/* A 32-bit call has its offsets in halves. */
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER) || !zeroes(register_call(registers)) ||
	    in_compat_call(task))
		return;
	if (register_call(registers) != CALL_FALLOCATE) {
		from = register_argument(registers, 1);
		zero_part(actor, folio, from, page_end(from), inode);
		return;
	}
	from = register_argument(registers, 2);
	to = from + register_argument(registers, 3);
	if (register_argument(registers, 1) & FALLOC_UNSHARE) {
		zero_part(actor, folio, from, to, inode);
		return;
	}
	if (!(register_argument(registers, 1) & FALLOC_ZEROES))
		return;
	if (page_end(from) >= to) {
		zero_part(actor, folio, from, to, inode);
		return;
	}
	zero_part(actor, folio, from, page_end(from), inode);
	zero_part(actor, folio, page_start(to), to, inode);
}

#endif

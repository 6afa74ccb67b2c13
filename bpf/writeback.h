/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of writeback, and of calls that sync a file. */
#ifndef CLEW_BPF_WRITEBACK_H
#define CLEW_BPF_WRITEBACK_H

#include "call.h"
#include "context.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

const volatile __u64 jiffy; /* Fixed at load, ns. */

/* The disk that is written to, 0 unknown. */
static __always_inline __u32 disk_of_writeback(struct bdi_writeback *wb)
{
	struct device *owner = READ(wb, bdi, owner);

	return owner ? READ(owner, devt) : 0;
}

static __always_inline struct clew_writeback *writeback_reserve(struct context *context, __u8 event)
{
	struct clew_writeback *record;

	if (!enabled || !context_here(context))
		return NULL;
	record = record_reserve(context->cpu_state, context->cpu, CLEW_KIND_WRITEBACK, clock_ns(),
				sizeof(*record));
	if (!record)
		return NULL;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->header.flags = event;
	record->task = context_serial(context);
	return record;
}

/* Records that a call begins to sync a file. False: nothing is recorded. */
static __always_inline bool sync_emit(struct context *context, struct inode *inode, bool data_only)
{
	struct clew_writeback *record = writeback_reserve(context, CLEW_WRITEBACK_SYNC_ENTER);

	if (!record)
		return false;
	record->inode = READ(inode, i_ino);
	record->device = READ(inode, i_sb, s_dev);
	record->data_only = data_only;
	record->call = context_call(context);
	record_submit(record);
	send_inode(number_of(inode), context->cpu, clock_ns());
	return true;
}

#endif

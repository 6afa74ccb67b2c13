/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs of writeback: orders, the flusher's inodes, writers that are slowed
 * down.
 */
#include "writeback.h"
#include "context.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

static __always_inline void order_emit(struct bdi_writeback *wb, struct wb_writeback_work *work,
				       __u8 event)
{
	struct super_block *file_system;
	struct clew_writeback *record;
	struct context context;

	record = writeback_reserve(&context, event);
	if (!record)
		return;
	file_system = READ(work, sb);
	record->work = (__u64)work;
	record->pages = READ(work, nr_pages);
	record->device = file_system ? READ(file_system, s_dev) : disk_of_writeback(wb);
	record->reason = READ(work, reason);
	record->sync = READ(work, sync_mode) ==
		       bpf_core_enum_value(enum writeback_sync_modes, WB_SYNC_ALL);
	record->for_sync = BPF_CORE_READ_BITFIELD_PROBED(work, for_sync);
	record_submit(record);
}

SEC("?tp_btf/writeback_queue")
int BPF_PROG(clew_cache_writeback_queue, struct bdi_writeback *wb, struct wb_writeback_work *work)
{
	order_emit(wb, work, CLEW_WRITEBACK_QUEUE);
	return 0;
}

SEC("?tp_btf/writeback_start")
int BPF_PROG(clew_cache_writeback_start, struct bdi_writeback *wb, struct wb_writeback_work *work)
{
	order_emit(wb, work, CLEW_WRITEBACK_START);
	return 0;
}

SEC("?tp_btf/writeback_written")
int BPF_PROG(clew_cache_writeback_written, struct bdi_writeback *wb, struct wb_writeback_work *work)
{
	order_emit(wb, work, CLEW_WRITEBACK_END);
	return 0;
}

SEC("?tp_btf/writeback_wake_background")
int BPF_PROG(clew_cache_writeback_wake, struct bdi_writeback *wb)
{
	struct clew_writeback *record;
	struct context context;

	record = writeback_reserve(&context, CLEW_WRITEBACK_WAKE);
	if (!record)
		return 0;
	record->device = disk_of_writeback(wb);
	record_submit(record);
	return 0;
}

static __always_inline void inode_emit(struct inode *inode, struct writeback_control *control,
				       unsigned long wanted, __u8 event)
{
	struct clew_writeback *record;
	struct context context;

	record = writeback_reserve(&context, event);
	if (!record)
		return;
	record->inode = inode->i_ino;
	record->device = READ_TRUSTED(inode, i_sb, s_dev);
	record->pages =
		event == CLEW_WRITEBACK_INODE_END ? wanted - READ(control, nr_to_write) : wanted;
	record->sync = READ(control, sync_mode) ==
		       bpf_core_enum_value(enum writeback_sync_modes, WB_SYNC_ALL);
	record->for_sync = BPF_CORE_READ_BITFIELD_PROBED(control, for_sync);
	record_submit(record);
}

SEC("?tp_btf/writeback_single_inode_start")
int BPF_PROG(clew_cache_writeback_inode_start, struct inode *inode,
	     struct writeback_control *control, unsigned long wanted)
{
	inode_emit(inode, control, wanted, CLEW_WRITEBACK_INODE_BEGIN);
	return 0;
}

SEC("?tp_btf/writeback_single_inode")
int BPF_PROG(clew_cache_writeback_inode, struct inode *inode, struct writeback_control *control,
	     unsigned long wanted)
{
	inode_emit(inode, control, wanted, CLEW_WRITEBACK_INODE_END);
	return 0;
}

static __always_inline void throttled(struct bdi_writeback *wb, __s64 pause)
{
	struct clew_task_state *state;

	if (!enabled || pause <= 0)
		return;
	state = task_state(bpf_get_current_task_btf());
	if (!state)
		return;
	state->pause = pause * jiffy;
	state->pause_device = disk_of_writeback(wb);
	state->flags |= CLEW_TASK_STATE_PAUSED;
}

SEC("?tp_btf/balance_dirty_pages")
int BPF_PROG(clew_cache_throttled, struct bdi_writeback *wb, void *control, __u64 rate,
	     __u64 task_rate, __u64 dirtied, __u64 period, __s64 pause)
{
	throttled(wb, pause);
	return 0;
}

/* The arguments before 6.18. */
SEC("?tp_btf/balance_dirty_pages")
int BPF_PROG(clew_cache_throttled_numbers, struct bdi_writeback *wb, __u64 threshold,
	     __u64 background, __u64 dirty, __u64 device_threshold, __u64 device_dirty, __u64 rate,
	     __u64 task_rate, __u64 dirtied, __u64 period, __s64 pause)
{
	throttled(wb, pause);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs of the journals of ext4, xfs and btrfs. */
#include "journal.h"
#include "context.h"
#include "extent.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "read.h"
#include "state.h"
#include "writeback.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* ---- ext4 ---- */

static __always_inline struct jbd2_journal_handle *ext4_handle(struct task_struct *task)
{
	return task->journal_info;
}

/* Runs when a handle is given back. It is still the task's. */
SEC("?tp_btf/jbd2_handle_stats")
int BPF_PROG(clew_cache_jbd2_handle, __u32 device, __u32 transaction, unsigned int type,
	     unsigned int line, int interval)
{
	struct jbd2_journal_handle *handle;
	struct clew_journal fields;
	struct context context;
	enum transaction_state state = T_RUNNING;

	if (!enabled)
		return 0;
	handle = ext4_handle(bpf_get_current_task_btf());
	if (handle)
		state = BPF_CORE_READ(handle, h_transaction, t_state);
	/* A commit may wait for this handle, or it was open for a tick or
	 * longer. */
	if (unlikely(state != T_RUNNING || interval > 0)) {
		if (!journal_here(&context, &fields, CLEW_JOURNAL_HANDLE))
			return 0;
		fields.device = device;
		fields.transaction = transaction;
		fields.open = interval * jiffy;
		journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
		return 0;
	}
	handle_join(device, transaction);
	return 0;
}

SEC("?tp_btf/ext4_sync_file_enter")
int BPF_PROG(clew_cache_ext4_sync, struct file *file, int data_only)
{
	struct ext4_inode_info *of;
	struct clew_journal fields;
	struct inode *inode;
	struct context context;

	if (!file)
		return 0;
	inode = file->f_inode;
	if (!sync_emit(&context, inode, data_only) ||
	    !journal_here(&context, &fields, CLEW_JOURNAL_AWAIT))
		return 0;
	of = (void *)(number_of(inode) - bpf_core_field_offset(struct ext4_inode_info, vfs_inode));
	fields.inode = READ(inode, i_ino);
	fields.device = READ(inode, i_sb, s_dev);
	fields.transaction =
		data_only ? BPF_CORE_READ(of, i_datasync_tid) : BPF_CORE_READ(of, i_sync_tid);
	/* Without a journal there is nothing to await. */
	if (fields.transaction)
		journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
	return 0;
}

static __always_inline void commit_emit(struct journal_s *journal,
					struct transaction_s *transaction, __u8 event)
{
	struct clew_journal fields;
	struct context context;

	if (!journal || !transaction || !journal_here(&context, &fields, event))
		return;
	fields.device = BPF_CORE_READ(journal, j_fs_dev, bd_dev);
	fields.transaction = BPF_CORE_READ(transaction, t_tid);
	journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
}

SEC("?tp_btf/jbd2_start_commit")
int BPF_PROG(clew_cache_jbd2_start, struct journal_s *journal, struct transaction_s *transaction)
{
	commit_emit(journal, transaction, CLEW_JOURNAL_COMMIT_BEGIN);
	return 0;
}

SEC("?tp_btf/jbd2_commit_locking")
int BPF_PROG(clew_cache_jbd2_locking, struct journal_s *journal, struct transaction_s *transaction)
{
	commit_emit(journal, transaction, CLEW_JOURNAL_COMMIT_LOCKED);
	return 0;
}

SEC("?tp_btf/jbd2_commit_flushing")
int BPF_PROG(clew_cache_jbd2_flushing, struct journal_s *journal, struct transaction_s *transaction)
{
	commit_emit(journal, transaction, CLEW_JOURNAL_COMMIT_FLUSH);
	return 0;
}

SEC("?tp_btf/jbd2_end_commit")
int BPF_PROG(clew_cache_jbd2_end, struct journal_s *journal, struct transaction_s *transaction)
{
	commit_emit(journal, transaction, CLEW_JOURNAL_COMMIT_END);
	return 0;
}

SEC("?tp_btf/block_touch_buffer")
int BPF_PROG(clew_cache_touch_buffer, struct buffer_head *buffer)
{
	struct transaction_s *transaction;
	struct jbd2_journal_handle *handle;
	struct block_device *device;

	if (!enabled)
		return 0;
	handle = ext4_handle(bpf_get_current_task_btf());
	if (likely(!handle))
		return 0;
	/* Other file systems keep other things in journal_info: it is a handle
	 * only if its journal is that of this device. */
	device = buffer->b_bdev;
	transaction = BPF_CORE_READ(handle, h_transaction);
	if (!transaction || !device || BPF_CORE_READ(transaction, t_journal, j_fs_dev) != device)
		return 0;
	block_emit(device->bd_dev, BPF_CORE_READ(transaction, t_tid), buffer->b_blocknr,
		   buffer->b_size);
	return 0;
}

/* ---- xfs ---- */

SEC("?tp_btf/xfs_trans_commit")
int BPF_PROG(clew_cache_xfs_commit, struct xfs_trans *transaction)
{
	struct xfs_mount *mount;

	/* The verifier assumes that pointers from modules may be NULL. */
	if (!enabled || !transaction)
		return 0;
	mount = BPF_CORE_READ(transaction, t_mountp);
	handle_join(BPF_CORE_READ(mount, m_super, s_dev),
		    BPF_CORE_READ(mount, m_log, l_cilp, xc_current_sequence));
	return 0;
}

SEC("?tp_btf/xfs_file_fsync")
int BPF_PROG(clew_cache_xfs_sync, struct xfs_inode *inode)
{
	__u64 number = number_of(inode);
	struct inode *of = (void *)(number + bpf_core_field_offset(struct xfs_inode, i_vnode));
	struct xfs_inode *from = (void *)number;
	struct xfs_inode_log_item *item;
	struct clew_journal fields;
	struct context context;

	if (!sync_emit(&context, of, false) || !journal_here(&context, &fields, CLEW_JOURNAL_AWAIT))
		return 0;
	item = BPF_CORE_READ(from, i_itemp);
	if (!item)
		return 0;
	fields.inode = BPF_CORE_READ(of, i_ino);
	fields.device = BPF_CORE_READ(of, i_sb, s_dev);
	fields.transaction = BPF_CORE_READ(item, ili_commit_seq);
	if (fields.transaction)
		journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
	return 0;
}

const volatile __u64 work_xfs_push; /* Fixed at load: the function of the work item that writes a
				       checkpoint; 0 unknown. */

SEC("?tp_btf/workqueue_execute_start")
int BPF_PROG(clew_cache_xfs_push, struct work_struct *work)
{
	struct xfs_cil_ctx *checkpoint;
	struct xlog *log;
	struct clew_journal fields;
	struct context context;

	if (!enabled || !work_xfs_push || (__u64)work->func != work_xfs_push ||
	    !journal_here(&context, &fields, CLEW_JOURNAL_PUSH))
		return 0;
	checkpoint =
		(void *)(number_of(work) - bpf_core_field_offset(struct xfs_cil_ctx, push_work));
	log = BPF_CORE_READ(checkpoint, cil, xc_log);
	fields.device = BPF_CORE_READ(log, l_mp, m_super, s_dev);
	fields.transaction = BPF_CORE_READ(checkpoint, sequence);
	fields.work = (__u64)work;
	journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
	return 0;
}

static __always_inline void log_emit(struct xfs_mount *mount, __u64 value, __u8 event)
{
	struct clew_journal fields;
	struct context context;

	if (!journal_here(&context, &fields, event))
		return;
	fields.device = BPF_CORE_READ(mount, m_super, s_dev);
	fields.value = value;
	journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
}

/* The value is the address of the bio that writes the log buffer. */
SEC("?tp_btf/xlog_iclog_wait_on")
int BPF_PROG(clew_cache_xfs_wait, struct xlog_in_core *buffer)
{
	struct xlog_in_core *from = (void *)number_of(buffer);

	log_emit(BPF_CORE_READ(from, ic_log, l_mp),
		 (__u64)from + bpf_core_field_offset(struct xlog_in_core, ic_bio),
		 CLEW_JOURNAL_IOCLOG);
	return 0;
}

SEC("?tp_btf/xfs_log_force")
int BPF_PROG(clew_cache_xfs_force, struct xfs_mount *mount, __s64 until)
{
	log_emit((void *)number_of(mount), until, CLEW_JOURNAL_FORCE);
	return 0;
}

SEC("?tp_btf/xfs_log_grant_sleep")
int BPF_PROG(clew_cache_xfs_space, struct xlog *log, struct xlog_ticket *ticket)
{
	if (log)
		log_emit(BPF_CORE_READ(log, l_mp), 0, CLEW_JOURNAL_SPACE);
	return 0;
}

SEC("?tp_btf/xfs_trans_log_buf")
int BPF_PROG(clew_cache_xfs_block, struct xfs_buf_log_item *item)
{
	struct xfs_mount *mount;
	struct xfs_buf *buffer;

	if (!enabled || !item)
		return 0;
	buffer = BPF_CORE_READ(item, bli_buf);
	mount = BPF_CORE_READ(buffer, b_mount);
	if (mount)
		block_emit(BPF_CORE_READ(mount, m_super, s_dev),
			   BPF_CORE_READ(mount, m_log, l_cilp, xc_current_sequence),
			   BPF_CORE_READ(buffer, b_maps, bm_bn), 512);
	return 0;
}

/* ---- btrfs ---- */

#define BTRFS_MARKS 4096 /* a smaller journal_info is a mark, no handle */

SEC("?tp_btf/btrfs_cow_block")
int BPF_PROG(clew_cache_btrfs_block, struct btrfs_root *root, struct extent_buffer *before,
	     struct extent_buffer *block)
{
	struct btrfs_trans_handle *handle;
	__u64 transaction;
	__u32 device;

	if (!enabled || !root || !block)
		return 0;
	handle = bpf_get_current_task_btf()->journal_info;
	if ((__u64)handle < BTRFS_MARKS)
		return 0;
	transaction = BPF_CORE_READ(handle, transid);
	device = BPF_CORE_READ(root, fs_info, sb, s_dev);
	handle_join(device, transaction);
	block_emit(device, transaction, BPF_CORE_READ(block, start), 1);
	return 0;
}

SEC("?tp_btf/btrfs_sync_file")
int BPF_PROG(clew_cache_btrfs_sync, struct file *file, int data_only)
{
	struct clew_journal fields;
	struct btrfs_inode *of;
	struct inode *inode;
	struct context context;

	if (!file)
		return 0;
	inode = READ(file, f_inode);
	if (!sync_emit(&context, inode, data_only) ||
	    !journal_here(&context, &fields, CLEW_JOURNAL_AWAIT))
		return 0;
	of = (void *)(number_of(inode) - bpf_core_field_offset(struct btrfs_inode, vfs_inode));
	fields.inode = READ(inode, i_ino);
	fields.device = READ(inode, i_sb, s_dev);
	fields.transaction = BPF_CORE_READ(of, last_trans);
	journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
	return 0;
}

SEC("?tp_btf/btrfs_transaction_commit")
int BPF_PROG(clew_cache_btrfs_commit, struct btrfs_fs_info *file_system)
{
	struct clew_journal fields;
	struct context context;

	if (!file_system || !journal_here(&context, &fields, CLEW_JOURNAL_COMMIT_END))
		return 0;
	fields.device = BPF_CORE_READ(file_system, sb, s_dev);
	fields.transaction = BPF_CORE_READ(file_system, last_trans_committed);
	journal_emit(context.cpu_state, context.cpu, clock_ns(), &fields);
	return 0;
}

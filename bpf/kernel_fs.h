/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's structures, continued: the page cache, writeback, journals, file
 * systems. See kernel.h.
 */
#ifndef CLEW_BPF_KERNEL_FS_H
#define CLEW_BPF_KERNEL_FS_H

#include "kernel_io.h"

#define PAGE_SHIFT  12
#define PAGE_SIZE   (1u << PAGE_SHIFT)
#define VM_WRITE    0x00000002UL
#define VM_SHARED   0x00000008UL
#define IOMAP_FAULT 0x08

/*
 * The tree of a file's folios. The two lowest bits of a slot say what it holds.
 */
#define XA_MARK	    3UL
#define XA_INTERNAL 2UL
#define XA_NODES    4096UL /* larger internal entries are nodes */
#define XA_SLOTS    64
#define XA_LEVELS   11

enum pageflags { PG_uptodate, PG_head };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xa_node {
	unsigned char shift;
	void *slots[XA_SLOTS];
};

struct folio___pages { /* since 6.15 */
	unsigned int _nr_pages;
};

struct folio___long { /* before 6.15 */
	unsigned int _folio_nr_pages;
};

struct file_lock_core { /* since 6.9 */
	struct file_lock_core *flc_blocker;
	void *flc_owner;
	struct list_head flc_list;
	unsigned char flc_type;
	int flc_pid;
	struct file *flc_file;
};

struct file_lock {
	__s64 fl_start;
	__s64 fl_end;
};

struct file_lock___whole { /* before 6.9 */
	struct file_lock *fl_blocker;
	void *fl_owner;
	struct list_head fl_list;
	unsigned char fl_type;
	unsigned int fl_pid;
	struct file *fl_file;
};

struct file_lock_context {
	struct list_head flc_flock;
	struct list_head flc_posix;
};

struct backing_dev_info {
	struct device *owner; /* of the disk */
};

struct bdi_writeback {
	struct backing_dev_info *bdi;
};

enum writeback_sync_modes { WB_SYNC_NONE, WB_SYNC_ALL };
enum wb_reason { WB_REASON_BACKGROUND };

struct wb_writeback_work {
	long nr_pages;
	struct super_block *sb;
	enum writeback_sync_modes sync_mode;
	unsigned int for_sync : 1;
	enum wb_reason reason;
};

struct writeback_control {
	long nr_to_write;
	enum writeback_sync_modes sync_mode;
	unsigned int for_sync : 1;
};

struct io_wq_work {
	struct io_wq_work *unused_field;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_kiocb___work {
	struct io_wq_work work;
};

struct loop_device {
	struct file *lo_backing_file;
	__s64 lo_offset;
};

struct buffer_head {
	unsigned long b_state;
	struct page *b_page;
	__u64 b_blocknr;
	unsigned long b_size;
	char *b_data;
	struct block_device *b_bdev;
	void *b_end_io;
	void *b_private;
};

struct journal_s;

enum transaction_state { T_RUNNING };

struct transaction_s {
	struct journal_s *t_journal;
	unsigned int t_tid;
	enum transaction_state t_state;
};

struct journal_s {
	struct block_device *j_fs_dev;
};

struct jbd2_journal_handle {
	struct transaction_s *h_transaction;
};

struct ext4_inode_info {
	struct inode vfs_inode;
	unsigned int i_sync_tid;
	unsigned int i_datasync_tid;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct xfs_cil {
	struct xlog *xc_log;
	__s64 xc_current_sequence;
};

struct xlog {
	struct xfs_mount *l_mp;
	struct xfs_cil *l_cilp;
};

struct xlog_ticket;

struct xfs_mount {
	struct super_block *m_super;
	struct xlog *m_log;
};

struct xfs_cil_ctx {
	struct xfs_cil *cil;
	__s64 sequence;
	struct work_struct push_work;
};

struct xlog_in_core {
	struct xlog *ic_log;
	struct bio ic_bio;
};

struct xfs_inode_log_item {
	__s64 ili_commit_seq;
};

struct xfs_inode {
	struct xfs_mount *i_mount;
	struct xfs_inode_log_item *i_itemp;
	struct inode i_vnode;
};

struct xfs_trans {
	struct xfs_mount *t_mountp;
};

struct xfs_buf_map {
	__s64 bm_bn;
};

struct xfs_buf {
	struct xfs_mount *b_mount;
	struct xfs_buf_map *b_maps;
};

struct xfs_buf_log_item {
	struct xfs_buf *bli_buf;
};

struct btrfs_fs_info {
	struct super_block *sb;
	__u64 last_trans_committed;
};

struct btrfs_root {
	struct btrfs_fs_info *fs_info;
};

struct btrfs_inode {
	__u64 last_trans;
	struct inode vfs_inode;
};

struct extent_io_tree {
	struct btrfs_inode *inode;
	__u8 owner;
};

struct extent_io_tree___private { /* before 6.2 */
	void *private_data;
};

struct extent_buffer {
	__u64 start;
};

struct btrfs_trans_handle {
	__u64 transid;
};

struct btrfs_ordered_extent {
	__u64 num_bytes;
};

struct btrfs_bio {
	struct btrfs_inode *inode; /* since 6.2 or so */
	__u64 file_offset;
	void *end_io;
	void *private;
	struct bio bio;
};

struct btrfs_dio_private {
	struct inode *inode; /* the file of direct I/O, where struct btrfs_bio has none */
};
struct btrfs_bio___ordered { /* since 6.4 */
	struct btrfs_ordered_extent *ordered;
};

/* The locks by which others change what these structures describe. */

struct mm_struct___locks {
	struct rw_semaphore mmap_lock;
	struct task_struct *owner; /* only with memory cgroups */
};

struct inode___locks {
	struct rw_semaphore i_rwsem;
	struct address_space i_data;
};

struct address_space___locks {
	struct rw_semaphore invalidate_lock;
	struct rw_semaphore i_mmap_rwsem;
};

struct file___locks {
	struct mutex f_pos_lock;
};

struct pipe_inode_info___locks {
	struct mutex mutex;
};

struct percpu_rw_semaphore {
	void *writer;
};

struct sb_writers {
	struct percpu_rw_semaphore rw_sem[1];
};

struct super_block___locks {
	struct rw_semaphore s_umount;
	struct sb_writers s_writers;
};

struct dentry___super {
	struct super_block *d_sb;
};

struct wait_queue_head {
	struct list_head head;
};

struct wait_queue_entry {
	void *private;
	struct list_head entry;
};

struct fuse_req {
	struct list_head list;
	struct wait_queue_head waitq;
};

struct fuse_iqueue {
	struct list_head pending;
};

struct fuse_pqueue {
	struct list_head *processing;
};

struct fuse_conn {
	struct fuse_iqueue iq;
	__u32 dev; /* of its file system */
};

struct fuse_dev {
	struct fuse_conn *fc;
	struct fuse_pqueue pq;
};

struct fuse_chan { /* since 7.2 */
	struct fuse_conn *conn;
	struct fuse_iqueue iq;
};

struct fuse_dev___chan {
	struct fuse_chan *chan;
};

struct iov_iter {
	bool data_source;
	unsigned long count;
};

#pragma clang attribute pop

#endif

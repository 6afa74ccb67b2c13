/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Helpers of the block layer: the ranges of files that bios carry, and records
 * of bios and requests.
 *
 * No state is kept per request, except for direct I/O (direct.h): each event is
 * a record, and user space joins them by the addresses of requests and bios.
 * Devices are recorded as whole disks.
 */
#ifndef CLEW_BPF_BLOCK_H
#define CLEW_BPF_BLOCK_H

#include "arch.h"
#include "call.h"
#include "context.h"
#include "direct_bio.h"
#include "extent.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "pages.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: ki_complete of a loop device's direct I/O; 0 unknown. */
const volatile __u64 loop_complete;

static __always_inline __u32 disk_of(struct bio *bio)
{
	return READ_TRUSTED(bio, bi_bdev, bd_disk, part0, bd_dev);
}

static __always_inline __u32 disk_of_request(struct request *request)
{
	return READ_TRUSTED(request, q, disk, part0, bd_dev);
}

#define OPERATION_BITS 0xff
#define OPERATION_READ 0

/* Fixed at load: bi_end_io or end_io of btrfs's bios; 0 unknown. */
const volatile __u64 btrfs_end_io;
const volatile __u64 btrfs_write_end_io;
const volatile __u64 btrfs_direct_end; /* of direct I/O */
/* Fixed at load: bi_end_io of a buffer's bio, and b_end_io of a buffer that
 * ext4's journal writes; 0 unknown. Since 7.2 there is no b_end_io: the
 * second one is bi_end_io of such a buffer's bio. */
const volatile __u64 buffer_end_io;
const volatile __u64 journal_end_io;
/* Fixed at load: bi_end_io of swapping; 0 unknown. */
const volatile __u64 swap_in_end;
const volatile __u64 swap_out_end;

static __always_inline bool is_swap(struct bio *bio)
{
	__u64 end = (__u64)bio->bi_end_io;

	return end && (end == swap_in_end || end == swap_out_end);
}

/* The request of a loop device for which a bio of direct I/O is, 0 if it is for
 * none. */
static __always_inline __u64 request_above(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;
	struct kiocb *iocb;

	if (!loop_complete || !is_direct(bio) || !bpf_core_type_exists(struct loop_cmd))
		return 0;
	iocb = READ(io, iocb);
	if (READ_NUMBER(iocb, ki_complete) != loop_complete)
		return 0;
	return (__u64)iocb - bpf_core_field_offset(struct loop_cmd, iocb) -
	       bpf_core_type_size(struct request);
}

/* The pages of the bio belong to no file, but struct btrfs_bio, of which it is
 * a part, leads to the file. */
static __always_inline bool is_btrfs_direct(struct btrfs_bio *of, struct walk *walk)
{
	struct inode *inode = NULL;

	if (!btrfs_direct_end || !bpf_core_field_exists(of->end_io) ||
	    (__u64)BPF_CORE_READ(of, end_io) != btrfs_direct_end)
		return false;
	if (bpf_core_field_exists(of->inode)) {
		inode = (void *)BPF_CORE_READ(of, inode);
		inode = inode ? (void *)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode)
			      : NULL;
	} else if (bpf_core_type_exists(struct btrfs_dio_private)) {
		struct btrfs_dio_private *io = BPF_CORE_READ(of, private);

		inode = BPF_CORE_READ(io, inode);
	}
	if (!inode)
		return false;
	walk->range.inode = READ(inode, i_ino);
	walk->range.device = READ(inode, i_sb, s_dev);
	walk->range.offset = BPF_CORE_READ(of, file_offset);
	walk->range.at = 0;
	walk->direct = 1;
	walk->left = 0;
	return true;
}

/*
 * The range of a file behind a bio of btrfs. For direct I/O it is what the bio
 * holds. Otherwise the data was compressed, and the range in the file is longer
 * than the bio. Global, see identity.h.
 */
__noinline int btrfs_range(__u64 bio_address, struct walk *walk)
{
	struct bio *bio = (struct bio *)bio_address;
	struct btrfs_bio___ordered *ordered;
	struct btrfs_inode *inode;
	struct btrfs_bio *of;
	__u64 end;

	if (!walk || !bpf_core_type_exists(struct btrfs_bio))
		return 0;
	end = READ_NUMBER(bio, bi_end_io);
	if (end != btrfs_end_io && end != btrfs_write_end_io)
		return 0;
	of = (void *)bio_address - bpf_core_field_offset(struct btrfs_bio, bio);
	ordered = (void *)of;
	if (is_btrfs_direct(of, walk)) {
		walk->range.bytes = READ(bio, bi_iter.bi_size);
		return 0;
	}
	if (!(walk->operation & 1) || !bpf_core_field_exists(of->inode) ||
	    !bpf_core_field_exists(ordered->ordered))
		return 0;
	inode = BPF_CORE_READ(of, inode);
	if (!inode)
		return 0;
	walk->range.inode = BPF_CORE_READ(inode, vfs_inode.i_ino);
	walk->range.device = BPF_CORE_READ(inode, vfs_inode.i_sb, s_dev);
	walk->range.offset = BPF_CORE_READ(of, file_offset);
	walk->range.bytes = BPF_CORE_READ(ordered, ordered, num_bytes);
	walk->range.at = 0;
	walk->compressed = 1;
	walk->left = 0;
	generation_next(walk->range.inode);
	return 0;
}

/*
 * The journal writes a copy of a block that the next transaction wants to
 * change. The copy is in pages of no file, but its buffer points to that of the
 * block. Returns 0 if the bio is not such a copy, else the flags of its record.
 * Global, see identity.h.
 */
__noinline int journal_range(__u64 bio_address, struct walk *walk)
{
	struct bio *bio = (struct bio *)bio_address;
	struct buffer_head *buffer = READ(bio, bi_private), *of;
	struct piece piece;
	__u64 page, data;

	if (!walk || (bpf_core_field_exists(buffer->b_end_io) &&
		      READ_NUMBER(buffer, b_end_io) != journal_end_io))
		return 0;
	of = READ(buffer, b_private);
	/* The journal's own blocks are no copies. */
	if (!of)
		return 0;
	page = READ_NUMBER(of, b_page);
	data = READ_NUMBER(of, b_data);
	/* A folio is aligned to its size. */
	page_locate(page, data & (((__u64)folio_pages((void *)page) << PAGE_SHIFT) - 1), &piece);
	walk->operation = READ(bio, bi_opf);
	walk->paged = 1;
	range_begin(walk, &piece, walk->left);
	walk->left = 0;
	return READ_NUMBER(buffer, b_page) == page ? CLEW_BIO_JOURNAL
						   : CLEW_BIO_JOURNAL | CLEW_BIO_FROZEN;
}

/* True if the journal may write the buffer that a bio is for. */
static __always_inline bool is_buffer(struct bio *bio)
{
	struct buffer_head *buffer = NULL;
	__u64 end = bpf_core_field_exists(buffer->b_end_io) ? buffer_end_io : journal_end_io;

	return page_cache && journal_end_io && end && (__u64)bio->bi_end_io == end;
}

static __always_inline void direct_range(struct context *context, struct bio *bio, __u64 offset,
					 struct walk *walk)
{
	struct inode *inode = direct_inode(bio);

	direct_name(context, inode);
	walk->range.inode = READ(inode, i_ino);
	walk->range.device = READ(inode, i_sb, s_dev);
	if (offset != CLEW_NO_OFFSET) {
		walk->range.offset = offset;
		walk->range.bytes = walk->left;
	}
	walk->left = 0;
}

/* Records where a loop device's request lies in the file behind the device. */
static __always_inline void backing_emit(struct context *context, struct request *request)
{
	struct loop_device *loop;
	struct clew_pages *record;
	struct inode *inode;

	if (!page_cache || !bpf_core_type_exists(struct loop_device) || !request->__data_len)
		return;
	loop = READ(request, q, disk, private_data);
	inode = BPF_CORE_READ(loop, lo_backing_file, f_inode);
	if (!inode)
		return;
	send_inode((__u64)inode, context->cpu, clock_ns());
	record = record_reserve(context->cpu_state, context->cpu, CLEW_KIND_PAGES, clock_ns(),
				sizeof(*record));
	if (!record)
		return;
	record->header.flags = CLEW_PAGES_BACKING;
	record->bio = (__u64)request;
	record->inode = READ(inode, i_ino);
	record->offset = BPF_CORE_READ(loop, lo_offset) + (request->__sector << 9);
	record->bytes = request->__data_len;
	record->at = 0;
	record->device = READ(inode, i_sb, s_dev);
	record->reserved = 0;
	record_submit(record);
}

/* sync_file_range has no tracepoint: it is recognised by the bios that it
 * submits. */
static __always_inline void sync_range_emit(struct context *context, struct bio *bio,
					    struct walk *walk)
{
	struct clew_writeback *record;

	if (!page_cache || !(bio->bi_opf & 1) || !walk->range.inode ||
	    context_call(context) != CALL_SYNC_FILE_RANGE + 1)
		return;
	record = record_reserve(context->cpu_state, context->cpu, CLEW_KIND_WRITEBACK, clock_ns(),
				sizeof(*record));
	if (!record)
		return;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->header.flags = CLEW_WRITEBACK_SYNC_ENTER;
	record->inode = walk->range.inode;
	record->device = walk->range.device;
	record->task = context_serial(context);
	record->sync = 1;
	record->call = CALL_SYNC_FILE_RANGE + 1;
	record_submit(record);
}

/* Reserves a record of a bio. `disk`: disk_of() it, which callers evaluate
 * first: pointers followed after many branches make verification slow. */
static __always_inline struct clew_bio *bio_reserve(struct context *context, struct bio *bio,
						    __u32 disk, __u8 event)
{
	struct clew_bio *record;

	record = record_reserve(context->cpu_state, context->cpu, CLEW_KIND_BIO, clock_ns(),
				sizeof(*record));
	if (!record)
		return NULL;
	record->header.flags = event;
	record->bio = (__u64)bio;
	record->sector = bio->bi_iter.bi_sector;
	record->bytes = bio->bi_iter.bi_size;
	record->operation = bio->bi_opf;
	record->device = disk;
	record->task = context_serial(context);
	record->from_sector = 0;
	record->inode = 0;
	record->index = 0;
	record->parent = 0;
	record->from_device = 0;
	record->file_device = 0;
	record->contiguous = 0;
	record->call = event == CLEW_BIO_QUEUE ? context_call(context) : 0;
	return record;
}

static __always_inline struct clew_request *
request_reserve(struct context *context, struct request *request, __u32 disk, __u8 event)
{
	struct clew_request *record = record_reserve(
		context->cpu_state, context->cpu, CLEW_KIND_REQUEST, clock_ns(), sizeof(*record));

	if (!record)
		return NULL;
	record->header.flags = event;
	record->request = (__u64)request;
	record->sector = request->__sector;
	record->bio = (__u64)READ_TRUSTED(request, bio);
	record->allocated = CLEW_CLOCK(request->start_time_ns);
	record->bytes = request->__data_len;
	record->device = disk;
	record->operation = request->cmd_flags;
	record->task = context_serial(context);
	record->error = 0;
	record->context = wake_context(context);
	record->bio_count = 0;
	record->queued = 0;
	record->issued = 0;
	record->inode = 0;
	record->offset = 0;
	record->file_device = 0;
	return record;
}

#endif

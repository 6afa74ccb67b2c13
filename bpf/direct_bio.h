/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bios of direct I/O: which file they are on, and what direct.h keeps of them.
 */
#ifndef CLEW_BPF_DIRECT_BIO_H
#define CLEW_BPF_DIRECT_BIO_H

#include "context.h"
#include "direct.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "state.h"
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: bi_end_io of iomap's direct I/O, and of the front part of a
 * split bio; 0 unknown. */
const volatile __u64 direct_end_io;
const volatile __u64 chain_end_io;

static __always_inline bool is_direct(struct bio *bio)
{
	return direct_end_io && (__u64)bio->bi_end_io == direct_end_io;
}

/* The file that a bio of direct I/O is on. */
static __always_inline struct inode *direct_inode(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;

	return (void *)READ_NUMBER(READ(io, iocb, ki_filp), f_inode);
}

/* The bio's offset in that file: it is the end of what the I/O has submitted so
 * far. */
static __always_inline __u64 direct_offset(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;
	__u64 submitted = READ(io, size), bytes = bio->bi_iter.bi_size;

	return submitted < bytes ? CLEW_NO_OFFSET : READ(io, iocb, ki_pos) + submitted - bytes;
}

/* True if a bio comes straight from a task's own file: a task submits it, and
 * its device has requests and is no loop device. */
static __always_inline bool is_plain(struct context *context, struct bio *bio)
{
	struct gendisk *disk = READ_TRUSTED(bio, bi_bdev, bd_disk);

	return context->level == LEVEL_TASK && !(context->task->flags & PF_KTHREAD) &&
	       disk->major != LOOP_MAJOR && !disk->fops->submit_bio;
}

/* A task need not wait for its direct I/O, so the file's name is sent here,
 * once for consecutive bios on one file. */
static __always_inline void direct_name(struct context *context, struct inode *inode)
{
	if (!page_cache || context->cpu_state->named == (__u64)inode)
		return;
	context->cpu_state->named = (__u64)inode;
	send_inode((__u64)inode, context->cpu, clock_ns());
}

/*
 * Keeps what is known of a queued bio of direct I/O. The slot is written in
 * place, as little is left of the stack. False: the bio needs a record of its
 * own.
 */
static __always_inline bool direct_queue(struct context *context, struct bio *bio)
{
	struct direct *direct;
	struct inode *inode;
	__u64 now, number;

	if (!is_direct(bio))
		return false;
	number = number_through(&context->cpu_state->queueing, bio);
	if (!is_plain(context, bio)) {
		direct_forget(number);
		return false;
	}
	inode = direct_inode(bio);
	direct_name(context, inode);
	now = clock_ns();
	direct = direct_claim(number, now);
	if (unlikely(!direct))
		return false;
	direct->queued = now;
	direct->issued = 0;
	direct->request = 0;
	direct->inode = READ(inode, i_ino);
	direct->offset = direct_offset(bio);
	direct->whole = 0;
	direct->file_device = READ(inode, i_sb, s_dev);
	direct->task = serial_of_current(context->cpu_state, context->task);
	direct_keep(direct, number);
	return true;
}

/* The slot of the bio at an address; `end` is its bi_end_io. NULL: it is
 * neither of direct I/O nor split from such a bio. */
static __always_inline struct direct *direct_at(__u64 bio, __u64 end)
{
	if (!end || (end != direct_end_io && end != chain_end_io))
		return NULL;
	return direct_find(bio,
			   end == chain_end_io ? READ_NUMBER((struct bio *)bio, bi_private) : 0);
}

/*
 * The slot of the bio of a request that has only one, if it is of direct I/O.
 */
static __always_inline struct direct *direct_of(struct request *request)
{
	struct bio *bio = READ_TRUSTED(request, bio);

	return bio && !bio->bi_next ? direct_at(READ_NUMBER(request, bio), (__u64)bio->bi_end_io)
				    : NULL;
}

/* Keeps the front part that a split sends ahead; the rest is not queued again.
 * False: the front part needs a record of its own. */
static __always_inline bool direct_split(struct bio *bio)
{
	__u64 whole = READ_NUMBER(bio, bi_private), number;
	struct direct *rest, *front;

	/* The front part could not be recognised later. */
	if (!chain_end_io)
		return false;
	number = number_of(bio);
	rest = direct_at(whole, READ_NUMBER((struct bio *)whole, bi_end_io));
	if (!rest) {
		direct_forget(number);
		return false;
	}
	front = direct_claim(number, clock_ns());
	if (front) {
		front->queued = rest->queued;
		front->issued = 0;
		front->request = 0;
		front->inode = rest->inode;
		front->offset = rest->offset;
		front->whole = whole;
		front->file_device = rest->file_device;
		front->task = rest->task;
		direct_keep(front, number);
	}
	if (rest->offset != CLEW_NO_OFFSET)
		rest->offset += bio->bi_iter.bi_size;
	return front != NULL;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bios that the I/O limit of a cgroup holds back. The task that submits such a
 * bio goes on, mostly to wait for it; later a worker queues the bio. No
 * tracepoint tells of the submission.
 *
 * Invariant: the worker's task is never taken for a bio's submitter.
 */
#ifndef CLEW_BPF_LIMIT_H
#define CLEW_BPF_LIMIT_H

#include "context.h"
#include "direct_bio.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define LIMIT_DEPTH    8
#define LIMIT_POLICIES 6
#define NO_RATE	       (~0ULL)
#define NO_COUNT       (~0U)

/* True if the current task is a worker that releases bios from I/O limits. */
static __always_inline bool releases_bios(const struct context *context)
{
	struct clew_task_state *state;

	if (likely(!(context->task->flags & PF_WQ_WORKER)) || context->level != LEVEL_TASK)
		return false;
	state = task_state(context->task);
	return state && (state->flags & CLEW_TASK_STATE_RELEASE);
}

/*
 * The state that the I/O limits keep for a group on a disk. Policies are registered in no
 * fixed order; only this one's data leads back to the disk's queue.
 */
static __always_inline struct throtl_grp *limits_of(struct blkcg_gq *group, __u64 queue)
{
	__u64 data = (__u64)group + bpf_core_field_offset(struct blkcg_gq, pd);
	int i;

	for (i = 0; i < LIMIT_POLICIES; i++) {
		__u64 at = read_number(data + i * sizeof(at));
		struct throtl_data *limits;

		if (!at)
			continue;
		limits = (void *)READ_NUMBER((struct throtl_grp *)at, td);
		if (limits && READ_NUMBER(limits, queue) == queue)
			return (void *)at;
	}
	return NULL;
}

/* True if a group has a limit of its own, not only groups above it. */
static __always_inline bool has_limit(struct throtl_grp *limits, bool write)
{
	__u64 rates = (__u64)limits + bpf_core_field_offset(struct throtl_grp, bps);
	__u64 counts = (__u64)limits + bpf_core_field_offset(struct throtl_grp, iops);
	__u64 rate = NO_RATE;
	__u32 count = NO_COUNT, place = write;

	/* The higher limit is the one that groups are set. */
	if (bpf_core_field_size(limits->bps) > 2 * sizeof(rate))
		place = write * 2 + 1;
	bpf_probe_read_kernel(&rate, sizeof(rate), (void *)(rates + place * sizeof(rate)));
	bpf_probe_read_kernel(&count, sizeof(count), (void *)(counts + place * sizeof(count)));
	return rate != NO_RATE || count != NO_COUNT;
}

struct limit_walk {
	__u64 group; /* its address */
	__u64 queue;
	__u64 found; /* the address of a limited cgroup, 0 none yet */
	__u32 write;
	__u32 several;
};

static long limit_step(__u32 turn, struct limit_walk *walk)
{
	struct blkcg_gq *group = (void *)walk->group;
	struct throtl_grp *limits;

	if (!group)
		return 1;
	limits = limits_of(group, walk->queue);
	if (limits && has_limit(limits, walk->write)) {
		struct blkcg *owner = (void *)READ_NUMBER(group, blkcg);

		if (walk->found) {
			walk->several = 1;
			return 1;
		}
		walk->found = READ_NUMBER(owner, css.cgroup);
	}
	walk->group = READ_NUMBER(group, parent);
	return 0;
}

/* The cgroup whose limit held back what `group` submitted, if only one can have
 * done so. Returns its address, 0 unknown. Global, see identity.h. */
__noinline __u64 limited_group(__u64 group_address, __u32 write)
{
	struct limit_walk walk = {.group = group_address, .write = write};

	if (!bpf_core_type_exists(struct throtl_grp))
		return 0;
	walk.queue = READ_NUMBER((struct blkcg_gq *)group_address, q);
	bpf_loop(LIMIT_DEPTH, limit_step, &walk, 0);
	return walk.several || walk.group ? 0 : walk.found;
}

/*
 * The global tid of the task that waits for the direct I/O of a bio; it has
 * submitted the bio. 0: nobody waits for it, or it is unknown.
 */
static __always_inline __u32 direct_waiter(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;
	struct task_struct *waiter;

	if (!is_direct(bio) || READ_NUMBER((struct kiocb *)READ(io, iocb), ki_complete))
		return 0;
	waiter = (void *)READ_NUMBER(io, submit.waiter);
	return waiter ? READ(waiter, pid) : 0;
}

/*
 * Emits the record of a bio that is released. A stacked device makes further
 * bios of it meanwhile, which no limit held back: the kernel keeps those in a
 * list of the task.
 */
static __always_inline void limit_emit(struct context *context, struct bio *bio)
{
	struct clew_limit *record;
	__u64 group, cgroup, limited, now;
	__u32 submitter;

	if (!bpf_core_field_exists(bio->bi_blkg) || READ_NUMBER(context->task, bio_list))
		return;
	group = READ_NUMBER(bio, bi_blkg);
	if (!group)
		return;
	now = clock_ns();
	submitter = direct_waiter(bio);
	cgroup = READ_NUMBER((struct blkcg *)READ_NUMBER((struct blkcg_gq *)group, blkcg),
			     css.cgroup);
	limited = limited_group(group, bio->bi_opf & 1);
	cgroup = cgroup ? send_cgroup(cgroup, context->cpu, now) : 0;
	limited = limited ? send_cgroup(limited, context->cpu, now) : 0;
	record = record_reserve(context->cpu_state, context->cpu, CLEW_KIND_LIMIT, now,
				sizeof(*record));
	if (!record)
		return;
	record->bio = (__u64)bio;
	record->cgroup = cgroup;
	record->limited = limited;
	record->submitter = submitter;
	record->reserved = 0;
	record_submit(record);
}

/* The offset in its file of a bio of direct I/O that is released, if the I/O has
 * only this bio: the others need not have been released in order. */
static __always_inline __u64 released_offset(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;

	return READ(io, size) == bio->bi_iter.bi_size ? READ(io, iocb, ki_pos) : CLEW_NO_OFFSET;
}

#endif

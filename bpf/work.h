/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work items: who queued one, kept by its address until a worker begins it, then
 * told in one record. What a worker does and wakes afterwards is that item's,
 * until its next.
 */
#ifndef CLEW_BPF_WORK_H
#define CLEW_BPF_WORK_H

#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

const volatile __u64 work_barrier; /* the function of a flusher's mark in the queue */

#define WORK_PENDING                                                                               \
	1 /* in work_struct.data: it is queued, or about to be, and no worker has taken it yet */

struct queued {
	__u64 time;
	__u32 task;
	__u8 context;
	__u8 reserved[3];
	struct clew_cause cause;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64); /* address of the item */
	__type(value, struct queued);
} clew_queued SEC(".maps");

/* Whether a worker is one that is kept for when there is no memory for others. */
static __always_inline bool is_rescuer(struct task_struct *task)
{
	struct kthread *thread = task->worker_private;
	struct worker *worker = (task->flags & PF_WQ_WORKER) ? READ(thread, data) : NULL;

	return worker && READ(worker, rescue_wq);
}

#endif

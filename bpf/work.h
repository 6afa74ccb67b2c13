/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work items: which task queued one, kept by the item's address until a worker
 * begins it. Then one record says both. Everything that the worker does and
 * wakes until its next item is due to this one.
 */
#ifndef CLEW_BPF_WORK_H
#define CLEW_BPF_WORK_H

#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

const volatile __u64 work_barrier; /* Fixed at load: the function of the barrier with which a flush
				      waits; 0 unknown. */

/* Fixed at load: the function that queues the bios that I/O limits held back; 0 unknown. */
const volatile __u64 work_limits;

/* In work_struct.data: the item is queued, or about to be, and no worker has
 * taken it yet. */
#define WORK_PENDING 1

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

/* Notes whether the item that a worker begins releases bios from I/O limits. */
static __always_inline void limits_worker(struct clew_task_state *state, __u64 function)
{
	if (unlikely(work_limits && function == work_limits))
		state->flags |= CLEW_TASK_STATE_RELEASE;
	else if (unlikely(state->flags & CLEW_TASK_STATE_RELEASE))
		state->flags &= ~CLEW_TASK_STATE_RELEASE;
}

/* True if a worker is a rescuer, which runs when there is no memory for another
 * worker. */
static __always_inline bool is_rescuer(struct task_struct *task)
{
	struct kthread *thread = task->worker_private;
	struct worker *worker = (task->flags & PF_WQ_WORKER) ? READ(thread, data) : NULL;

	return worker && READ(worker, rescue_wq);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work items: who queued one, kept by its address until a worker begins it, then
 * told in one record. What a worker does and wakes afterwards is that item's,
 * until its next.
 */
#ifndef CLEW_WORK_H
#define CLEW_WORK_H

#include "timer.h"

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

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(clew_workqueue_queue_work, int wanted_cpu, struct pool_workqueue *pool,
	     struct work_struct *work)
{
	struct queued queued = {};
	__u64 key = (__u64)work;
	struct place place;

	if (!enabled || !place_here(&place))
		return 0;
	queued.time = clock_ns();
	queued.context = place_context(&place);
	if (place.level == LEVEL_TASK) {
		struct clew_task_state *state = task_state(place.task);

		queued.task = serial_of_current(place.cpu_state, place.task);
		if (state && state->request) {
			queued.cause.kind = CLEW_CAUSE_REQUEST;
			queued.cause.object = state->request;
		}
	} else if (place.level <= LEVEL_SOFT) {
		queued.context = cause_of(place.cpu_state, place.level, &queued.cause);
		cause_name(&queued.cause, place.cpu, queued.time);
	}
	if (bpf_map_update_elem(&clew_queued, &key, &queued, BPF_ANY)) {
		count_atomic(&place.cpu_state->counts[CLEW_KIND_WORK].seen);
		count_atomic(&place.cpu_state->counts[CLEW_KIND_WORK].missed);
	}
	return 0;
}

/* Whether a worker is one that is kept for when there is no memory for others. */
static __always_inline bool is_rescuer(struct task_struct *task)
{
	struct kthread *thread = task->worker_private;
	struct worker *worker = (task->flags & PF_WQ_WORKER) ? READ(thread, data) : NULL;

	return worker && READ(worker, rescue_wq);
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(clew_workqueue_execute_start, struct work_struct *work)
{
	__u64 key = (__u64)work, function;
	struct clew_task_state *state;
	struct clew_work *record;
	struct queued *queued;
	struct place place;
	__u64 now;

	/* One in a softirq has no worker: the task there is a bystander. */
	if (!enabled || !place_here(&place) || place.level != LEVEL_TASK)
		return 0;
	now = clock_ns();
	state = task_state(place.task);
	/* What it completed in its last item is over; not every kernel tells that. */
	if (state)
		state->request = 0;
	function = (__u64)work->func;
	record = record_reserve(place.cpu_state, place.cpu, CLEW_KIND_WORK, now, sizeof(*record));
	if (!record)
		return 0;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->work = key;
	record->function = function;
	record->worker = serial_of_current(place.cpu_state, place.task);
	queued = bpf_map_lookup_elem(&clew_queued, &key);
	if (work->data.counter & WORK_PENDING) {
		/* Queued anew since the worker took it: what is known may be of that, and is kept
		 * for the run that comes then. */
		record->header.flags = CLEW_WORK_UNSEEN;
	} else if (queued) {
		record->queued = queued->time;
		record->queuer = queued->task;
		record->context = queued->context;
		record->cause = queued->cause;
		bpf_map_delete_elem(&clew_queued, &key);
	} else if (work_barrier && function == work_barrier) {
		struct wq_barrier *barrier =
			(void *)work - bpf_core_field_offset(struct wq_barrier, work);

		/* It is put into the queue without a word; the flusher is in it. */
		record->header.flags = CLEW_WORK_BARRIER | CLEW_WORK_UNSEEN;
		record->cause.object = READ(barrier, task, pid);
	} else {
		record->header.flags = CLEW_WORK_UNSEEN;
	}
	if (is_rescuer(place.task))
		record->header.flags |= CLEW_WORK_RESCUER;
	record_submit(record);
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs at work items that are queued, and that a worker begins. */
#include "work.h"
#include "context.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(clew_workqueue_queue_work, int wanted_cpu, struct pool_workqueue *pool,
	     struct work_struct *work)
{
	struct queued queued = {};
	__u64 key = (__u64)work;
	struct context context;

	if (!enabled || !context_here(&context))
		return 0;
	queued.time = clock_ns();
	queued.context = wake_context(&context);
	if (context.level == LEVEL_TASK) {
		struct clew_task_state *state = task_state(context.task);

		queued.task = serial_of_current(context.cpu_state, context.task);
		if (state && state->completes) {
			queued.cause.kind = CLEW_CAUSE_REQUEST;
			queued.cause.object = state->request;
		}
	} else if (context.level <= LEVEL_SOFT) {
		queued.context = cause_of(context.cpu_state, context.level, &queued.cause);
		cause_name(&queued.cause, context.cpu, queued.time);
	}
	if (bpf_map_update_elem(&clew_queued, &key, &queued, BPF_ANY)) {
		count_atomic(&context.cpu_state->counts[CLEW_KIND_WORK].seen);
		count_atomic(&context.cpu_state->counts[CLEW_KIND_WORK].missed);
	}
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(clew_workqueue_execute_start, struct work_struct *work)
{
	__u64 key = (__u64)work, function;
	struct clew_task_state *state;
	struct clew_work *record;
	struct queued *queued;
	struct context context;
	__u64 now;

	/* An item that a softirq executes has no worker: the current task is
	 * not involved. */
	if (!enabled || !context_here(&context) || context.level != LEVEL_TASK)
		return 0;
	now = clock_ns();
	state = task_state(context.task);
	/* The request that the worker's last item completed is over. Not every
	 * kernel reports that. */
	function = (__u64)work->func;
	if (state) {
		state->completes = 0;
		limits_worker(state, function);
	}
	record = record_reserve(context.cpu_state, context.cpu, CLEW_KIND_WORK, now,
				sizeof(*record));
	if (!record)
		return 0;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->work = key;
	record->function = function;
	record->worker = serial_of_current(context.cpu_state, context.task);
	queued = bpf_map_lookup_elem(&clew_queued, &key);
	if (work->data.counter & WORK_PENDING) {
		/*
		 * The item was queued again after the worker took it: what is
		 * known may be of that queueing, and is kept for the next run.
		 */
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

		/* A barrier is queued without a tracepoint. It points to the
		 * flushing task. */
		record->header.flags = CLEW_WORK_BARRIER | CLEW_WORK_UNSEEN;
		record->cause.flusher = READ(barrier, task, pid);
	} else {
		record->header.flags = CLEW_WORK_UNSEEN;
	}
	if (is_rescuer(context.task))
		record->header.flags |= CLEW_WORK_RESCUER;
	record_submit(record);
	return 0;
}

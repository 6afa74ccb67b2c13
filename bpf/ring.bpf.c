/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs of io_uring: who submitted a request, and when it was completed. The
 * ring and the request's user_data identify it.
 */
#include "ring.h"
#include "context.h"
#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

static __always_inline void ring_event(struct io_kiocb *request, __u64 ring, __u64 user_data,
				       __u8 event)
{
	struct clew_ring *record;
	struct context context;

	if (!enabled || !context_here(&context))
		return;
	record = record_reserve(context.cpu_state, context.cpu, CLEW_KIND_RING, clock_ns(),
				sizeof(*record));
	if (!record)
		return;
	record->header.flags = event;
	record->ring = ring;
	record->user_data = user_data;
	record->request = (__u64)request;
	record->task = context_serial(&context);
	record->operation = request ? READ(request, opcode) : 0;
	record_submit(record);
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(clew_io_uring_submit_req, struct io_kiocb *request)
{
	ring_event(request, (__u64)request->ctx, request->cqe.user_data, CLEW_RING_SUBMIT);
	return 0;
}

/* Its name before 6.3. */
SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(clew_io_uring_submit_sqe, struct io_kiocb *request)
{
	ring_event(request, (__u64)request->ctx, request->cqe.user_data, CLEW_RING_SUBMIT);
	return 0;
}

SEC("?tp_btf/io_uring_queue_async_work")
int BPF_PROG(clew_io_uring_queue_async_work, struct io_kiocb *request)
{
	__u64 key = (__u64)request;
	struct context context;
	__u32 serial;

	ring_event(request, (__u64)request->ctx, request->cqe.user_data, CLEW_RING_WORKER);
	/* A worker that passes a request on has not submitted it. */
	if (!enabled || !context_here(&context) || (context.task->flags & PF_IO_WORKER))
		return 0;
	serial = context_serial(&context);
	bpf_map_update_elem(&clew_submitters, &key, &serial, BPF_ANY);
	return 0;
}

SEC("?tp_btf/io_uring_complete")
int BPF_PROG(clew_io_uring_complete, void *ring, void *request, __u64 user_data)
{
	ring_event(request, (__u64)ring, user_data, CLEW_RING_COMPLETE);
	return 0;
}

/* Newer kernels pass the entry instead of its fields. */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(clew_io_uring_complete_entry, void *ring, void *request, struct io_uring_cqe *entry)
{
	ring_event(request, (__u64)ring, READ(entry, user_data), CLEW_RING_COMPLETE);
	return 0;
}

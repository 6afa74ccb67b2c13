/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* io_uring: who submitted the request that a worker executes. */
#ifndef CLEW_BPF_RING_H
#define CLEW_BPF_RING_H

#include "kernel.h"
#include "kernel_fs.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <linux/types.h>

/* The task that submitted the request that a worker executes, by the address of the kernel's
 * request. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u32);
} clew_submitters SEC(".maps");

/* The task for which a worker of io_uring acts: the submitter of its request,
 * or the worker if that is unknown. */
static __noinline __u32 submitter_of(struct task_struct *task, __u32 serial)
{
	struct io_worker *worker = task->worker_private;
	struct io_wq_work *work;
	__u64 request;
	__u32 *known;

	if (!worker || !bpf_core_type_exists(struct io_worker))
		return serial;
	work = READ(worker, cur_work);
	if (!work)
		return serial;
	request = (__u64)work - bpf_core_field_offset(struct io_kiocb___work, work);
	known = bpf_map_lookup_elem(&clew_submitters, &request);
	return known ? *known : serial;
}

#endif

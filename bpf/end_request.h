/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waiters for requests to a FUSE daemon: the tasks in the queues of requests
 * behind an open /dev/fuse. The waiter's address is the number of such an end.
 *
 * The queues are read without their locks. A finding only counts if the
 * task at that address sleeps for a request, which user space has asked for.
 */
#ifndef CLEW_BPF_END_REQUEST_H
#define CLEW_BPF_END_REQUEST_H

#include "end.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <linux/types.h>
#include <stdbool.h>

#define REQUEST_LISTS	256  /* of what the daemon has read and not answered: a hash table */
#define REQUEST_STEPS	2048 /* lists and requests that are looked at, at most */
#define REQUEST_WAITERS 64

static __u64 request_waiters[REQUEST_WAITERS];
static __u32 request_count;

/* Addresses alone: the verifier would try every value of a counter. */
struct request_walk {
	__u64 head, node; /* the list here and its next request */
	__u64 lists, lists_end;
};

static __always_inline bool knows_requests(void)
{
	return bpf_core_type_exists(struct fuse_req) && bpf_core_type_exists(struct fuse_conn) &&
	       bpf_core_type_exists(struct fuse_dev);
}

/* A request has one waiter, or none if nobody waits for it. */
static __always_inline void add_waiter(__u64 node)
{
	struct fuse_req *request = (void *)node - bpf_core_field_offset(struct fuse_req, list);
	__u64 head = (__u64)request + bpf_core_field_offset(struct fuse_req, waitq.head);
	__u64 entry = read_number(head);
	struct wait_queue_entry *wait;

	if (!entry || entry == head || request_count >= REQUEST_WAITERS)
		return;
	wait = (void *)entry - bpf_core_field_offset(struct wait_queue_entry, entry);
	request_waiters[request_count++ & (REQUEST_WAITERS - 1)] = READ_NUMBER(wait, private);
}

static int request_step(__u32 index, struct request_walk *walk)
{
	if (walk->node && walk->node != walk->head) {
		add_waiter(walk->node);
		walk->node = read_number(walk->node);
		return 0;
	}
	if (walk->lists == walk->lists_end)
		return 1;
	walk->head = walk->lists;
	walk->lists += sizeof(struct list_head);
	walk->node = read_number(walk->head);
	return 0;
}

/* The address of the list of what the daemon has not read yet; 0 none. */
static __always_inline __u64 pending_requests(struct fuse_dev *device)
{
	struct fuse_dev___chan *by_channel = (void *)device;
	__u64 of;

	if (bpf_core_field_exists(by_channel->chan)) {
		of = (__u64)BPF_CORE_READ(by_channel, chan);
		return of ? of + bpf_core_field_offset(struct fuse_chan, iq.pending) : 0;
	}
	of = (__u64)connection_of(device);
	return of ? of + bpf_core_field_offset(struct fuse_conn, iq.pending) : 0;
}

/* Finds the waiters of what the daemon has not read yet, and of what was read
 * by this open file and is not answered. */
static __always_inline void find_request_waiters(struct fuse_dev *device)
{
	struct request_walk walk = {.head = pending_requests(device)};

	request_count = 0;
	if (!walk.head)
		return;
	walk.node = read_number(walk.head);
	walk.lists = walk.lists_end = READ_NUMBER(device, pq.processing);
	if (walk.lists)
		walk.lists_end += REQUEST_LISTS * sizeof(struct list_head);
	bpf_loop(REQUEST_STEPS, request_step, &walk, 0);
}

#endif

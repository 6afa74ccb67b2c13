/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of io_uring by its system calls alone. One operation is prepared, submitted
 * and taken at a time, by one task each.
 */
#ifndef WORKLOAD_RING_H
#define WORKLOAD_RING_H

#include <linux/io_uring.h>

#include "workload.h"

struct ring {
	int fd;
	unsigned *submit_tail, *submit_mask, *submit_array, *complete_head, *complete_tail,
		*complete_mask;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *completions;
};

/* True if there is one now; errno says why not. `flags`: IORING_SETUP_*. */
WL_FINE bool ring_open(struct ring *ring, unsigned flags)
{
	struct io_uring_params parameters = {.flags = flags};
	char *submit, *complete;

	ring->fd = syscall(SYS_io_uring_setup, 8, &parameters);
	if (ring->fd < 0)
		return false;
	submit = mmap(NULL, parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned),
		      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
		      IORING_OFF_SQ_RING);
	complete = mmap(
		NULL, parameters.cq_off.cqes + parameters.cq_entries * sizeof(*ring->completions),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_CQ_RING);
	ring->entries =
		mmap(NULL, parameters.sq_entries * sizeof(*ring->entries), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
	if (submit == MAP_FAILED || complete == MAP_FAILED || ring->entries == MAP_FAILED)
		wl_die("mmap of a ring: %s", strerror(errno));
	ring->submit_tail = (unsigned *)(submit + parameters.sq_off.tail);
	ring->submit_mask = (unsigned *)(submit + parameters.sq_off.ring_mask);
	ring->submit_array = (unsigned *)(submit + parameters.sq_off.array);
	ring->complete_head = (unsigned *)(complete + parameters.cq_off.head);
	ring->complete_tail = (unsigned *)(complete + parameters.cq_off.tail);
	ring->complete_mask = (unsigned *)(complete + parameters.cq_off.ring_mask);
	ring->completions = (struct io_uring_cqe *)(complete + parameters.cq_off.cqes);
	return true;
}

WL_FINE void ring_prepare(struct ring *ring, unsigned char operation, int fd, uint64_t offset,
			  void *buffer, unsigned length, unsigned char flags, uint64_t data)
{
	unsigned tail = *ring->submit_tail, index = tail & *ring->submit_mask;
	struct io_uring_sqe *entry = &ring->entries[index];

	memset(entry, 0, sizeof(*entry));
	entry->opcode = operation;
	entry->flags = flags;
	entry->fd = fd;
	entry->off = offset;
	entry->addr = (unsigned long)buffer;
	entry->len = length;
	entry->user_data = data;
	ring->submit_array[index] = index;
	__atomic_store_n(ring->submit_tail, tail + 1, __ATOMIC_RELEASE);
}

WL_FINE void ring_enter(const struct ring *ring, unsigned submitted, unsigned awaited)
{
	WL_CHECK(syscall(SYS_io_uring_enter, ring->fd, submitted, awaited,
			 awaited ? IORING_ENTER_GETEVENTS : 0, NULL, 0));
}

/* True if an operation is complete. */
WL_FINE bool ring_has_one(const struct ring *ring)
{
	return *ring->complete_head != __atomic_load_n(ring->complete_tail, __ATOMIC_ACQUIRE);
}

WL_FINE void ring_take(struct ring *ring, uint64_t data)
{
	unsigned head = *ring->complete_head;
	struct io_uring_cqe *entry = &ring->completions[head & *ring->complete_mask];

	if (!ring_has_one(ring))
		wl_die("nothing completed");
	if (entry->user_data != data || entry->res < 0)
		wl_die("completion %llu: result %d", (unsigned long long)entry->user_data,
		       entry->res);
	__atomic_store_n(ring->complete_head, head + 1, __ATOMIC_RELEASE);
}

#endif

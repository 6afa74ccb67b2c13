/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of stacks for unit tests. */
#ifndef CLEW_TEST_STACK_RECORDS_H
#define CLEW_TEST_STACK_RECORDS_H

#include "synthetic.h"

/* A record that bytes follow. */
static inline void put_tail(struct synthetic *s, void *head, size_t size, const void *tail,
			    size_t length)
{
	char bytes[512];

	assert_true(size + length <= sizeof(bytes));
	memcpy(bytes, head, size);
	memcpy(bytes + size, tail, length);
	synthetic_put(s, bytes, size + length);
}

/* All end at the root. */
static inline void put_stack(struct synthetic *s, uint64_t hash, unsigned flags,
			     const uint64_t *frames, size_t count)
{
	struct clew_stack stack = {
		.header = {.time = START, .kind = CLEW_KIND_STACK, .flags = (__u8)flags},
		.hash = hash,
		.size = (__u16)(count * sizeof(*frames)),
		.end = CLEW_STACK_ROOT,
	};

	put_tail(s, &stack, sizeof(stack), frames, count * sizeof(*frames));
}

/* Stacks of the sleep that ends at `at`, by hash; 0: there is none. */
static inline void put_waited(struct synthetic *s, uint64_t at, uint32_t task, uint64_t user,
			      uint64_t kernel, unsigned flags)
{
	struct clew_task_stacks waited = {
		.header = {.time = at, .kind = CLEW_KIND_WAITED, .flags = (__u8)flags},
		.task = task,
		.user = user,
		.kernel = kernel,
		.end = CLEW_STACK_UNREAD,
	};

	synthetic_put(s, &waited, sizeof(waited));
}

#endif

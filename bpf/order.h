/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order in which other CPUs see stores. */
#ifndef CLEW_BPF_ORDER_H
#define CLEW_BPF_ORDER_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/*
 * Other CPUs see what is stored before this before what is stored after it; loads keep their order,
 * too. x86-64 keeps both, so that only the compiler has to. On arm64 an exchange is a full barrier.
 */
static __always_inline void keep_order(void)
{
#if defined(__TARGET_ARCH_arm64)
	__u64 word = 0;

	__sync_lock_test_and_set(&word, 1);
#else
	barrier();
#endif
}

#endif

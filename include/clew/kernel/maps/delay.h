/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words that the programs of bpf/delay/ share with user space. */
#ifndef CLEW_KERNEL_MAPS_DELAY_H
#define CLEW_KERNEL_MAPS_DELAY_H

#include <linux/types.h>

#define CLEW_DELAY_BLOCKS 1024	  /* at most */
#define CLEW_DELAY_MOST	  2000000 /* ns a call */

/* A block of time, in which each call takes that much longer, or none does. */
struct clew_delay_block {
	__u64 start;	      /* ns, CLOCK_MONOTONIC */
	__u64 delay;	      /* ns a call */
	__u64 calls;	      /* of the function that is delayed */
	__u64 delayed, added; /* calls that were, and the ns that this took in truth */
	__u64 left_out;	      /* calls for which the budget had nothing left */
	__u64 real_time;      /* calls of threads of a real-time policy, which are left alone */
	__u64 operations, ns; /* those that began and ended in the block, and their time */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What unwind_compare's program in the kernel sends. */
#ifndef CLEW_TESTS_UNWIND_COMPARE_H
#define CLEW_TESTS_UNWIND_COMPARE_H

#include <clew/kernel/maps/unwind.h>

#define COPIED	     32768 /* bytes of a stack that are sent */
#define COPIED_PIECE 1024

enum message_kind { MESSAGE_STACK, MESSAGE_PAIR };

struct stack_message {
	__u32 kind;
	__u32 pid, tid;
	__u32 count; /* frames */
	__u32 end;   /* enum clew_stack_end */
	__u32 copied;
	__u64 registers[34]; /* the first of struct pt_regs, which may be fewer */
	__u64 frames[CLEW_STACK_MOST + 1];
	__u8 stack[COPIED];
};

/* The same stack at a task's switch-out and at its next switch-in. */
struct pair_message {
	__u32 kind;
	__u32 out_count, in_count;
	__u32 out_end, in_end;
	__u32 equal;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The way from a frame to its caller's on x86-64. Included by unwind.h alone. */
#ifndef CLEW_BPF_UNWIND_X86_H
#define CLEW_BPF_UNWIND_X86_H

#include "arch.h"
#include "state.h"
#include "unwind_walk.h"
#include <clew/kernel/maps/unwind.h>
#include <linux/types.h>
#include <stdbool.h>

/* The registers that the kernel puts on the stack for a signal's handler lie so
 * far above the frame of the code that returns from it (struct rt_sigframe). */
#define SIGNAL_BP 120
#define SIGNAL_SP 160
#define SIGNAL_IP 168

/* Code that makes and leaves a frame: `ret`, `ret` with a number, and both ways to
 * write `push rbp; mov rbp, rsp`. */
#define CODE_RET	 0xc3
#define CODE_RET_AND_POP 0xc2
#define CODE_PROLOGUE	 0xe5894855
#define CODE_PROLOGUE_2	 0xec8b4855

static __always_inline bool is_prologue(__u32 code)
{
	return code == CODE_PROLOGUE || code == CODE_PROLOGUE_2;
}

/*
 * Where a function without a table begins and ends, the frame pointer is still or
 * again its caller's, and the walk by it would leave that caller out. Where the
 * address to return to is instead; 0: the function has its frame.
 */
__noinline __u64 frameless_return(struct window *window, __u64 ip, __u64 sp, __u64 bp)
{
	__u64 shift = (ip - 1 & 7) * 8, first = ip - 1 & ~7ull, code;
	__u32 next;

	if (!window)
		return 0;
	/* The byte before the instruction, and 7 of it. Either word may be on a page that
	 * is not there, and is 0 then. */
	code = window_word(window, first) >> shift;
	if (shift)
		code |= window_word(window, first + 8) << (64 - shift);
	next = code >> 8;
	if ((next & 0xff) == CODE_RET || (next & 0xff) == CODE_RET_AND_POP || is_prologue(next))
		return sp;
	return is_prologue(code) && window_word(window, sp) == bp ? sp + 8 : 0;
}

static __always_inline long step_by_pointer(struct stack_walk *walk)
{
	__u64 at = walk->bp, bp, ip;

	if (walk->exact) {
		at = frameless_return(&walk->window, walk->ip, walk->sp, walk->bp);
		if (at) {
			if (!stack_word(walk, at, &ip))
				return walk_over(walk, CLEW_STACK_UNREAD);
			walk->by_pointers = always_zero + 1;
			return walk_to(walk, ip, at + 8, walk->bp);
		}
		at = walk->bp;
	}
	if (at < walk->sp || (at & 7) || at - walk->sp > FRAME_POINTER_REACH ||
	    !stack_word(walk, at, &bp) || !stack_word(walk, at + 8, &ip))
		return walk_over(walk, CLEW_STACK_NO_RULE);
	walk->by_pointers = always_zero + 1;
	return walk_to(walk, ip, at + 16, bp);
}

static __always_inline long step_by_signal(struct stack_walk *walk)
{
	__u64 bp, sp, ip;

	if (!stack_word(walk, walk->sp + SIGNAL_BP, &bp) ||
	    !stack_word(walk, walk->sp + SIGNAL_SP, &sp) ||
	    !stack_word(walk, walk->sp + SIGNAL_IP, &ip))
		return walk_over(walk, CLEW_STACK_UNREAD);
	walk_to(walk, ip, sp, bp);
	walk->exact = always_zero + 1;
	return 0;
}

static __always_inline long step_by_rule(struct stack_walk *walk, __u32 rule, bool first)
{
	__u32 kind = CLEW_UNWIND_RULE_KIND(rule), saved = CLEW_UNWIND_RULE_SAVED(rule);
	__s64 offset = (__s64)CLEW_UNWIND_RULE_OFFSET(rule) * 8;
	__u64 cfa, bp = walk->bp, ip;

	if (kind == CLEW_UNWIND_RSP) {
		cfa = walk->sp + offset;
	} else if (kind == CLEW_UNWIND_RBP) {
		cfa = walk->bp + offset;
	} else if (kind == CLEW_UNWIND_PLT) {
		cfa = walk->sp + ((walk->ip & 15) >= (__u64)offset / 8 ? 16 : 8);
	} else {
		if (!stack_word(walk, (kind == CLEW_UNWIND_AT_RBP ? walk->bp : walk->sp) + offset,
				&cfa))
			return walk_over(walk, CLEW_STACK_UNREAD);
		cfa += CLEW_UNWIND_RULE_ADD(rule) * 8;
	}
	if (cfa <= walk->sp && !first)
		return walk_over(walk, CLEW_STACK_LOOP);
	if (saved == CLEW_UNWIND_SAVED_AT_RBP ? !stack_word(walk, walk->bp, &bp)
					      : saved && !stack_word(walk, cfa - saved * 8, &bp))
		return walk_over(walk, CLEW_STACK_UNREAD);
	if (!stack_word(walk, cfa - 8, &ip))
		return walk_over(walk, CLEW_STACK_UNREAD);
	return walk_to(walk, ip, cfa, bp);
}

static __always_inline void walk_from(struct stack_walk *walk, struct pt_regs *registers)
{
	walk->ip = registers->ip;
	walk->sp = registers->sp;
	walk->bp = registers->bp;
	walk->exact = always_zero + 1;
}

#endif

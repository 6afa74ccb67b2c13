/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way from a frame to its caller's on arm64. Included by unwind.h alone.
 *
 * A function that calls none may have no frame at all: its caller's address is in x30. That
 * register is known of a task's first frame, and of one that a signal interrupted.
 */
#ifndef CLEW_BPF_UNWIND_ARM64_H
#define CLEW_BPF_UNWIND_ARM64_H

#include "arch.h"
#include "state.h"
#include "unwind_walk.h"
#include <clew/kernel/maps/unwind.h>
#include <linux/types.h>
#include <stdbool.h>

/* The registers that the kernel puts on the stack for a signal's handler lie so far above the frame
 * of the code that returns from it (struct rt_sigframe). */
#define SIGNAL_FRAME 544
#define SIGNAL_LINK  552
#define SIGNAL_SP    560
#define SIGNAL_PC    568

/* A signed address has its signature above the bits of addresses. */
#define ADDRESS_MASK ((1ull << 48) - 1)

/* Code that makes and leaves a frame. */
#define CODE_RET	 0xd65f03c0 /* ret */
#define CODE_SIGN	 0xd503233f /* paciasp */
#define CODE_LANDING	 0xd503245f /* bti c */
#define CODE_PUSH	 0xa9807bfd /* stp x29, x30, [sp, #..]! */
#define CODE_PUSH_MASK	 0xffc07fff
#define CODE_FRAME	 0x910003fd /* add x29, sp, #.. */
#define CODE_FRAME_MASK	 0xffc003ff
#define CODE_FRAME_SHIFT 10
#define CODE_STUB	 0xd61f0220 /* br x17, the end of a stub for another file's function */
#define STUB_MOST	 4	    /* instructions */

static __always_inline __u32 code_at(struct stack_walk *walk, __u64 address)
{
	__u64 word = window_word(&walk->window, address & ~7ull);

	return address & 4 ? word >> 32 : word;
}

/* True if the code has not begun a frame or has left it: x29 is the caller's. */
static __always_inline bool has_no_frame(struct stack_walk *walk, __u32 code)
{
	if (code == CODE_RET || code == CODE_SIGN || code == CODE_LANDING ||
	    (code & CODE_PUSH_MASK) == CODE_PUSH)
		return true;
	for (int i = 0; i < STUB_MOST; i++)
		if (code_at(walk, walk->ip + 4 * i) == CODE_STUB)
			return true;
	return false;
}

static __always_inline long to_pair(struct stack_walk *walk, __u64 at, __u64 cfa)
{
	__u64 frame, ip;

	if (!stack_word(walk, at, &frame) || !stack_word(walk, at + 8, &ip))
		return walk_over(walk, CLEW_STACK_UNREAD);
	return walk_to(walk, ip & ADDRESS_MASK, cfa, frame);
}

static __always_inline long step_by_pointer(struct stack_walk *walk)
{
	__u64 at = walk->bp;

	if (walk->exact) {
		__u32 code = code_at(walk, walk->ip);

		walk->by_pointers = always_zero + 1;
		if (has_no_frame(walk, code))
			return walk_to(walk, walk->link & ADDRESS_MASK, walk->sp, walk->bp);
		/* Both are stored, and x29 does not lead there yet. */
		if ((code & CODE_FRAME_MASK) == CODE_FRAME) {
			at = walk->sp + (code >> CODE_FRAME_SHIFT & 0xfff);
			return to_pair(walk, at, at + 16);
		}
	}
	if (at < walk->sp || (at & 7) || at - walk->sp > FRAME_POINTER_REACH)
		return walk_over(walk, CLEW_STACK_NO_RULE);
	walk->by_pointers = always_zero + 1;
	return to_pair(walk, at, at + 16);
}

static __always_inline long step_by_signal(struct stack_walk *walk)
{
	__u64 bp, sp, ip, link;

	if (!stack_word(walk, walk->sp + SIGNAL_FRAME, &bp) ||
	    !stack_word(walk, walk->sp + SIGNAL_LINK, &link) ||
	    !stack_word(walk, walk->sp + SIGNAL_SP, &sp) ||
	    !stack_word(walk, walk->sp + SIGNAL_PC, &ip))
		return walk_over(walk, CLEW_STACK_UNREAD);
	walk_to(walk, ip, sp, bp);
	walk->link = link;
	walk->exact = always_zero + 1;
	return 0;
}

static __always_inline long step_by_rule(struct stack_walk *walk, __u32 rule, bool first)
{
	__u64 saved = CLEW_UNWIND_RULE_SAVED(rule) * 8, bp = walk->bp, cfa, base, ip;
	__s64 offset = (__s64)CLEW_UNWIND_RULE_OFFSET(rule) * 8;

	base = CLEW_UNWIND_RULE_KIND(rule) == CLEW_UNWIND_RBP ? walk->bp : walk->sp;
	cfa = base + offset;
	if (cfa < walk->sp || (cfa == walk->sp && !walk->exact))
		return walk_over(walk, CLEW_STACK_LOOP);
	switch (CLEW_UNWIND_RULE_ADD(rule)) {
	case CLEW_UNWIND_IN_LINK:
		if (!walk->exact)
			return walk_over(walk, CLEW_STACK_NO_RULE);
		ip = walk->link;
		break;
	case CLEW_UNWIND_PAIR_BELOW_CFA:
		return to_pair(walk, cfa - saved, cfa);
	case CLEW_UNWIND_PAIR_ON_BASE:
		return to_pair(walk, base + saved, cfa);
	case CLEW_UNWIND_LINK_BELOW_CFA:
		if (!stack_word(walk, cfa - saved, &ip))
			return walk_over(walk, CLEW_STACK_UNREAD);
		break;
	default:
		if (!stack_word(walk, base + saved, &ip))
			return walk_over(walk, CLEW_STACK_UNREAD);
	}
	return walk_to(walk, ip & ADDRESS_MASK, cfa, bp);
}

static __always_inline void walk_from(struct stack_walk *walk, struct pt_regs *registers)
{
	walk->ip = registers->pc;
	walk->sp = registers->sp;
	walk->bp = registers->regs[REGISTER_FRAME];
	walk->link = registers->regs[REGISTER_LINK];
	walk->exact = always_zero + 1;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks a task's user stack by tables made from its files' unwind information,
 * without frame pointers. Code without a table, as a JIT compiler makes it, is
 * walked by frame pointers where these pass for such.
 *
 * Invariants: a frame's address lies in an executable mapping, or it is none.
 * Each caller's frame lies above, except for the first. The walk says how it
 * ended.
 */
#ifndef CLEW_BPF_UNWIND_H
#define CLEW_BPF_UNWIND_H

#include "arch.h"
#include "foreign.h"
#include "kernel.h"
#include "mapping.h"
#include "mix.h"
#include "read.h"
#include "unwind_rule.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps/unwind.h>
#include <linux/types.h>
#include <stdbool.h>

#define FRAME_POINTER_REACH (1 << 20) /* bytes to a frame that is taken for the caller's */

/* The part of the stack that is in the room of the walk. */
struct window {
	__u64 start;
	__u64 size;
	__u64 table; /* uppermost page table; 0: of the current task, whose memory is read plainly
		      */
	__u32 level;
	__u32 failed;
};

struct stack_walk {
	__u64 ip, sp, bp;
	__u64 hash;
	struct walk_room *room;
	struct place place;
	struct window window;
	__u32 count;	  /* frames */
	__u8 exact;	  /* `ip` is an instruction, not an address to return to */
	__u8 end;	  /* enum clew_stack_end, 0: it goes on */
	__u8 by_pointers; /* frame pointers were used */
};

static __always_inline bool window_read(struct walk_room *room, struct window *window,
					__u64 address, __u64 size)
{
	if (window->table) {
		__u64 at = foreign_address(window->table, address);

		return at && !bpf_probe_read_kernel(room->window, size, (void *)at);
	}
	return !bpf_probe_read_user(room->window, size, (void *)address);
}

/* A word of the stack. Sets `failed` if it is not there. */
__noinline __u64 window_word(struct window *window, __u64 address)
{
	__u64 size = 4096 - (address & 4095);
	struct walk_room *room;
	__u32 level;

	if (!window)
		return 0;
	level = window->level;
	room = bpf_map_lookup_elem(&clew_walks, &level);
	if (!room)
		return 0;
	if (address - window->start < window->size)
		return room->window[(address - window->start) >> 3 & (WALK_WINDOW / 8 - 1)];
	window->start = address;
	window->size = 0;
	window->failed = 1;
	if (address & 7)
		return 0;
	/* Up to the page's end: the next one may be absent, or anywhere. */
	if (size >= WALK_WINDOW) {
		size = WALK_WINDOW;
		if (!window_read(room, window, address, WALK_WINDOW))
			return 0;
	} else {
		size &= WALK_WINDOW - 1;
		if (!window_read(room, window, address, size))
			return 0;
	}
	window->size = size;
	window->failed = 0;
	return room->window[0];
}

static __always_inline bool stack_word(struct stack_walk *walk, __u64 address, __u64 *ret_word)
{
	*ret_word = window_word(&walk->window, address);
	return !walk->window.failed;
}

static __always_inline long walk_over(struct stack_walk *walk, enum clew_stack_end end)
{
	walk->end = end;
	return 1;
}

/* Goes on at the caller. */
static __always_inline long walk_to(struct stack_walk *walk, __u64 ip, __u64 sp, __u64 bp)
{
	walk->ip = ip;
	walk->sp = sp;
	walk->bp = bp;
	walk->exact = 0;
	return ip ? 0 : walk_over(walk, CLEW_STACK_ROOT);
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
			walk->by_pointers = 1;
			return walk_to(walk, ip, at + 8, walk->bp);
		}
		at = walk->bp;
	}
	if (at < walk->sp || (at & 7) || at - walk->sp > FRAME_POINTER_REACH ||
	    !stack_word(walk, at, &bp) || !stack_word(walk, at + 8, &ip))
		return walk_over(walk, CLEW_STACK_NO_RULE);
	walk->by_pointers = 1;
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
	walk->exact = 1;
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

static __always_inline void keep_frame(struct stack_walk *walk, __u32 turn, __u64 address)
{
	__u64 frame = walk->place.kind == PLACE_FILE
			      ? CLEW_FRAME_IN(walk->place.image.id, address + walk->place.bias)
			      : CLEW_FRAME_ADDRESS | address;

	/* Indexed by the turn: a counter in the walk would be an unknown number. */
	walk->room->frames[turn & CLEW_STACK_MOST] = frame;
	walk->hash = mix(walk->hash, frame);
	/* The same address is other code in each process. */
	if (walk->place.kind != PLACE_FILE)
		walk->hash = mix(walk->hash, walk->place.pid);
	walk->count = turn + 1;
}

static long stack_walk_step(__u32 turn, struct stack_walk *walk)
{
	__u64 address = walk->ip - !walk->exact;
	__u32 rule, kind;

	if (address < walk->place.start || address >= walk->place.end) {
		int end = place_find(&walk->place, address);

		if (end)
			return walk_over(walk, end);
	}
	if (walk->place.kind != PLACE_FILE) {
		keep_frame(walk, turn, address);
		return step_by_pointer(walk);
	}
	if (walk->place.image.state == CLEW_IMAGE_ASKED) {
		keep_frame(walk, turn, address);
		return walk_over(walk, CLEW_STACK_NO_TABLE);
	}
	rule = unwind_rule(address + walk->place.bias, &walk->place.image);
	kind = CLEW_UNWIND_RULE_KIND(rule);
	/* A handler does not return to behind a call, but to where the code begins. */
	keep_frame(walk, turn, kind == CLEW_UNWIND_SIGNAL ? walk->ip : address);
	switch (kind) {
	case CLEW_UNWIND_NONE:
		return step_by_pointer(walk);
	case CLEW_UNWIND_END:
		return walk_over(walk, CLEW_STACK_ROOT);
	case CLEW_UNWIND_SIGNAL:
		return step_by_signal(walk);
	default:
		return step_by_rule(walk, rule, turn == 0);
	}
}

/*
 * Walks the stack of a task that has memory of its own, from its saved user
 * registers on. The caller fills in `room` and the level; for a task that is
 * not the current one also the uppermost page table.
 */
static __always_inline void walk_task(struct stack_walk *walk, struct task_struct *task,
				      struct pt_regs *registers)
{
	struct mm_struct *mm = READ_TRUSTED(task, mm);

	/* The flag is set inside calls only. */
	if (in_compat_call(task) || is_compat_code(registers)) {
		walk->end = CLEW_STACK_COMPAT;
		return;
	}
	walk->ip = registers->ip;
	walk->sp = registers->sp;
	walk->bp = registers->bp;
	walk->exact = 1;
	walk->place.mm = number_of(mm);
	walk->place.level = walk->window.level;
	bpf_loop(CLEW_STACK_MOST, stack_walk_step, walk, 0);
	if (!walk->end)
		walk->end = CLEW_STACK_DEEP;
}

#endif

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
#include "kernel.h"
#include "mapping.h"
#include "mix.h"
#include "read.h"
#include "unwind_rule.h"
#include "unwind_walk.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps/unwind.h>
#include <linux/types.h>
#include <stdbool.h>

#if defined(__TARGET_ARCH_x86)
#include "unwind_x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "unwind_arm64.h"
#endif

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
	walk_from(walk, registers);
	walk->place.mm = number_of(mm);
	walk->place.level = walk->window.level;
	bpf_loop(CLEW_STACK_MOST, stack_walk_step, walk, 0);
	if (!walk->end)
		walk->end = CLEW_STACK_DEEP;
}

#endif

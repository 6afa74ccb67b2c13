/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a walk over a user stack, and the part of the stack that it has read. */
#ifndef CLEW_BPF_UNWIND_WALK_H
#define CLEW_BPF_UNWIND_WALK_H

#include "foreign.h"
#include "mapping.h"
#include "state.h"
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
#if defined(__TARGET_ARCH_arm64)
	__u64 link; /* what x30 holds, while `exact` */
#endif
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
	/* Not known to the verifier, as all that a step sets: else it follows each value. */
	walk->exact = always_zero;
	return ip ? 0 : walk_over(walk, CLEW_STACK_ROOT);
}

#endif

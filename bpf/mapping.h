/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the mapping of an address, without a lock and without a table of the
 * process's mappings: in the kernel's own tree of them (a maple tree, since
 * 6.1). The result is checked afterwards; a tree that changes meanwhile gives nothing, or a
 * mapping that does not fit.
 *
 * The verifier would follow each branch of the search, so there are none: a
 * node's pivots are compared by arithmetic.
 */
#ifndef CLEW_BPF_MAPPING_H
#define CLEW_BPF_MAPPING_H

#include "image.h"
#include "kernel.h"
#include "kernel_mm.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps/unwind.h>
#include <linux/types.h>
#include <stdbool.h>

#define VM_EXEC 0x4

/* An entry of the tree is a node's address with its type, except in leaves. */
#define MAPLE_NODE_MASK	  255ull
#define MAPLE_TYPE_SHIFT  3
#define MAPLE_TYPE_MASK	  15
#define MAPLE_RANGE	  2 /* types below are leaves */
#define MAPLE_ARANGE	  3
#define MAPLE_PIVOTS	  15 /* of nodes of other types */
#define MAPLE_PIVOTS_GAPS 9  /* of type ARANGE */
#define MAPLE_DEPTH	  5

/* Room for one walk. Walks nest: one in a switch interrupts none, a sample may
 * interrupt one in a wake. */
enum walk_level { WALK_SAMPLE, WALK_SWITCH, WALK_WAKE, WALK_ITERATE, WALK_LEVELS };

#define WALK_WINDOW 1024 /* bytes of the stack that are read at once */

#define KERNEL_FRAMES 64

/* Frames are right behind the head of the message that they are sent with. */
struct walk_room {
	struct clew_stack_news_header head;
	__u64 frames[CLEW_STACK_MOST + 1];
	struct clew_stack_news_header kernel_head;
	__u64 kernel[KERNEL_FRAMES];
	__u64 window[WALK_WINDOW / 8];
	__u64 node[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_LEVELS);
	__type(key, __u32);
	__type(value, struct walk_room);
} clew_walks SEC(".maps");

/* Keeps the compiler from making branches of comparisons. */
#define OPAQUE(number) asm volatile("" : "+r"(number))

/* The entry for an address in one node; 0: it cannot be read. */
__noinline __u64 maple_step(__u64 entry, __u64 address, __u32 level)
{
	struct walk_room *room = bpf_map_lookup_elem(&clew_walks, &level);
	__u64 node = entry & ~MAPLE_NODE_MASK, type = entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;
	__u64 pivots = type == MAPLE_ARANGE ? MAPLE_PIVOTS_GAPS : MAPLE_PIVOTS;
	__u64 page = address >> 12, slot = 0, before = 1, next = 0;

	if (!room || bpf_probe_read_kernel(room->node, MAPLE_PIVOTS * 8, (void *)(node + 8)))
		return 0;
#pragma unroll
	for (int i = 0; i < MAPLE_PIVOTS; i++) {
		/* Bit 63 of each: the pivot is below, is set, is one of the node's. A pivot of
		 * 0 ends them, but for the first. */
		__u64 pivot = room->node[i], below = (pivot >> 12) - page;
		__u64 set = (0 - pivot) | pivot, has = i - pivots;

		OPAQUE(below);
		OPAQUE(set);
		OPAQUE(has);
		below >>= 63;
		set >>= 63;
		has >>= 63;
		OPAQUE(below);
		OPAQUE(set);
		OPAQUE(has);
		before &= below & has;
		if (i)
			before &= set;
		slot += before;
	}
	if (bpf_probe_read_kernel(&next, sizeof(next), (void *)(node + 8 + pivots * 8 + slot * 8)))
		return 0;
	return next;
}

/* The address of the struct vm_area_struct, not checked; 0: none. */
__noinline __u64 mapping_find(__u64 mm_address, __u64 address, __u32 level)
{
	struct mm_struct___tree *mm = (void *)mm_address;
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	/* Else the tree has one mapping or none, as no program has. */
	if ((entry & 3) != 2)
		return 0;
	for (int depth = 0; depth < MAPLE_DEPTH; depth++) {
		__u64 type = entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;

		if (entry < 4096)
			return 0;
		entry = maple_step(entry, address, level);
		if (type < MAPLE_RANGE)
			break;
	}
	return entry & 7 ? 0 : entry;
}

/* A mapping that was found, and its file. */
struct place {
	__u64 mm; /* set by the caller, as `level` and `pid` */
	__u64 start;
	__u64 end;
	__u64 bias; /* from an address to its offset in the file */
	struct clew_image image;
	__u32 level;
	__u32 kind; /* enum place_kind */
	__u32 pid;  /* of the process */
	__u32 reserved;
};

enum place_kind {
	PLACE_OUTSIDE, /* no file: code that a program made */
	PLACE_FILE,
};

/* Mappings that were found lately. */
struct mapping_seen {
	__u64 mm, area, start, end, file, bias;
	struct clew_image image;
	__u64 kind;
};

#define MAPPINGS_SEEN 256

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAPPINGS_SEEN);
	__type(key, __u32);
	__type(value, struct mapping_seen);
} clew_mappings_seen SEC(".maps");

/* The bounds of an area as they are now, in the order of its first fields. */
struct bounds {
	__u64 start, end, mm;
};

static __always_inline bool seen_holds(const struct mapping_seen *seen, __u64 mm, __u64 address)
{
	struct vm_area_struct___mm *area = (void *)seen->area;
	struct bounds now;

	return seen->mm == mm && address >= seen->start && address < seen->end &&
	       !bpf_probe_read_kernel(&now, sizeof(now), area) && now.start == seen->start &&
	       now.end == seen->end && now.mm == mm &&
	       (__u64)BPF_CORE_READ(area, vm_file) == seen->file;
}

/* Looks up the file of an area whose bounds are known. False: it has no number yet. */
static __always_inline bool place_file(struct place *place, struct vm_area_struct___mm *area,
				       struct file *file)
{
	struct mm_struct___tree *mm = (void *)place->mm;
	struct clew_image_key key = {};
	struct clew_image *image;
	struct inode *inode;

	place->bias = (BPF_CORE_READ(area, vm_pgoff) << 12) - place->start;
	place->kind = PLACE_OUTSIDE;
	if (file) {
		inode = BPF_CORE_READ(file, f_inode);
		key.inode = BPF_CORE_READ(inode, i_ino);
		key.device = BPF_CORE_READ(inode, i_sb, s_dev);
		key.generation = BPF_CORE_READ(inode, i_generation);
	} else if ((__u64)BPF_CORE_READ(mm, context.vdso) == place->start) {
		place->bias = -place->start;
	} else {
		return true;
	}
	image = image_of(&key, place->pid, place->start, place->end);
	if (!image)
		return false;
	place->image = *image;
	place->kind = PLACE_FILE;
	return true;
}

/* Finds the executable mapping of an address. 0, or the reason against going on
 * (enum clew_stack_end). */
__noinline int place_find(struct place *place, __u64 address)
{
	struct vm_area_struct___mm *area;
	struct mapping_seen *seen;
	struct bounds bounds;
	struct file *file;
	__u32 slot;

	if (!place)
		return CLEW_STACK_OUTSIDE;
	slot = ((address >> 21) * 31 + (place->mm >> 10)) & (MAPPINGS_SEEN - 1);
	seen = bpf_map_lookup_elem(&clew_mappings_seen, &slot);
	if (!seen)
		return CLEW_STACK_OUTSIDE;
	place->start = place->end = 0;
	if (seen_holds(seen, place->mm, address)) {
		place->start = seen->start;
		place->end = seen->end;
		place->bias = seen->bias;
		place->image = seen->image;
		place->kind = seen->kind;
		return 0;
	}
	area = (void *)mapping_find(place->mm, address, place->level);
	if (!area)
		return CLEW_STACK_OUTSIDE;
	if (bpf_probe_read_kernel(&bounds, sizeof(bounds), area) || address < bounds.start ||
	    address >= bounds.end || bounds.mm != place->mm)
		return CLEW_STACK_TORN;
	if (!(BPF_CORE_READ(area, vm_flags) & VM_EXEC))
		return CLEW_STACK_OUTSIDE;
	place->start = bounds.start;
	place->end = bounds.end;
	file = BPF_CORE_READ(area, vm_file);
	if (!place_file(place, area, file))
		return CLEW_STACK_NO_TABLE;
	/* A table that comes later is to be seen then. */
	if (place->kind != PLACE_FILE || place->image.state != CLEW_IMAGE_ASKED) {
		seen->mm = place->mm;
		seen->area = (__u64)area;
		seen->start = place->start;
		seen->end = place->end;
		seen->file = (__u64)file;
		seen->bias = place->bias;
		seen->image = place->image;
		seen->kind = place->kind;
	}
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the rule of a place in a file, in the heap of tables that user space fills. */
#ifndef CLEW_BPF_UNWIND_RULE_H
#define CLEW_BPF_UNWIND_RULE_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps/unwind.h>
#include <linux/types.h>

#define PAGE_ROWS_BITS 12 /* a page has a row for each byte at most */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* blocks; set at load */
	__type(key, __u32);
	__type(value, struct clew_unwind_block);
} clew_unwind_heap SEC(".maps");

#define BLOCK_MASK (CLEW_UNWIND_BLOCK_WORDS - 1)

static __always_inline __u32 *heap_at(__u32 word)
{
	__u32 key = word / CLEW_UNWIND_BLOCK_WORDS;
	struct clew_unwind_block *block = bpf_map_lookup_elem(&clew_unwind_heap, &key);

	return block ? &block->words[word & BLOCK_MASK] : NULL;
}

/* The rule at an offset in a file that has a table. */
__noinline __u32 unwind_rule(__u64 offset, struct clew_image *image)
{
	__u32 page, low, count, key, *rule;
	__u64 inside = offset & ((1 << CLEW_UNWIND_PAGE_BITS) - 1), entry, *index;
	struct clew_unwind_block *block;

	if (!image)
		return CLEW_UNWIND_NONE;
	page = (offset >> CLEW_UNWIND_PAGE_BITS) - image->first_page;
	if (page >= image->page_count)
		return CLEW_UNWIND_NONE;
	index = (__u64 *)heap_at((image->index + page * 2) & ~1u);
	if (!index)
		return CLEW_UNWIND_NONE;
	/* Read at once: struct clew_unwind_page */
	entry = *index;
	low = (__u32)entry;
	count = entry >> 32;
	key = low / CLEW_UNWIND_BLOCK_WORDS;
	block = bpf_map_lookup_elem(&clew_unwind_heap, &key);
	if (!block)
		return CLEW_UNWIND_NONE;
	low &= BLOCK_MASK;
	/* The last row at or before the offset, without branches. */
#pragma unroll
	for (int i = 0; i < PAGE_ROWS_BITS; i++) {
		__u32 half = count >> 1;
		__u64 at = block->words[(low + half) & BLOCK_MASK] >> CLEW_UNWIND_RULE_BITS;

		low += half & (__u32)((__s64)(at - inside - 1) >> 63);
		count -= half;
	}
	rule = heap_at(image->rules +
		       (block->words[low & BLOCK_MASK] & ((1 << CLEW_UNWIND_RULE_BITS) - 1)));
	return rule ? *rule : CLEW_UNWIND_NONE;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the memory of a task that is not the current one: through its page
 * tables and the kernel's map of all memory. Nothing is made present for that.
 */
#ifndef CLEW_BPF_FOREIGN_H
#define CLEW_BPF_FOREIGN_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <linux/types.h>
#include <stdbool.h>

/* Where the kernel maps all memory, 0 unknown; whether page tables have five
 * levels. Set at start. */
volatile __u64 direct_map;
volatile __u32 five_levels;

#define ENTRY_PRESENT 1ull
#define ENTRY_LARGE   128ull
#define ENTRY_FRAME   0x000ffffffffff000ull /* bits of the page frame's address */

/* The entry for an address in one level's table; 0: not there. */
static __always_inline __u64 page_entry(__u64 table, __u64 address, int shift)
{
	__u64 entry = 0;

	if (bpf_probe_read_kernel(&entry, sizeof(entry),
				  (void *)(table + (address >> shift & 511) * 8)) ||
	    !(entry & ENTRY_PRESENT))
		return 0;
	return entry;
}

static __always_inline __u64 in_page(__u64 entry, __u64 address, int shift)
{
	__u64 inside = (1ull << shift) - 1;

	return direct_map + (entry & ENTRY_FRAME & ~inside) + (address & inside);
}

/* The kernel's address of a place in another task's memory, whose uppermost
 * table is `table`; 0: it is not present. */
__noinline __u64 foreign_address(__u64 table, __u64 address)
{
	__u64 entry;

	if (!direct_map)
		return 0;
	if (five_levels) {
		entry = page_entry(table, address, 48);
		if (!entry)
			return 0;
		table = direct_map + (entry & ENTRY_FRAME);
	}
	entry = page_entry(table, address, 39);
	if (!entry)
		return 0;
	entry = page_entry(direct_map + (entry & ENTRY_FRAME), address, 30);
	if (!entry || (entry & ENTRY_LARGE))
		return entry ? in_page(entry, address, 30) : 0;
	entry = page_entry(direct_map + (entry & ENTRY_FRAME), address, 21);
	if (!entry || (entry & ENTRY_LARGE))
		return entry ? in_page(entry, address, 21) : 0;
	entry = page_entry(direct_map + (entry & ENTRY_FRAME), address, 12);
	return entry ? in_page(entry, address, 12) : 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the memory of a task that is not the current one: through its page
 * tables and the kernel's map of all memory. Nothing is made present for that.
 */
#ifndef CLEW_BPF_FOREIGN_H
#define CLEW_BPF_FOREIGN_H

#include <linux/bpf.h>

#include "arch.h"
#include "kernel.h"
#include "kernel_mm.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <linux/types.h>
#include <stdbool.h>

/* Where the kernel maps all memory, 0 unknown; whether page tables have five
 * levels. Set at start. */
volatile __u64 direct_map;
volatile __u32 five_levels;

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
	if (!entry || entry_is_large(entry))
		return entry ? in_page(entry, address, 30) : 0;
	entry = page_entry(direct_map + (entry & ENTRY_FRAME), address, 21);
	if (!entry || entry_is_large(entry))
		return entry ? in_page(entry, address, 21) : 0;
	entry = page_entry(direct_map + (entry & ENTRY_FRAME), address, 12);
	return entry ? in_page(entry, address, 12) : 0;
}

#define FOREIGN_MOST 512 /* bytes that are read at once */

/* The bytes of the last read. Iterators visit one task after the other. */
static char foreign_bytes[2 * FOREIGN_MOST];

/* The size, or `most` if that is less. The verifier of 6.1 forgets what a copy of a
 * register was compared with, and the compiler makes copies: here it cannot. */
static __always_inline __u64 bounded(__u64 size, const __u32 most)
{
	asm volatile("if %[size] <= %[most] goto +1\n\t"
		     "%[size] = %[most]"
		     : [size] "+r"(size)
		     : [most] "i"(most));
	return size;
}

/* Reads a part that lies in one page to foreign_bytes. False: it is not
 * present, or the page has become another one meanwhile. */
static __always_inline bool foreign_part(__u64 table, __u64 address, __u32 offset, __u32 size)
{
	__u64 at = foreign_address(table, address);

	return at &&
	       !bpf_probe_read_kernel(foreign_bytes + bounded(offset, FOREIGN_MOST),
				      bounded(size, FOREIGN_MOST), (void *)at) &&
	       foreign_address(table, address) == at;
}

/* Reads a place to foreign_bytes. 0, or -1: not all of it is present. */
__noinline int foreign_fetch(__u64 table, __u64 address, __u32 size)
{
	__u32 first = 4096 - (address & 4095);

	if (first > size)
		first = size;
	if (!table || size > FOREIGN_MOST || !foreign_part(table, address, 0, first))
		return -1;
	return first == size || foreign_part(table, address + first, first, size - first) ? 0 : -1;
}

/* Reads `size` bytes, at `most` so many, of a task that an iterator visits. Nothing
 * is made present: whoever would have to do that may never do it. 0, or -1: not all
 * is there. */
static __always_inline long foreign_read_part(void *to, __u32 size, const __u32 most, __u64 address,
					      struct task_struct *task)
{
	struct mm_struct___tree *mm = (void *)READ_TRUSTED(task, mm);
	__u64 table = mm ? (__u64)BPF_CORE_READ(mm, pgd) : 0;

	if (foreign_fetch(table, address, size) || (void *)READ_TRUSTED(task, mm) != (void *)mm)
		return -1;
	return bpf_probe_read_kernel(to, bounded(size, most), foreign_bytes);
}

static __always_inline long foreign_read(void *to, const __u32 size, __u64 address,
					 struct task_struct *task)
{
	return foreign_read_part(to, size, size, address, task);
}

#endif

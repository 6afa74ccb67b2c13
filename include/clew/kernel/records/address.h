/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The place of an address in a process's memory. See records.h. */
#ifndef CLEW_KERNEL_RECORDS_ADDRESS_H
#define CLEW_KERNEL_RECORDS_ADDRESS_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of ADDRESS */
enum clew_address_place {
	CLEW_ADDRESS_SYMBOL = 0, /* in a variable that .symtab or .dynsym names */
	CLEW_ADDRESS_FILE = 1,	 /* in the data of a file, which has no name for it */
	CLEW_ADDRESS_HEAP = 2,	 /* in the memory that brk() gave */
	CLEW_ADDRESS_CODE = 3,	 /* in a function, of which a runtime's moment had the address */
};

/*
 * ADDRESS: the place of an address that a task waited at. `size` bytes follow: the variable's
 * name, a NUL, and the path of the file. Both are empty in HEAP.
 */
struct clew_address {
	struct clew_header header;
	__u64 address;
	__u64 offset; /* from the variable's or heap's first byte; FILE: the address as
			 linked */
	__u32 task;   /* one of those whose memory it is */
	__u32 memory; /* theirs, as clew_object.memory: the builder fills it in, files have 0 */
	__u16 size;
	__u16 reserved[3];
};

CLEW_ASSERT_SIZE(struct clew_address, 48);
CLEW_ASSERT_LAYOUT(struct clew_address, task, 32);
CLEW_ASSERT_LAYOUT(struct clew_address, size, 40);

#endif

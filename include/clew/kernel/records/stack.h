/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of stacks, and of the names of the functions in them. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_STACK_H
#define CLEW_KERNEL_RECORDS_STACK_H

#include <clew/kernel/records/header.h>

#define CLEW_STACK_MOST	 127  /* of a stack */
#define CLEW_SYMBOL_NAME 2048 /* bytes of a name; a longer one is cut off */

/*
 * A frame of a user stack: the number of the file and the offset in it that was looked up. That is
 * the address of the instruction in the innermost frame and behind a signal, else one less than
 * the address to return to. A frame in code that no file has is in an image of its process; one
 * whose process is not known has the address and the highest bit. A frame of a kernel stack is an
 * address to return to; the innermost one of a sample is one more than the address of the
 * instruction.
 */
#define CLEW_FRAME_ADDRESS	 (1ull << 63)
#define CLEW_FRAME_IMAGE_SHIFT	 40
#define CLEW_FRAME_IN(image, at) ((__u64)(image) << CLEW_FRAME_IMAGE_SHIFT | (at))
#define CLEW_FRAME_IMAGE(frame)	 ((__u32)((frame) >> CLEW_FRAME_IMAGE_SHIFT))
#define CLEW_FRAME_OFFSET(frame) ((frame) & ((1ull << CLEW_FRAME_IMAGE_SHIFT) - 1))
#define CLEW_IMAGE_KERNEL	 0 /* no file has this number */

/* The way a stack ended. */
enum clew_stack_end {
	CLEW_STACK_NONE = 0,	 /* the task has no user stack */
	CLEW_STACK_ROOT = 1,	 /* there is no caller */
	CLEW_STACK_DEEP = 2,	 /* it has more frames than are kept */
	CLEW_STACK_OUTSIDE = 3,	 /* an address that no executable mapping has */
	CLEW_STACK_NO_TABLE = 4, /* of a file that was met for the first time a moment ago */
	CLEW_STACK_NO_RULE = 5,	 /* no table says, and there is no frame pointer */
	CLEW_STACK_UNREAD = 6,	 /* its memory is not there */
	CLEW_STACK_LOOP = 7,	 /* the caller's frame is not above */
	CLEW_STACK_TORN = 8,	 /* the mappings changed meanwhile */
	CLEW_STACK_COMPAT = 9,	 /* of a 32-bit program */
	CLEW_STACK_LOST = 10,	 /* said by readers: its STACK record is not there */
	CLEW_STACK_ENDS
};

/* clew_header.flags of STACK */
#define CLEW_STACK_KERNEL      0x01
#define CLEW_STACK_BY_POINTERS 0x02 /* part of it by frame pointers, as no table says */

/* STACK: the frames of a hash, innermost first: `size` bytes follow, 8 for each. */
struct clew_stack {
	struct clew_header header;
	__u64 hash;
	__u16 size;
	__u8 end; /* enum clew_stack_end */
	__u8 reserved[5];
};

/* clew_header.flags of WAITED: it still sleeps, as the recording ends */
#define CLEW_WAITED_STILL 0x01

/*
 * The stacks of a task by their hashes, 0: none.
 * WAITED: it has the CPU again after a sleep, and slept with them. header.time is that of the
 * switch.
 * WAKER: it woke a task after a sleep, in task context. header.time is that of the wake.
 * SAMPLE: a timer's tick found it on its CPU. Without a kernel stack it was in user mode.
 */
struct clew_task_stacks {
	struct clew_header header;
	__u64 user;
	__u64 kernel;
	__u32 task;
	__u8 end; /* of the user stack: enum clew_stack_end */
	__u8 reserved[3];
};

/* clew_header.flags of IMAGE */
#define CLEW_IMAGE_VDSO	    0x01
#define CLEW_IMAGE_UNOPENED 0x02 /* nobody could open it any more */
#define CLEW_IMAGE_JIT                                                                             \
	0x08 /* it is code that a process made; `inode` is the address of its begin */
#define CLEW_IMAGE_LINKED   0x10 /* `bias` is known */
#define CLEW_BUILD_ID_BYTES 20

/* IMAGE: the file of a number, as frames have it. `size` bytes follow: its path. */
struct clew_image_record {
	struct clew_header header;
	__u64 inode;
	__u32 device;
	__u32 image;
	__u16 size;
	__u8 build_id_size; /* 0 unknown */
	__u8 build_id[CLEW_BUILD_ID_BYTES];
	__u8 reserved[1];
	__u64 bias; /* what code's addresses, as linked, are more than its offsets */
};

/* Where a name is from: clew_header.flags of SYMBOL */
enum clew_symbol_from {
	CLEW_SYMBOL_TABLE = 0,	 /* .symtab */
	CLEW_SYMBOL_DYNAMIC = 1, /* .dynsym */
	CLEW_SYMBOL_BOUNDS = 2,	 /* it has no name, and .eh_frame says where it is */
	CLEW_SYMBOL_KERNEL = 3,
	CLEW_SYMBOL_JIT = 4, /* the list that its program wrote */
};

/* SYMBOL: a function that some frame lies in. `size` bytes follow: its name as the file has it,
 * of the kernel with " [module]" behind it. */
struct clew_symbol_record {
	struct clew_header header;
	__u64 start; /* offset in the file, or the kernel's address */
	__u64 length;
	__u32 image;
	__u16 size;
	__u16 reserved;
};

CLEW_ASSERT_SIZE(struct clew_stack, 32);
CLEW_ASSERT_LAYOUT(struct clew_stack, size, 24);
CLEW_ASSERT_SIZE(struct clew_task_stacks, 40);
CLEW_ASSERT_LAYOUT(struct clew_task_stacks, task, 32);
CLEW_ASSERT_SIZE(struct clew_image_record, 64);
CLEW_ASSERT_LAYOUT(struct clew_image_record, size, 32);
CLEW_ASSERT_SIZE(struct clew_symbol_record, 40);
CLEW_ASSERT_LAYOUT(struct clew_symbol_record, size, 36);

#endif

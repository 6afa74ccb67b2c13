/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way from a frame to its caller's, as tables say it for each place of a file. See maps.h.
 *
 * The canonical frame address (CFA) is what the stack pointer was before the call; the address to
 * return to lies right below it.
 */
#ifndef CLEW_KERNEL_MAPS_UNWIND_H
#define CLEW_KERNEL_MAPS_UNWIND_H

#include <clew/kernel/records.h>

/* The CFA, with rsp and rbp as they are in the frame. Offsets are in units of 8 bytes. */
enum clew_unwind_kind {
	CLEW_UNWIND_RSP = 0,	/* rsp + offset */
	CLEW_UNWIND_RBP = 1,	/* rbp + offset */
	CLEW_UNWIND_AT_RBP = 2, /* what is at rbp + offset, + add */
	CLEW_UNWIND_AT_RSP = 3, /* what is at rsp + offset, + add */
	CLEW_UNWIND_PLT = 4,	/* rsp + 8, and 8 more where (rip & 15) >= offset, which is in bytes
				   here */
	CLEW_UNWIND_SIGNAL = 5, /* the caller was interrupted by a signal: its registers are on the
				   stack */
	CLEW_UNWIND_END = 6,	/* there is no caller */
	CLEW_UNWIND_NONE = 7,	/* no table says */
};

/*
 * A rule in 32 bits: the kind in 3, the place of the caller's rbp in 8, the offset in 16 with its
 * sign, the addend in 5. The caller's rbp is at CFA - 8 * saved; it is unchanged if `saved` is 0,
 * and at the frame's rbp if it is CLEW_UNWIND_SAVED_AT_RBP.
 */
#define CLEW_UNWIND_SAVED_AT_RBP 255
#define CLEW_UNWIND_RULE(kind, saved, offset, add)                                                 \
	((__u32)(kind) | ((__u32)(saved)&0xff) << 3 | ((__u32)(offset)&0xffff) << 11 |             \
	 ((__u32)(add)&31) << 27)
#define CLEW_UNWIND_RULE_KIND(rule)   ((rule)&7)
#define CLEW_UNWIND_RULE_SAVED(rule)  ((rule) >> 3 & 0xff)
#define CLEW_UNWIND_RULE_OFFSET(rule) ((__s32)(__s16)((rule) >> 11 & 0xffff))
#define CLEW_UNWIND_RULE_ADD(rule)    ((rule) >> 27)

/*
 * On arm64 rsp and rbp stand for sp and x29, and a call leaves the address to return to in x30. The
 * addend says where that address and the caller's x29 are. A base is the register that the CFA is
 * counted from.
 */
enum clew_unwind_return {
	CLEW_UNWIND_IN_LINK = 0,	/* in x30, and x29 is the caller's */
	CLEW_UNWIND_PAIR_BELOW_CFA = 1, /* x29 at CFA - 8 * saved, the address above it */
	CLEW_UNWIND_PAIR_ON_BASE = 2,	/* x29 at base + 8 * saved, the address above it */
	CLEW_UNWIND_LINK_BELOW_CFA = 3, /* the address at CFA - 8 * saved, x29 is the caller's */
	CLEW_UNWIND_LINK_ON_BASE = 4,	/* the address at base + 8 * saved, x29 is the caller's */
};

/*
 * A file's table: an index with one entry for each page of the file from its first page with rules
 * on, the rules that are used, and rows. A row holds from an offset in its page on: the offset in
 * the upper bits, the number of its rule in the lower ones. Each page has a row for its first byte.
 */
#define CLEW_UNWIND_PAGE_BITS 12
#define CLEW_UNWIND_RULE_BITS 20

struct clew_unwind_page {
	__u32 first; /* row; in the heap its word */
	__u32 count;
};

/*
 * All tables are in one heap of words, in blocks. A page's rows do not cross the end of a block;
 * neither does an entry of an index.
 */
#define CLEW_UNWIND_BLOCK_WORDS (1u << 18)
struct clew_unwind_block {
	__u32 words[CLEW_UNWIND_BLOCK_WORDS];
};

/* A file as the kernel knows it: all zeros is the vdso. */
struct clew_image_key {
	__u64 inode;
	__u32 device;
	__u32 generation;
};

enum clew_image_state {
	CLEW_IMAGE_ASKED = 0, /* user space was asked for a table */
	CLEW_IMAGE_TABLE = 1,
	CLEW_IMAGE_NONE = 2, /* it has no unwind information */
	CLEW_IMAGE_FULL = 3, /* the heap had no room for its table */
};

struct clew_image {
	__u32 id; /* above 0 */
	__u32 state;
	__u32 first_page; /* of the file */
	__u32 page_count;
	__u32 index; /* word in the heap */
	__u32 rules; /* word in the heap */
};

#define CLEW_IMAGES_MOST 16384

/* Message to the thread that opens files: a mapping of one that has no table yet. */
struct clew_image_news {
	__u64 start, end;
	struct clew_image_key key;
	__u32 image;
	__u32 pid; /* a process that has it */
};

/* Message to the thread that names functions: a stack that was not sent lately; its frames
 * follow. */
struct clew_stack_news_header {
	__u64 hash;
	__u32 pid;  /* of a user stack: its process */
	__u8 flags; /* of the STACK record */
	__u8 end;
	__u16 count;
};

CLEW_ASSERT_SIZE(struct clew_image_key, 16);
CLEW_ASSERT_SIZE(struct clew_image, 24);

CLEW_ASSERT_SIZE(struct clew_image_news, 40);
CLEW_ASSERT_SIZE(struct clew_stack_news_header, 16);

#endif

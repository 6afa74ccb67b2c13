/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of functions that tasks enter and leave in user space. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_FUNCTION_H
#define CLEW_KERNEL_RECORDS_FUNCTION_H

#include <clew/kernel/records/header.h>

/*
 * header.flags of FUNCTION. At a return to the trampoline bit 0 of UNREAD is the result's; with bit
 * n + 1 the text of argument n, which could not be read at the entry, is before the result.
 */
#define CLEW_FUNCTION_UNREAD   0x3f /* bit n: value n could not be read */
#define CLEW_FUNCTION_AGAIN    5    /* the first arguments, whose texts are read again */
#define CLEW_FUNCTION_LOST     0x40 /* others of this task were lost since its last one */
#define CLEW_FUNCTION_RETURNED 0x80 /* the function returned, to the trampoline */

/*
 * FUNCTION: a task was at a probed instruction. header.time is exact, not in steps of
 * CLEW_CLOCK_STEP. `size` bytes of values follow: eight for a number, a text with its NUL.
 */
struct clew_function {
	struct clew_header header;
	__u64 stack; /* the stack pointer at the instruction, or after the return. LONGJMP: as it
			will be where the jump goes to */
	__u32 task;
	__u16 site;
	__u16 size;
};

/* clew_site_record.roles: what it means to be at the instruction. */
#define CLEW_SITE_ENTER	  0x0001 /* the function begins */
#define CLEW_SITE_RET	  0x0002 /* it returns */
#define CLEW_SITE_TAIL	  0x0004 /* it jumps into another one, or to its own start */
#define CLEW_SITE_LONGJMP 0x0008 /* the stack is cut by longjmp */
#define CLEW_SITE_CATCH	  0x0010 /* the handler of an exception begins; cut to this stack pointer */
#define CLEW_SITE_EXIT	  0x0020 /* the thread asks for its end, or its stack is unwound for that */
#define CLEW_SITE_THROW	  0x0040 /* the stack is unwound for an exception from here on */
/* the thread's stack is unwound for its end; it was canceled unless it asked for that before */
#define CLEW_SITE_UNWIND 0x0080

/* The way in which the kernel executes the probed instruction. */
enum clew_site_class {
	CLEW_SITE_CLASS_EMULATED, /* does it itself */
	CLEW_SITE_CLASS_NOP5,	  /* a no-operation, which it replaces by a call */
	CLEW_SITE_CLASS_STEPPED,  /* single-steps the processor */
	CLEW_SITE_CLASS_KERNEL,	  /* jumps from a function of its own */
	CLEW_SITE_CLASSES,
};

/* The way in which the returns of a function are seen. */
enum clew_site_way {
	CLEW_SITE_WAY_TRAMPOLINE, /* entries divert the return address; CLEW_FUNCTION_RETURNED */
	CLEW_SITE_WAY_EXITS,	  /* sites at all its exits */
	CLEW_SITE_WAY_NONE,	  /* not at all: only entries are */
	CLEW_SITE_WAY_POINT,	  /* it is a probe that the program carries, and no function */
	/* A function of the kernel; its return is marked CLEW_FUNCTION_RETURNED. Stack
	 * pointers are offsets in the task's kernel stack, below all of user space. */
	CLEW_SITE_WAY_KERNEL,
};

/*
 * SITE: what is at a probed instruction; comes before the first FUNCTION of it. `size` bytes
 * follow: the file's path, the function's name as in the symbol table, the arguments as they were
 * asked for; each ended by NUL.
 */
struct clew_site_record {
	struct clew_header header;
	__u64 offset;	/* of the instruction in the file */
	__u64 start;	/* of the function in the file */
	__u64 length;	/* of the function, bytes */
	__u32 function; /* the same for all sites of one function, from 0 */
	__u16 site;
	__u16 size;
	__u16 roles; /* CLEW_SITE_*; a function of one jump is entered and left at one site */
	__u16 below; /* bytes pushed since the entry, whose stack pointer is higher by that */
	__u8 class;  /* enum clew_site_class */
	__u8 way;    /* enum clew_site_way */
	__u8 build_id_size;
	__u8 build_id[21];
	__u8 reserved[4];
};

/*
 * DROPPED: the probes at a function are taken away, because its calls cost more than was allowed.
 * Its open activations are lost, and nothing is known of its calls from then on.
 */
struct clew_dropped {
	struct clew_header header;
	__u64 calls;	/* in the period before */
	__u64 cost;	/* ns that its probes took of tasks' time in that period */
	__u64 period;	/* ns */
	__u32 function; /* number of the SITE records */
	__u8 reserved[4];
};

CLEW_ASSERT_SIZE(struct clew_function, 32);
CLEW_ASSERT_LAYOUT(struct clew_function, task, 24);
CLEW_ASSERT_LAYOUT(struct clew_function, size, 30);
CLEW_ASSERT_SIZE(struct clew_site_record, 80);
CLEW_ASSERT_SIZE(struct clew_dropped, 48);
CLEW_ASSERT_LAYOUT(struct clew_site_record, function, 40);
CLEW_ASSERT_LAYOUT(struct clew_site_record, build_id, 55);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The entries that the program at a function's probes reads. See maps.h.
 */
#ifndef CLEW_KERNEL_MAPS_FUNCTION_H
#define CLEW_KERNEL_MAPS_FUNCTION_H

#include <clew/kernel/records.h>

/* A site's number is its probe's cookie; at a return by the trampoline with this bit. */
#define CLEW_FUNCTION_SITES   65535u
#define CLEW_FUNCTION_RETURNS 0x10000u
#define CLEW_FUNCTION_NO_SITE 0xffffu

/* A kernel stack has fewer bytes. */
#define CLEW_KERNEL_STACK_MOST 0x10000u

/*
 * The rest of a cookie is the age of its link: probes that are replaced stay until the others are
 * there, and of two at one instruction those of the younger link count.
 */
#define CLEW_FUNCTION_AGE_SHIFT 17
#define CLEW_FUNCTION_AGES	0x7fffu

/* A probe of a trace event, which has one cookie for all of them: clew_function_places has theirs.
 */
struct clew_function_place {
	__u64 offset; /* in the file */
	__u32 event;  /* its cookie */
	__u32 reserved;
};

/* The program sees there if the task leaves the function at an exit. */
enum clew_function_exit_test {
	CLEW_EXIT_ALWAYS,
	CLEW_EXIT_IF_TAKEN,   /* a conditional jump */
	CLEW_EXIT_IF_OUTSIDE, /* a jump to an address from a register or from memory */
};

/* Processes may be chosen by so many `-f PID:`. */
#define CLEW_FUNCTION_FILTERS 8

/* Control sites of longjmp: the stack pointer in a jmp_buf. */
enum clew_function_buffer { CLEW_JMP_BUF_GLIBC, CLEW_JMP_BUF_MUSL };

struct clew_function_site {
	__u16 roles;	  /* CLEW_SITE_*; 0: it counts for nothing any more */
	__u16 otherwise;  /* the site that it is if the exit is none, CLEW_FUNCTION_NO_SITE: it
			     counts for nothing then */
	__u8 test;	  /* enum clew_function_exit_test */
	__u8 condition;	  /* IF_TAKEN: the low 4 bits of the jump's opcode */
	__u8 filters;	  /* a bit for each choice of processes that it is for, 0: for all */
	__u8 buffer;	  /* enum clew_function_buffer */
	__u16 base;	  /* IF_OUTSIDE: the register, offset in the kernel's struct pt_regs */
	__u8 operand;	  /* enum clew_operand_kind */
	__u8 values;	  /* CLEW_SITE_VALUES_*: clew_function_values has some for it */
	__s32 offset;	  /* MEMORY: added to the register */
	__u32 from_start; /* IF_OUTSIDE: of the instruction from the function's start */
	__u32 length;	  /* of the function */
};

/* clew_function_site.values */
#define CLEW_SITE_VALUES_ENTRY	0x01
#define CLEW_SITE_VALUES_RESULT 0x02
#define CLEW_SITE_VALUES_AGAIN	0x04 /* its return may have texts of its arguments */

/* A record has so many values at most, of so many bytes in all; a text is cut to CLEW_FUNCTION_TEXT
 * bytes with its NUL. */
#define CLEW_FUNCTION_VALUES 6
#define CLEW_FUNCTION_ROOM   288
#define CLEW_FUNCTION_TEXT   128

#define CLEW_FUNCTION_VALUE_SIGNED 0x01
#define CLEW_FUNCTION_VALUE_TEXT   0x02 /* it is the address of a text */
/* It is not in the register, but a constant, or in memory, or nobody knows where. */
#define CLEW_FUNCTION_VALUE_CONSTANT 0x04
#define CLEW_FUNCTION_VALUE_MEMORY   0x08
#define CLEW_FUNCTION_VALUE_UNKNOWN  0x10

struct clew_function_value {
	__u16 base;   /* the register: offset in the kernel's struct pt_regs */
	__u8 shift;   /* bits above the value's own */
	__u8 form;    /* CLEW_FUNCTION_VALUE_* */
	__s32 offset; /* the CONSTANT; MEMORY: added to the register */
};

/* The parts of a site's function that are recorded. */
struct clew_function_values {
	struct clew_function_value entry[CLEW_FUNCTION_VALUES];
	struct clew_function_value result;
	__u32 count;  /* of entry */
	__u8 again;   /* the first arguments; their texts are read at the return, to the trampoline,
			 if they were not in memory at the entry */
	__u8 returns; /* `result` is asked for */
	__u8 reserved[2];
};

/*
 * A text that was not in memory at the entry of a call, for the return, whose stack pointer is
 * `stack`. Entries of calls that do not return go when there is no room.
 */
#define CLEW_FUNCTION_UNREAD_TEXTS 4096u
struct clew_function_unread_text {
	__u64 stack;
	__u32 task;
	__u16 site;
	__u16 argument;
};

/* A CPU's count of hits at the probes of some sites: element cpu * CLEW_FUNCTION_ROWS + site /
 * CLEW_FUNCTION_ROW. */
#define CLEW_FUNCTION_ROW  64u
#define CLEW_FUNCTION_ROWS (CLEW_FUNCTION_RETURNS / CLEW_FUNCTION_ROW)
struct clew_function_calls {
	__u32 calls[CLEW_FUNCTION_ROW];
};

CLEW_ASSERT_SIZE(struct clew_function_place, 16);
CLEW_ASSERT_SIZE(struct clew_function_site, 24);
CLEW_ASSERT_SIZE(struct clew_function_value, 8);
CLEW_ASSERT_SIZE(struct clew_function_values, 64);
CLEW_ASSERT_SIZE(struct clew_function_unread_text, 16);

#endif

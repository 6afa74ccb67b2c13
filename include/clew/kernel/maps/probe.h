/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where user-space probes find their arguments, and which environment variables are kept. See
 * maps.h.
 */
#ifndef CLEW_KERNEL_MAPS_PROBE_H
#define CLEW_KERNEL_MAPS_PROBE_H

#include <clew/kernel/records.h>

/*
 * A site is one instruction of one file; its number is the probe's cookie. The note beside it in
 * the program's file says where its arguments are.
 */
#define CLEW_SITES	    4096
#define CLEW_SITE_ARGUMENTS 6

enum clew_operand_kind {
	CLEW_OPERAND_NONE = 0,
	CLEW_OPERAND_CONSTANT = 1,
	CLEW_OPERAND_REGISTER = 2,
	CLEW_OPERAND_MEMORY = 3,
	CLEW_OPERAND_THREAD = 4, /* where the thread's own data are (its FS base) */
	CLEW_OPERAND_KEPT = 5,	 /* what the entry of the call kept */
};

struct clew_operand {
	union {
		__s64 value;  /* CONSTANT */
		__s64 offset; /* MEMORY: added to the register */
	};
	__u16 base; /* the register: offset in the kernel's struct pt_regs */
	__u8 kind;  /* enum clew_operand_kind */
	__u8 shift; /* bits above the argument's own */
	__u8 is_signed;
	__u8 reserved[3];
};

struct clew_site {
	__u32 point; /* CLEW_POINT_*; of a layer's description: CLEW_POINT_FIRST and up */
	__u32 reserved;
	struct clew_operand arguments[CLEW_SITE_ARGUMENTS];
};

enum clew_point_number { CLEW_POINT_BEGIN = 0, CLEW_POINT_END = 1, CLEW_POINT_FIRST = 2 };

/* A value that a layer's description reads at a point: a number or a text, at the end
 * of a chain of reads. */
#define CLEW_POINTS	  254
#define CLEW_POINT_VALUES 6
#define CLEW_POINT_STEPS  3

struct clew_step {
	__s32 add;
	__u8 size; /* bytes that are then read there; 0: none */
	__u8 is_signed;
	__u16 reserved;
};

struct clew_point_value {
	__u8 argument;
	__u8 is_text; /* the result is the address of a text */
	__u16 text_max;
	struct clew_step steps[CLEW_POINT_STEPS];
};

struct clew_point {
	__u32 count;
	struct clew_point_value values[CLEW_POINT_VALUES];
};

/* The most environment variables that may be listed, and the bytes of a name with its '='. */
#define CLEW_ENVIRONMENT_NAMES 16
#define CLEW_ENVIRONMENT_NAME  64

CLEW_ASSERT_SIZE(struct clew_operand, 16);
CLEW_ASSERT_LAYOUT(struct clew_operand, kind, 10);
CLEW_ASSERT_SIZE(struct clew_site, 104);
CLEW_ASSERT_SIZE(struct clew_step, 8);
CLEW_ASSERT_SIZE(struct clew_point_value, 28);
CLEW_ASSERT_SIZE(struct clew_point, 172);

#endif

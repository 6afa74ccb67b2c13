/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The values that the program at a runtime's points reads. See maps.h.
 */
#ifndef CLEW_KERNEL_MAPS_MOMENT_H
#define CLEW_KERNEL_MAPS_MOMENT_H

#include <clew/kernel/maps/probe.h>

/* A site is one instruction of one file; its number is the probe's cookie. */
#define CLEW_MOMENT_SITES  4096
#define CLEW_MOMENT_VALUES 8
#define CLEW_MOMENT_STEPS  5
#define CLEW_MOMENT_ROOM   192 /* bytes of all values of a record */
#define CLEW_MOMENT_TEXT   96  /* bytes of a text with its NUL */

/* A number or a text, at the end of a chain of reads. */
struct clew_moment_value {
	struct clew_operand operand;
	struct clew_step steps[CLEW_MOMENT_STEPS];
	__u16 text_max; /* the result is the address of a text of so many bytes; 0: it is a number
			 */
	__u8 keep;	/* the number is kept for the thread until its call is left */
	__u8 reserved[5];
};

struct clew_moment_site {
	__u16 point;
	__u16 count;
	__u32 below; /* bytes pushed since the function began */
	struct clew_moment_value values[CLEW_MOMENT_VALUES];
};

/* A number that a thread keeps of the entry of a call for its exit. */
#define CLEW_MOMENT_KEEPS 8192 /* threads */
struct clew_moment_kept {
	__u64 stack; /* of the call */
	__u64 value;
};

CLEW_ASSERT_SIZE(struct clew_moment_value, 64);
CLEW_ASSERT_SIZE(struct clew_moment_site, 520);

#endif

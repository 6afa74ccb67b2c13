/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of runtimes whose points tasks meet. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_MOMENT_H
#define CLEW_KERNEL_RECORDS_MOMENT_H

#include <clew/kernel/records/header.h>

/*
 * MOMENT: a task met a point of a runtime's description, and has values for it. header.time is
 * exact, not in steps of CLEW_CLOCK_STEP; bit n of header.flags: value n could not be read. `size`
 * bytes follow: eight for a number, a text with its NUL, nothing for a value that is not known.
 */
struct clew_moment {
	struct clew_header header;
	__u64 stack; /* the stack pointer, as it was when the function of the point began */
	__u32 task;
	__u16 point; /* number among all points of the capture's descriptions */
	__u16 size;
};

CLEW_ASSERT_SIZE(struct clew_moment, 32);
CLEW_ASSERT_LAYOUT(struct clew_moment, task, 24);
CLEW_ASSERT_LAYOUT(struct clew_moment, size, 30);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of what programs announce by their probes, and of gaps between records. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_ANNOUNCE_H
#define CLEW_KERNEL_RECORDS_ANNOUNCE_H

#include <clew/kernel/records/header.h>

/*
 * ANNOUNCE: a program announced the begin or end of a call, by the probes of clew/announce.h or by
 * those that a layer's description names. `size` bytes follow: interface, operation, TYPE=VALUE ..,
 * each ended by NUL. For a layer's point the ring buffer has instead the values that were read
 * there; the drain makes words of them.
 */
struct clew_announce {
	struct clew_header header;
	__u64 token; /* of the program: joins an end to its begin */
	__u32 task;
	__u16 size;
	__u8 event; /* 0 begin, 1 end */
	__u8 point; /* in the ring buffer: number of the layer's point and 1, 0 none; in a file 0 */
};

/* header.flags of GAP: the capture file's reader made it. The records were stored, but the file
 * lacks them. */
#define CLEW_GAP_IN_FILE   0x01
#define CLEW_GAP_UNCOUNTED (~0ULL) /* clew_gap.count: unknown, perhaps none */

/* GAP: between the records at `from` and at header.time this CPU lost `count` records. */
struct clew_gap {
	struct clew_header header;
	__u64 from;
	__u64 count;
};

CLEW_ASSERT_SIZE(struct clew_announce, 32);
CLEW_ASSERT_LAYOUT(struct clew_announce, size, 28);
CLEW_ASSERT_LAYOUT(struct clew_announce, point, 31);
CLEW_ASSERT_SIZE(struct clew_gap, 32);

#endif

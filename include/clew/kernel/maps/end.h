/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps that the passes for other ends of waits share with user space. See maps.h.
 */
#ifndef CLEW_KERNEL_MAPS_END_H
#define CLEW_KERNEL_MAPS_END_H

#include <clew/kernel/records.h>

/* An end that somebody waits for: a key of the map of these. */
struct clew_end_key {
	__u64 end; /* or the listener, with CLEW_END_LISTENS */
	__u32 device;
	__u8 object_kind;
	__u8 flags; /* CLEW_END_READS, CLEW_END_WRITES, CLEW_END_LISTENS */
	__u16 reserved;
};

/* Ends that are looked for at once, at most. */
#define CLEW_ENDS_MOST 65536
/* Descriptors of one poll, select or epoll instance, at most; of a larger set none is looked at. */
#define CLEW_ENDS_POLLED 64

CLEW_ASSERT_SIZE(struct clew_end_key, 16);

#endif

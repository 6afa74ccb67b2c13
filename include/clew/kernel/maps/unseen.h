/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flags for the events that stay unseen since the kernel refused their programs. An answer that
 * rests on one is unknown, and is not taken for something else.
 */
#ifndef CLEW_KERNEL_MAPS_UNSEEN_H
#define CLEW_KERNEL_MAPS_UNSEEN_H

enum clew_unseen {
	CLEW_UNSEEN_INTERRUPTS = 0x01, /* when a device's interrupt begins and ends */
	CLEW_UNSEEN_CROSS = 0x02,      /* the same of inter-processor interrupts */
	CLEW_UNSEEN_SOFTIRQS = 0x04,   /* and of softirqs */
	CLEW_UNSEEN_HRTIMERS = 0x08,   /* when high-resolution timers expire */
	CLEW_UNSEEN_TIMERS = 0x10,     /* and others */
	CLEW_UNSEEN_WORK = 0x20,       /* when a worker begins another work item */
	CLEW_UNSEEN_EXECS = 0x40,
	CLEW_UNSEEN_LOCKS = 0x80,    /* that a task waits for a lock of the kernel */
	CLEW_UNSEEN_REASONS = 0x100, /* that it waits for memory */
	CLEW_UNSEEN_DIRTY = 0x200,   /* that it is slowed down as it writes */
	CLEW_UNSEEN_USES = 0x400,    /* that cached pages are used */
	CLEW_UNSEEN_FAULTS = 0x800,  /* that a page fault begins in a call */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The class of a system call: which argument names the object that it may wait for. One a call,
 * which BPF looks up by the call's number. user/record/stream/calls.c makes the table.
 */
#ifndef CLEW_KERNEL_CALLS_H
#define CLEW_KERNEL_CALLS_H

#define CLEW_CALL_COUNT 512

enum clew_call_class {
	CLEW_CALL_PLAIN = 0,	  /* nothing to look up */
	CLEW_CALL_DESCRIPTOR = 1, /* argument 0 is a descriptor */
	CLEW_CALL_SPLICE = 2,	  /* argument 0 is read from, another one written to */
	CLEW_CALL_PATH = 3,	  /* argument 0 is a path */
	CLEW_CALL_PATH_AT = 4,	  /* argument 1 is a path */
	CLEW_CALL_CHILD = 5,	  /* argument 0 is a pid */
	CLEW_CALL_CHILD_ID = 6,	  /* arguments 0 and 1 are waitid's */
	CLEW_CALL_CLONE = 7,	  /* argument 0 has flags */
	CLEW_CALL_CLONE3 = 8,	  /* argument 0 points to flags */
	CLEW_CALL_VFORK = 9,
	CLEW_CALL_IPC = 10,	/* argument 0 is a System V identifier */
	CLEW_CALL_RESTART = 11, /* restart_syscall: the call before continues */
	CLEW_CALL_ARM = 12,	/* arms a timer */
	/* From here on the call of the task that ends the wait matters. */
	CLEW_CALL_FUTEX = 13,
	CLEW_CALL_FUTEX_VECTOR = 14, /* argument 0 points to futex_waitv entries */
	CLEW_CALL_EPOLL = 15,	     /* argument 0 is an epoll descriptor */
	CLEW_CALL_POLL = 16,	     /* poll, select: many descriptors */
	CLEW_CALL_IO_URING = 17,     /* argument 0 is a ring's descriptor */
};

#endif

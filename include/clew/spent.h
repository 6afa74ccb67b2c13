/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The classes of a thread's time, as `clew report` adds it up. clew-report(1) says what they are.
 */
#ifndef CLEW_SPENT_H
#define CLEW_SPENT_H

enum clew_spent {
	CLEW_SPENT_RUNNING,
	CLEW_SPENT_READY, /* ready to run, without a CPU */
	CLEW_SPENT_QUOTA, /* .. as its group's CPU quota, or its own runtime, was used up */
	CLEW_SPENT_LOCK,
	CLEW_SPENT_DISK,
	CLEW_SPENT_NETWORK,
	CLEW_SPENT_REMOTE, /* .. until another host answered */
	CLEW_SPENT_MEMORY,
	/* A client waited for the thread's answer, and the thread for another one. */
	CLEW_SPENT_PEER,
	CLEW_SPENT_PIPE,    /* pipes and terminals */
	CLEW_SPENT_THREAD,  /* at words of memory that nobody is known to hold */
	CLEW_SPENT_PROCESS, /* children, stops, other communication between processes */
	CLEW_SPENT_TIMER,   /* its own sleep within an operation */
	CLEW_SPENT_OTHER,
	CLEW_SPENT_COUNT,
	CLEW_SPENT_NONE = CLEW_SPENT_COUNT, /* idle: for work */
};

#endif

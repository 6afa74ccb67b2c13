/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deadlocks at the end of a capture, and those that a signal ended before: tasks whose waits only
 * tasks can end that wait in the same way.
 *
 * A task is stuck if its wait has no timeout and all tasks that may end it are stuck. A wait has
 * such tasks, all of them known, if it is for a lock that has a holder, for a word of the process's
 * own memory, for pipes and Unix sockets whose ends are known, or for children. A stuck task is in
 * a deadlock, or waits for one. Signals do not count: they may end any wait.
 */
#ifndef CLEW_TRACE_DEADLOCK_H
#define CLEW_TRACE_DEADLOCK_H

#include "trace/trace.h"

/* Why the next task of a circle is the one that has to act. */
enum clew_stuck_role {
	CLEW_STUCK_HOLDER, /* it has the lock */
	CLEW_STUCK_THREAD, /* it is a thread of the process, and does not wait for the same word */
	CLEW_STUCK_JOINED, /* it is the thread of the process whose end is waited for */
	CLEW_STUCK_CHILD,  /* it is the child whose end is waited for */
	CLEW_STUCK_READER, /* it can make room in the pipe */
	CLEW_STUCK_WRITER, /* it can write to the pipe */
	CLEW_STUCK_PEER,   /* it has the other end of the socket, or of what is polled */
};

struct clew_stuck_step {
	uint32_t task;
	uint32_t next;
	const struct clew_sleep *sleep; /* of `task` */
	uint8_t role;			/* enum clew_stuck_role, of `next` */
	uint8_t evidence;		/* that it is `next` that has to act */
	uint32_t others; /* other processes or threads that might act as well: all are stuck */
};

/* A circle: the last step's `next` is the task of the first one. Threads of a process that may wake
 * each other are none by themselves: the process may only be idle, until a signal. */
struct clew_deadlock {
	struct clew_stuck_step *steps;
	size_t count;
	uint64_t since; /* when the last one of its waits began, ns */
	uint64_t until; /* when a signal ended the first one of its waits, CLEW_TIME_OPEN: none did
			 */
};

/* The deadlocks of a trace: in order of their ends; those that nothing ended come last. A trace
 * that was cut has those that were ended within it, and one of all names those of its windows. */
const struct clew_deadlock *clew_trace_deadlocks(const struct clew_trace *trace, size_t *ret_count);
/* The last deadlock that a task is in or waits for; NULL: none. */
const struct clew_deadlock *clew_trace_deadlock_of(const struct clew_trace *trace, uint32_t task);
/* True if a sleep is the one by which its task is in a deadlock, or waits for one. */
bool clew_trace_is_stuck(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* The step of a task within a deadlock; NULL: it is in none. */
const struct clew_stuck_step *clew_trace_stuck_step(const struct clew_trace *trace, uint32_t task);

const char *clew_stuck_role_name(enum clew_stuck_role role);

#endif

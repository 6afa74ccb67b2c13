/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations while findings come: what a thread does between two waits for work. A client's wait
 * for the answer of a server is none (trace/exchange.c). A server's waits in the meantime are not
 * looked at for that, as what they were is known later.
 *
 * Invariant: memory is bounded by the threads that live and have waited for work, and by
 * OPERATION_MOST sockets and pairs of processes: beyond that all of these are forgotten.
 */
#ifndef CLEW_LIVE_OPERATION_H
#define CLEW_LIVE_OPERATION_H

#include "live/known.h"

#define OPERATION_MOST (1u << 16)
/* A wait for work that goes on for so long ends the operation before it, ns. */
#define OPERATION_IDLE 2000000000ull

struct operation {
	uint64_t start, end; /* ns; CLEW_TIME_OPEN: it goes on */
	uint64_t at;	     /* when that was known */
	uint32_t task;
};

struct operations {
	struct map threads; /* serial -> struct operation_thread * */
	struct map sides;   /* inode of a socket -> enum socket_side */
	struct map last;    /* (process that woke, process) -> when it last did, by a socket */
};

void operations_done(struct operations *operations);

/* Takes a socket, the end of a task, or a gap. 0 or -ENOMEM. */
int operations_take_identity(struct operations *operations, const struct clew_header *record);
/* Takes a wait that has ended. *ret_ended: the operation that it ended; its `end` is 0: none. 0 or
 * -ENOMEM. */
int operations_take(struct operations *operations, const struct known *known,
		    const struct clew_sleep *sleep, struct operation *ret_ended);
/* Takes a wait that goes on at `now`. As before. */
void operations_take_open(struct operations *operations, const struct clew_sleep *sleep,
			  uint64_t now, struct operation *ret_ended);
/*
 * Calls `take` for each operation that goes on at `now`, for which all waits that go on were taken.
 * Stops at a negative return, and returns it.
 */
int operations_open(const struct operations *operations, uint64_t now,
		    int (*take)(void *context, const struct operation *operation), void *context);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations while findings come: what a thread does between two waits for work, and a client's
 * requests. A client's wait for the answer of a server is no wait for work (trace/exchange.c). A
 * server's waits in the meantime are not looked at for that, as what they were is known later; nor
 * are rests (trace/rest.c), for the same reason.
 *
 * A request lasts from when its question left until the last part of its answer came; a server's,
 * which messages alone show, from when the question came until the answer left. That no
 * further part comes is known once the answer has paused for longer than the question took.
 *
 * Invariant: memory is bounded by the threads that live and have waited for work, and by
 * OPERATION_MOST sockets, requests and pairs of processes: beyond that all of these are forgotten.
 */
#ifndef CLEW_LIVE_OPERATION_H
#define CLEW_LIVE_OPERATION_H

#include "live/known.h"

#define OPERATION_MOST (1u << 16)
/* A wait for work that goes on for so long ends the operation before it, ns. */
#define OPERATION_IDLE 2000000000ull
/* So often is it looked which requests are over, ns. */
#define OPERATION_LOOK 50000000ull

struct operation {
	uint64_t start, end; /* ns; CLEW_TIME_OPEN: it goes on */
	uint64_t at;	     /* when that was known */
	uint64_t class;	     /* the same for operations of one kind, program and endpoint */
	uint32_t task;
	bool within; /* most of it is requests, which are operations of their own */
};

struct operations {
	struct map threads;  /* serial -> struct operation_thread * */
	struct map sockets;  /* inode -> the server's address as a hash, | enum socket_side */
	struct map requests; /* inode of a socket -> struct operation_request * */
	struct map last;     /* (process that woke, process) -> when it last did, by a socket */
	uint64_t looked;     /* when requests were last looked at, ns */
};

void operations_done(struct operations *operations);

/* Takes a socket, the end of a task, or a gap. 0 or -ENOMEM. */
int operations_take_identity(struct operations *operations, const struct clew_header *record);
/* Takes a message, and calls `take` for the request that it ends. 0, -ENOMEM, or what `take`
 * returned. */
int operations_take_message(struct operations *operations, const struct known *known,
			    const struct clew_message_record *message,
			    int (*take)(void *context, const struct operation *operation),
			    void *context);
/* Takes a wait that has ended, and calls `take` for each operation that it ended. 0, -ENOMEM, or
 * what `take` returned. */
int operations_take(struct operations *operations, const struct known *known,
		    const struct clew_sleep *sleep,
		    int (*take)(void *context, const struct operation *operation), void *context);
/* Takes a wait that goes on at `now`. As before. */
int operations_take_open(struct operations *operations, const struct known *known,
			 const struct clew_sleep *sleep, uint64_t now,
			 int (*take)(void *context, const struct operation *operation),
			 void *context);
/*
 * Calls `take` for each request that is known to be over at `now`, and for each operation that goes
 * on, for which all waits that go on were taken. Stops at a negative return, and returns it.
 */
int operations_step(struct operations *operations, const struct known *known, uint64_t now,
		    int (*take)(void *context, const struct operation *operation), void *context);

#endif

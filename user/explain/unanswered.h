/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits of connect() that nothing answers: TCP asks again after 1 s, and then after twice as long
 * each time. A listener whose accept queue is full drops what asks for a connection.
 */
#ifndef CLEW_EXPLAIN_UNANSWERED_H
#define CLEW_EXPLAIN_UNANSWERED_H

#include "trace/trace.h"

struct clew_unanswered {
	uint64_t since, until; /* between two attempts of TCP */
	bool full;	       /* the listener's accept queue was, at one of them */
	uint32_t acceptor;     /* who accepts at that listener, CLEW_NO_TASK unknown */
	uint64_t listener;     /* inode number of its socket */
};

/* The part of a wait in which a moment lies. False: the wait was answered at once, or is no such
 * wait. */
bool clew_unanswered_at(const struct clew_trace *trace, const struct clew_sleep *sleep, uint64_t at,
			struct clew_unanswered *ret_unanswered);

#endif

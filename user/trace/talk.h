/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions and answers at one end of a connection, in order of time: from what threads sent and
 * received there or, where that is not recorded, from what they waited for.
 *
 * A question lasts until its answer begins. The answer is over at the next question, or once it
 * has paused for longer than the question took: what comes later is a stream's.
 */
#ifndef CLEW_TRACE_TALK_H
#define CLEW_TRACE_TALK_H

#include "trace/idle.h"
#include <stdbool.h>
#include <stdint.h>

/* So often a question and an answer have to cross each other. A handshake does it once or twice. */
#define TALK_CROSSINGS 3

/* A question, and what came of the answer. At a server's end the question comes and the answer
 * leaves. All times in ns. */
struct talk {
	uint64_t asked;	   /* when the question left, or came; 0: there is none */
	uint64_t more;	   /* the same of its last part */
	uint64_t answered; /* when the answer began to come, or left; 0: not yet */
	uint64_t last;	   /* the same of its last part */
	uint64_t over;	   /* when the thread had that part, or the part was gone */
	uint64_t before;   /* the same of the part before, 0: there is none */
	uint32_t task;	   /* whose last part it was; of the question until there is an answer */
	uint32_t parts;	   /* of the question */
};

/* One end, if what is sent and received there is recorded. */
struct talk_end {
	struct talk talk;
	enum socket_side side; /* never unknown */
	/* Questions left again and again before the answer to an earlier one was over: which answer
	 * is whose is not known. */
	bool pipelined;
	bool ahead;	    /* the next question was here as the last part of the answer left */
	uint32_t crossings; /* how often a question and an answer met on the way */
};

/* True if what comes at `at`, behind a part of an answer, belongs to the answer. */
static inline bool talk_goes_on(const struct talk *talk, uint64_t at)
{
	return at <= talk->last || at - talk->last <= talk->answered - talk->asked;
}

/* When it is known that nothing more of an answer comes. */
static inline uint64_t talk_over_at(const struct talk *talk)
{
	return talk->last + (talk->answered - talk->asked);
}

/*
 * Takes a message. `at`: when its last bytes left or came. `crossed`: it is known that the other
 * side had sent something by then that was not taken. True: *ret_over is a question whose answer is
 * over.
 */
bool talk_take(struct talk_end *end, const struct clew_message_record *message, uint64_t at,
	       bool crossed, struct talk *ret_over);

/* True if a message is a part of a question, and not of an answer. */
static inline bool talk_asks(const struct talk_end *end, const struct clew_message_record *message)
{
	return !!(message->header.flags & CLEW_MESSAGE_RECEIVED) == (end->side == SIDE_SERVER);
}

struct clew_exchange;
struct clew_sleep;
struct clew_trace;

/* The exchange at the socket of a sleep that a client waits for until the sleep's end, as messages
 * show it; NULL none. */
const struct clew_exchange *trace_awaited(const struct clew_trace *trace,
					  const struct clew_sleep *sleep);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other end of a wait that nothing ends in the capture: who has it open, and
 * so may end the wait.
 */
#ifndef CLEW_EXPLAIN_OTHER_END_H
#define CLEW_EXPLAIN_OTHER_END_H

#include "trace/trace.h"
#include <clew/tokens.h>

/* A process that has the other end. */
struct clew_other_end {
	uint32_t process; /* serial */
	uint32_t task;	  /* of its threads the one that may act, or else one of them */
	/*
	 * OBSERVED: no other process has it; CANDIDATE: several have. Never
	 * EXACT: that a process has an end open does not prove that it will use
	 * it.
	 */
	uint8_t evidence;
	uint8_t object_kind; /* enum clew_object_kind */
	bool self;	     /* the sleeper's own process */
	bool acts;	     /* it has a thread besides the sleeper */
	bool one_thread;     /* `task` is the only thread of it that can act */
	bool thread_known;   /* `task` is the thread that may act */
	bool listens;	     /* it has the listening socket, and has not accepted the peer yet */
};

struct clew_other_ends {
	struct clew_other_end *ends; /* in order of process */
	size_t count;
	bool known; /* a pass has looked for them: none means that nobody has it */
	/* The wait is for several descriptors, and of one nobody that is known has the end. */
	bool partial;
	/*
	 * The task whose time explains the wait, CLEW_NO_TASK: which one that
	 * is cannot be told.
	 */
	uint32_t follow;
	uint8_t follow_evidence;
	uint8_t follow_type; /* enum clew_edge_type */
};

/*
 * The other ends of a sleep that began before the capture or did not end in it;
 * none for all others. A process with one thread cannot end its own wait: it is
 * only listed where it is alone. clew_other_ends_done() frees them. 0 or
 * -ENOMEM.
 */
int clew_other_ends_find(const struct clew_trace *trace, const struct clew_sleep *sleep,
			 struct clew_other_ends *ret_ends);
void clew_other_ends_done(struct clew_other_ends *ends);

/*
 * The kernel's function in which a sleep was seen at the start or the stop of
 * the recording, as /proc/PID/wchan has it; NULL unknown.
 */
const char *clew_sleep_function(const struct clew_trace *trace, const struct clew_sleep *sleep);

#endif

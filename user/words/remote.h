/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A wait for another host's answer, from this host alone. */
#ifndef CLEW_WORDS_REMOTE_H
#define CLEW_WORDS_REMOTE_H

#include <stdbool.h>
#include <stdio.h>

#include "format/json.h"
#include "trace/trace.h"

#define CLEW_REMOTE_NAME 192 /* bytes */

/*
 * The parts of the time of a question to another host, ns. The other host, or what is between, had
 * `answering`; the round trip that the question and the answer need is not in it.
 */
struct clew_remote_parts {
	uint64_t sending;    /* until the last part of the question had left */
	uint64_t answering;  /* from then until the first part of the answer came, or the end */
	uint64_t round_trip; /* 0 unknown */
	uint64_t receiving;  /* until the last part of the answer had come */
	uint64_t taking;     /* until the thread had it */
	bool open;	     /* no answer had come */
};

struct clew_remote_parts clew_remote_parts(const struct clew_exchange *exchange);

/* Prints `before` and "HOST took 31.0 ms to answer (round trip 0.4 ms): not this machine". False:
 * the wait is for no other host's answer, and nothing was printed. */
bool clew_print_remote(FILE *out, const char *before, const struct clew_trace *trace,
		       const struct clew_sleep *sleep);

/* The address and port of the other host, "" unknown. NULL: the sleep is for no other host's
 * answer. */
const char *clew_remote_name(const struct clew_trace *trace, const struct clew_sleep *sleep,
			     char *room, size_t size);

/* Adds the member "remote", if there is anything to say. */
void clew_json_remote(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_sleep *sleep);

#endif

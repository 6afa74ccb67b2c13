/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The answer about operations that somebody asked for by the name of a system call, a file, a lock,
 * a traced function or an announced operation. 0 or -errno.
 */
#ifndef CLEW_ANSWERS_ASK_ASK_H
#define CLEW_ANSWERS_ASK_ASK_H

#include <stdio.h>

#include "explain/operations.h"
#include "explain/why.h"
#include "format/json.h"

/* The words that were typed; NULL: not asked for. */
struct clew_ask {
	const char *call; /* a list of globs, as the next but one and the last */
	const char *file; /* a glob */
	const char *lock;
	const char *operation;
	const char *span; /* a glob */
};

static inline bool clew_ask_given(const struct clew_ask *ask)
{
	return ask->call || ask->file || ask->lock || ask->operation || ask->span;
}

/* The trace in which they were found. `relations` may be NULL. */
struct clew_asked_of {
	const struct clew_trace *trace;
	const struct clew_relations *relations;
};

/*
 * Says before the first why how many there are, how long they took, and where the time of all of
 * them together went. `found`: longest first.
 */
int clew_print_ask(FILE *out, const struct clew_ask *ask, const struct clew_asked_of *in,
		   const struct clew_operation *found, size_t count);
/* The same as fields of the open object. */
int clew_json_ask(struct clew_json *json, const struct clew_ask *ask,
		  const struct clew_asked_of *in, const struct clew_operation *found, size_t count);

/* The words for one of them: "fsync on /data/log, 3 waits". */
void clew_print_asked(FILE *out, const struct clew_trace *trace,
		      const struct clew_operation *operation);
/* The field "instance" of the open object. */
void clew_json_asked(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_operation *operation);

#endif

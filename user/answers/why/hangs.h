/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints what the threads of a process wait for at this moment, in text and in JSON. */
#ifndef CLEW_ANSWERS_WHY_HANGS_H
#define CLEW_ANSWERS_WHY_HANGS_H

#include "explain/hang.h"
#include "format/json.h"
#include <stdio.h>

struct clew_hangs {
	const struct clew_trace *trace;
	struct clew_hang *of; /* a thread each */
	uint64_t *ages;	      /* ns: for how long each has waited; UINT64_MAX: unknown */
	size_t count;
};

/* For how long a task has been off the CPU, ns; UINT64_MAX: unknown. */
typedef uint64_t (*clew_hang_age)(const struct clew_trace *trace,
				  const struct clew_trace_task *task);

/* Finds the chains of the threads of a process that live. clew_hangs_done() in any case. 0 or
 * -ENOMEM. */
int clew_hangs_find(const struct clew_trace *trace, uint32_t process, clew_hang_age age,
		    struct clew_hangs *ret_hangs);
void clew_hangs_done(struct clew_hangs *hangs);

void clew_hangs_print(FILE *out, const struct clew_hangs *hangs, size_t width);
/* Fields of the open object. */
void clew_hangs_json(struct clew_json *json, const struct clew_hangs *hangs);

/* All of the answer of `clew why --now`, about the threads of a process. */
void clew_hangs_say(FILE *out, const struct clew_hangs *hangs, uint32_t process, bool as_json,
		    size_t width);

#endif

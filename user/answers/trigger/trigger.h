/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew trigger test`. */
#ifndef CLEW_ANSWERS_TRIGGER_TRIGGER_H
#define CLEW_ANSWERS_TRIGGER_TRIGGER_H

#include <stddef.h>
#include <stdio.h>

#include "live/judge.h"
#include "trace/trace.h"

/* The times at which a rule fired. */
struct clew_fired {
	const struct clew_trigger *trigger;
	const struct clew_slow *slow;
	size_t count;
	size_t suppressed; /* more times, for the rule's limits */
};

void clew_print_fired(FILE *out, const struct clew_trace *trace, const struct clew_fired *fired);
void clew_json_fired(FILE *out, const struct clew_trace *trace, const struct clew_fired *fired);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew history`, as text and as JSON. */
#ifndef CLEW_ANSWERS_COMPARE_HISTORY_H
#define CLEW_ANSWERS_COMPARE_HISTORY_H

#include <stdio.h>

#include "compare/compare.h"

/* An hour, after the one before it. A class that only one of them has is alone in the result. */
struct clew_history_hour {
	uint64_t from; /* ns since 1970 */
	struct compare compare;
	struct compare_result result;
};

struct clew_history_answer {
	const char *const *classes; /* names, most time first */
	size_t class_count, left_out;
	const struct clew_history_hour *hours;
	size_t hour_count;
	size_t damaged; /* blocks of the files */
};

void clew_print_history(FILE *out, const struct clew_history_answer *answer);
void clew_json_history(FILE *out, const struct clew_history_answer *answer);

#endif

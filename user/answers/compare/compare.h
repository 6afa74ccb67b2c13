/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew compare`, as text, as JSON and as a page. */
#ifndef CLEW_ANSWERS_COMPARE_COMPARE_H
#define CLEW_ANSWERS_COMPARE_COMPARE_H

#include <stdio.h>

#include "compare/compare.h"

struct clew_compare_answer {
	const struct compare *compare;
	const struct compare_result *result;
	char *const *names[COMPARE_SIDES]; /* of the captures of a side, compare->captures many */
	const char *times[COMPARE_SIDES];  /* of a history; NULL: they are captures */
	bool recorded; /* only the commands that were recorded, where captures are of these */
	bool halves;   /* both sides are of the same captures */
};

void clew_print_compare(FILE *out, const struct clew_compare_answer *answer);
void clew_json_compare(FILE *out, const struct clew_compare_answer *answer);
void clew_html_compare(FILE *out, const struct clew_compare_answer *answer);

/* "changed", "differs", "same", "short" or "blind". */
const char *clew_compare_verdict(const struct compare_class *class);
/* The name of a row: a cause, or "62 others". It is not safe for a terminal. Returns buffer. */
const char *clew_compare_row_name(const struct clew_compare_answer *answer,
				  const struct compare_row *row, char *buffer, size_t size);
#define CLEW_ROW_NAME(answer, row)                                                                 \
	clew_compare_row_name(answer, row, (char[CLEW_PATH_SIZE]){0}, CLEW_PATH_SIZE)

/* The words for a figure of the load, as JSON has them. */
const char *clew_load_word(unsigned figure);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A why as JSON, or several: docs/answers.md lists the fields. The caller writes fields of its own
 * to `fields` between begin and end.
 */
#ifndef CLEW_ANSWERS_WHY_WHY_JSON_H
#define CLEW_ANSWERS_WHY_WHY_JSON_H

#include "answers/why/why_tables.h"
#include "answers/why/why_text.h"

struct clew_why_answer {
	struct why_tables tables;
	struct clew_json_part fields; /* all but the format and the tables */
};

/* `relations` may be NULL. 0 or -ENOMEM, and then nothing is to be ended. */
int clew_why_answer_begin(struct clew_why_answer *answer, const struct clew_trace *trace,
			  const struct clew_relations *relations);
/* The fields of one why in the open object of `fields`. 0 or -ENOMEM. */
int clew_json_why(struct clew_why_answer *answer, const struct clew_why *why,
		  const struct clew_why_sums *sums);
/* Writes the answer, and frees what it has. 0 or -ENOMEM. */
int clew_why_answer_end(struct clew_why_answer *answer, FILE *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers about a causal trace that are lists of what it has, in text and in JSON. */
#ifndef CLEW_ANSWERS_MODEL_MODEL_H
#define CLEW_ANSWERS_MODEL_MODEL_H

#include <clew/annotate.h>
#include <clew/model.h>
#include <clew/model_make.h>
#include <clew/pair.h>
#include <clew/query.h>
#include <clew/slack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* clew dump */
void clew_print_dump(FILE *out, const struct clew_model *model);
void clew_json_dump(FILE *out, const struct clew_model *model);

/* clew check; `errors` of the problems are no warnings. */
void clew_print_problems(FILE *out, const struct clew_model *model,
			 const struct clew_problem *problems, size_t count, size_t errors);
void clew_json_problems(FILE *out, const struct clew_model *model,
			const struct clew_problem *problems, size_t count);

/* clew slack, between two moments. The text sorts the rows, and has the first `top`. */
void clew_print_slack(FILE *out, const struct clew_model *model, struct clew_slack *slack,
		      uint32_t top, clew_time from, clew_time to);
void clew_json_slack(FILE *out, const struct clew_model *model, const struct clew_slack *slack,
		     clew_time from, clew_time to);

/* The spans or positions that a pattern selects. */
struct clew_selected {
	const struct clew_model *model;
	uint32_t *spans;
	size_t span_count;
	struct clew_positions positions;
	bool is_position;
};

void clew_print_selected(FILE *out, const struct clew_selected *selected);
void clew_json_selected(FILE *out, const struct clew_selected *selected);

/* Marks or names that match a type's expressions. */
static inline uint64_t clew_pair_events(const struct clew_pair_metrics *metrics)
{
	return metrics->origins + metrics->destinations;
}

void clew_print_paired(FILE *out, const struct clew_paired *paired);
void clew_json_paired(FILE *out, const struct clew_paired *paired);

/* clew annotate; `text`: that of all rules, `marks`: by rule. */
void clew_print_marks(FILE *out, const struct clew_model *model, const char *text,
		      const struct clew_annotation *rules, const uint64_t *marks);
void clew_json_marks(FILE *out, const struct clew_model *model, const char *text,
		     const struct clew_annotation *rules, const uint64_t *marks);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of `clew path`: the question, the answer, and how it is printed. Functions
 * that return an int return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_PATH_PATH_H
#define CLEW_CLI_PATH_PATH_H

#include <clew/path.h>

#include "answers/path/path_stacks.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"
#include "cli/record/fresh.h"
#include "words/es.h"
#include "words/places.h"

struct path_values {
	struct clew_group_choice group;
	const char *from;
	const char *to;
	const char *all;
	const char *hierarchy;
	const char *marks;
	struct clew_number top;
	uint64_t idle; /* bit mask, 0 the default */
	uint32_t strategy;
	bool operations;
	bool all_origins;
	struct clew_source_choice source;
	bool json;
	struct clew_fresh fresh;
};

/* A path and its segments; with --all, the span that it is an instance of. */
struct path_found {
	struct clew_path path;
	struct clew_path_segment *segments;
	size_t segment_count;
	struct clew_path_mark *marks;
	size_t mark_count;
	uint32_t span;
};

/* Sums over all paths. */
struct path_sum {
	size_t count;
	size_t without_path; /* instances that have none */
	clew_time whole;     /* ns from their starts to their ends */
	clew_time work;	     /* ns of their elements */
	clew_time start;     /* of the first one; */
	clew_time end;	     /* of the last one */
};

struct path_answer {
	const struct path_values *values;
	struct clew_ends ends; /* as in the values, but perhaps in other words */
	const struct clew_model *model;
	struct clew_scope scope;
	struct clew_path_finder *finder;
	struct clew_path_totals *totals;
	struct clew_span_names names;
	struct clew_trace *places; /* what threads ran in */
	struct clew_place_sums ran_in;
	struct clew_path_stacks stacks;
	struct path_sum sum;
	struct path_found *found; /* none where only sums are printed */
	size_t count;
	int error; /* of the printing, 0 none */
};

/* Makes what an answer about a model needs. 0 or -ENOMEM; path_answer_done() in either case. */
int path_answer_init(struct path_answer *answer, const struct clew_model *model,
		     struct clew_trace *stacks);
void path_answer_done(struct path_answer *answer);

/* True if the paths of all instances are asked for: of a pattern, or of all threads of a group. */
bool path_is_all(const struct path_values *values);
int path_out_of_memory(void);
/* Finds all that was asked for. */
int path_find(struct path_answer *answer);
/* Finds and adds the path of an operation of a span. 0, -EINVAL or -ENOMEM. */
int path_find_operation(struct path_answer *answer, uint32_t span,
			const struct clew_path_operation *operation);
/* The spans that were chosen, in order. The caller frees them. */
int path_spans(const struct path_values *values, const struct clew_scope *scope,
	       const struct clew_model *model, uint32_t **ret_spans, size_t *ret_count);
/* Fails if nothing was found. */
int path_check_found(const struct path_answer *answer);

/* The running of a segment, as far as it lies in one call. */
struct clew_segment path_place_of(const struct path_answer *answer,
				  const struct clew_path_segment *segment);
/* Keeps the first failure of an output that goes on. */
void path_note(struct path_answer *answer, int r);

/* Prints the answer and what is known to be missing from it. */
int path_print(struct path_answer *answer);
void path_print_json(struct path_answer *answer);
void path_print_text(struct path_answer *answer);

/* True if the answer can be added up from windows. */
bool path_has_windows(const struct clew_reader *reader, const struct path_values *values);
/* Answers about a long capture. */
int path_in_windows(const char *operand, struct clew_reader *reader,
		    const struct path_values *values);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of `clew blame`: the question, the answer, and how it is printed.
 * Functions that return an int return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_BLAME_BLAME_H
#define CLEW_CLI_BLAME_BLAME_H

#include <clew/blame.h>

#include "answers/path/blame_functions.h"
#include "answers/path/blame_names.h"
#include "answers/path/pair_places.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "words/es.h"

struct blame_values {
	struct clew_group_choice group;
	const char *victims;
	const char *antagonists;
	const char *hierarchy;
	struct clew_number top;
	const char *by;
	bool all_running;
	struct clew_window window;
	struct clew_source_choice source;
	bool json;
};

struct blame_answer {
	struct clew_span_names victims, antagonists;
	struct clew_blame_pair *pairs;
	size_t count;
	struct clew_blame_shares by_name;
	struct clew_pair_places ran_in;
	struct clew_blame_rows by_function;
	bool is_by_function;
	bool all_running;
	clew_time from, to; /* the interval that it is about */
	clew_time unknown;  /* ns in run queues of which is not known what ran meanwhile */
	int error;	    /* of the printing, 0 none */
};

/* Adds the pairs up as they are printed, and prints them. */
int blame_print(struct blame_answer *answer, const struct blame_values *values);
void blame_answer_done(struct blame_answer *answer);
int blame_fail_for_memory(void);

/* The spans that were chosen by a model. NULL: all. */
struct blame_choice {
	uint32_t *victims;
	size_t victim_count;
	uint32_t *antagonists;
	size_t antagonist_count;
};

/* `only`: by span, the possible victims; NULL: all. blame_choice_done() in any case. */
int blame_choose(const struct clew_model *model, const struct blame_values *values,
		 const bool *only, struct blame_choice *ret_choice);
void blame_choice_done(struct blame_choice *choice);

/*
 * All spans, or those, but clew's own: by default clew is not a victim, but it may be an
 * antagonist. NULL: no memory.
 */
uint32_t *blame_find_others(const struct clew_model *model, const bool *only, size_t *ret_count);

/* True if the answer can be added up from windows. */
bool blame_has_windows(const struct clew_reader *reader, const struct blame_values *values);
/* Answers about a long capture. */
int blame_in_windows(const char *operand, struct clew_reader *reader,
		     const struct blame_values *values);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace as it would have been, as text and as JSON, on standard output. */
#ifndef CLEW_ANSWERS_WHATIF_WHATIF_H
#define CLEW_ANSWERS_WHATIF_WHATIF_H

#include <clew/what_if.h>

struct clew_what_if_answer {
	const struct clew_model *model; /* as it was */
	const struct clew_program *program;
	const char *text;	 /* of which it was compiled */
	const uint64_t *matches; /* of its statements: how often each was applied */
	const char *sweep;	 /* the statement of the sweep */
	uint32_t top;		 /* spans in text */
};

/* One factor of a sweep. */
struct clew_what_if_step {
	double factor;
	struct clew_what_if result;
};

void clew_print_sweep(const struct clew_what_if_answer *answer,
		      const struct clew_what_if_step *steps, uint32_t count);
void clew_json_sweep(const struct clew_what_if_answer *answer,
		     const struct clew_what_if_step *steps, uint32_t count);
/* Before and after. 0 or -ENOMEM. */
int clew_print_what_if(const struct clew_what_if_answer *answer, const struct clew_model *after,
		       const struct clew_what_if *result);
void clew_json_what_if(const struct clew_what_if_answer *answer, const struct clew_model *after,
		       const struct clew_what_if *result);

#endif

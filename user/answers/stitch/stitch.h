/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew stitch` as text and as JSON: several causal traces as one. */
#ifndef CLEW_ANSWERS_STITCH_STITCH_H
#define CLEW_ANSWERS_STITCH_STITCH_H

#include <clew/stitch.h>
#include <stdio.h>

struct clew_stitch_answer {
	char *const *names; /* of the traces */
	uint32_t count;
	const struct clew_stitching *program; /* compiled of `text`; NULL: there is none */
	const char *text;
	const struct clew_stitch_clock *clocks; /* of the traces */
	const struct clew_stitch_result *result;
};

/* `model` is the one trace. */
void clew_print_stitch(FILE *out, const struct clew_stitch_answer *answer,
		       const struct clew_model *model);
void clew_json_stitch(FILE *out, const struct clew_stitch_answer *answer,
		      const struct clew_model *model);

#endif

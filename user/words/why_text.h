/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A why as text: the causes by size, grouped by program where most are small,
 * then the timeline.
 */
#ifndef CLEW_WORDS_WHY_TEXT_H
#define CLEW_WORDS_WHY_TEXT_H

#include "explain/why.h"

#include "words/by_program.h"
#include "words/causes.h"
#include "words/restraints.h"

/* What a why adds up to; each list is the caller's. */
struct clew_why_sums {
	struct clew_why_cause *causes;
	struct clew_program_share *shares;
	struct clew_restraint *restraints;
	size_t cause_count, share_count, restraint_count;
};

/* `all`: print each cause and each segment, whatever their number. */
void clew_print_why(FILE *out, const struct clew_trace *trace,
		    const struct clew_relations *relations, const struct clew_why *why,
		    const struct clew_why_sums *sums, bool all);

#endif

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

/* `all`: print each cause and each segment, whatever their number. */
void clew_print_why(FILE *out, const struct clew_trace *trace,
		    const struct clew_relations *relations, const struct clew_why *why,
		    const struct clew_why_cause *causes, size_t cause_count,
		    const struct clew_program_share *shares, size_t share_count, bool all);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A why as text: the time as a tree, then, where that is short or was asked for,
 * the steps in order of time.
 */
#ifndef CLEW_ANSWERS_WHY_WHY_TEXT_H
#define CLEW_ANSWERS_WHY_WHY_TEXT_H

#include "explain/why.h"

#include "answers/why/by_program.h"
#include "answers/why/causes.h"
#include "answers/why/restraints.h"
#include "answers/why/why_tree.h"

/* The sums of a why; each list is the caller's. */
struct clew_why_sums {
	struct clew_why_cause *causes;
	struct clew_program_share *shares;
	struct clew_restraint *restraints;
	size_t cause_count, share_count, restraint_count;
};

/* The way in which a why is shown. */
struct clew_why_view {
	bool all;     /* each node of the tree and each segment, whatever their number */
	bool steps;   /* the steps, too, at most 60 lines of them unless `all` */
	bool ledger;  /* behind it, also where nothing is lost in this time */
	size_t lines; /* how many lines to fill, about; steps that fit are shown unasked */
	size_t width; /* columns */
};

/*
 * Makes the tree of a why and chooses what is shown of it. *ret_left: ns that are not shown, in
 * *ret_count leaves. 0 or -ENOMEM. Free the tree with clew_tree_done().
 */
int clew_why_make_tree(const struct clew_trace *trace, const struct clew_relations *relations,
		       const struct clew_why *why, const struct clew_why_view *view,
		       struct clew_tree *ret_tree, uint64_t *ret_left, size_t *ret_count);

/* `sums`: only the restraints are used. 0 or -ENOMEM. */
int clew_print_why(FILE *out, const struct clew_trace *trace,
		   const struct clew_relations *relations, const struct clew_why *why,
		   const struct clew_why_sums *sums, const struct clew_why_view *view);

#endif

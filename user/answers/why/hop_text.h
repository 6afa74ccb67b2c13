/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Phrases without a subject, for the nodes of a why's tree: "waited for holder-2, holding
 * futex 0x7f001000" describes a hop of a chain, "was running" the segment itself.
 */
#ifndef CLEW_ANSWERS_WHY_HOP_TEXT_H
#define CLEW_ANSWERS_WHY_HOP_TEXT_H

#include "explain/why.h"

#include "words/beside.h"

/* A text around the name of a task. Both parts are to be freed with clew_phrase_done(). */
struct clew_phrase {
	char *before, *after;
	uint32_t task;	  /* serial; CLEW_NO_TASK: no name is in it */
	uint64_t at;	  /* ns, the moment of the name */
	uint8_t evidence; /* enum clew_evidence, of the dependency that it tells */
	bool partly;	  /* some of its dependencies are exact nevertheless */
};

/*
 * Makes the phrase for the wait of the task at a place of the segment's chain. `broad`:
 * name the kind of the wait instead of its object, so that all threads of a pool share one
 * phrase. 0 or -ENOMEM.
 */
int clew_hop_phrase(const struct clew_trace *trace, const struct clew_relations *relations,
		    const struct clew_segment *segment, uint32_t place, bool broad,
		    struct clew_phrase *ret_phrase);

/* Makes the phrase for a segment itself. `beside`: a result of clew_beside_find(), or NULL. 0 or
 * -ENOMEM. */
int clew_leaf_phrase(const struct clew_trace *trace, const struct clew_relations *relations,
		     const struct clew_segment *segment, const struct clew_beside *beside,
		     bool broad, struct clew_phrase *ret_phrase);

/* Prints ", observed" behind a phrase whose dependency is not exact. */
void clew_print_phrase_evidence(FILE *out, const struct clew_phrase *phrase);

void clew_phrase_done(struct clew_phrase *phrase);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts of a why without their subject, for trees: "waited for holder-2, holding
 * futex 0x7f001000" is one hop of a chain, "was running" is what the last task did.
 */
#ifndef CLEW_WORDS_HOP_TEXT_H
#define CLEW_WORDS_HOP_TEXT_H

#include "explain/why.h"

#include "words/beside.h"

/* A text around the name of a task. Both parts are to be freed with clew_phrase_done(). */
struct clew_phrase {
	char *before, *after;
	uint32_t task; /* serial; CLEW_NO_TASK: no name is in it */
	uint64_t at;   /* ns, the moment of the name */
};

/*
 * What the task at a place of the segment's chain waited for. `broad`: kinds of
 * waits instead of objects, so that the waits of a pool's threads have equal words.
 * 0 or -ENOMEM.
 */
int clew_hop_phrase(const struct clew_trace *trace, const struct clew_relations *relations,
		    const struct clew_segment *segment, uint32_t place, bool broad,
		    struct clew_phrase *ret_phrase);

/* What the segment's task did. `beside`: NULL, or as of clew_beside_find(). */
int clew_leaf_phrase(const struct clew_trace *trace, const struct clew_relations *relations,
		     const struct clew_segment *segment, const struct clew_beside *beside,
		     bool broad, struct clew_phrase *ret_phrase);

void clew_phrase_done(struct clew_phrase *phrase);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Announced calls in a why, in words. Texts are safe to print. */
#ifndef CLEW_WORDS_CALLED_H
#define CLEW_WORDS_CALLED_H

#include "explain/why.h"
#include <stdio.h>

#include "format/json.h"

/* All that the words about a call depend on, except for names of tasks. */
struct clew_call_key {
	uint64_t call, caller;
	uint32_t task;
	uint32_t callers; /* how many there are; 0: no call */
	uint8_t evidence;
	bool bridged;
};
/* Fills a zeroed `key`; it stays zeroed if `relation` is NULL. */
void clew_call_key(const struct clew_relations *relations, const struct clew_relation *relation,
		   struct clew_call_key *key);

/*
 * Prints ", whose call kv.get was for app.load of A-1 (observed, bridged), ".
 */
void clew_print_called(FILE *out, const struct clew_trace *trace,
		       const struct clew_relations *relations,
		       const struct clew_relation *relation);
/*
 * Prints " [call, exact: kv.get for app.load of A-1]" and the call's
 * descriptors.
 */
void clew_print_call_step(FILE *out, const struct clew_trace *trace,
			  const struct clew_relations *relations,
			  const struct clew_relation *relation);
/*
 * Prints ", in kv.get": the call that the segment's task is in, unless the step
 * that led there names it.
 */
void clew_print_activity_call(FILE *out, const struct clew_relations *relations,
			      const struct clew_segment *segment);
/* Prints the announced words of that call, under the same condition. */
void clew_print_activity_words(FILE *out, const struct clew_relations *relations,
			       const struct clew_segment *segment);
/*
 * Prints ", perhaps for kv.get of B-2, which was for app.load of A-1 or ..";
 * nothing if the segment has no possible call.
 */
void clew_print_perhaps(FILE *out, const struct clew_trace *trace,
			const struct clew_relations *relations, const struct clew_segment *segment);

#endif

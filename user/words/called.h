/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Announced calls in a why, in JSON and in words. Texts are safe to print. */
#ifndef CLEW_WORDS_CALLED_H
#define CLEW_WORDS_CALLED_H

#include "explain/why.h"
#include <stdio.h>

#include "words/json.h"

/* Everything that the words of a call are made of, but for names of tasks. */
struct clew_call_key {
	uint64_t call, caller;
	uint32_t task;
	uint32_t callers; /* their number; 0: no call */
	uint8_t evidence;
	bool bridged;
};
/* `key` is zeroed, and stays so where `relation` is NULL. */
void clew_call_key(const struct clew_relations *relations, const struct clew_relation *relation,
		   struct clew_call_key *key);

/* ", whose call kv.get was for app.load of A-1 (observed, bridged), " */
void clew_print_called(FILE *out, const struct clew_trace *trace,
		       const struct clew_relations *relations,
		       const struct clew_relation *relation);
/* "  [call, exact: kv.get for app.load of A-1]", and what people call it. */
void clew_print_call_step(FILE *out, const struct clew_trace *trace,
			  const struct clew_relations *relations,
			  const struct clew_relation *relation);
/* ", in kv.get": the call that the segment's task is in, unless what led there says it. */
void clew_print_activity_call(FILE *out, const struct clew_relations *relations,
			      const struct clew_segment *segment);
/* The words that were announced of that call; nothing where that is not so. */
void clew_print_activity_words(FILE *out, const struct clew_relations *relations,
			       const struct clew_segment *segment);
/* ", perhaps for kv.get of B-2, which was for app.load of A-1 or ..": nothing where no call may be
 * meant. */
void clew_print_perhaps(FILE *out, const struct clew_trace *trace,
			const struct clew_relations *relations, const struct clew_segment *segment);

/* "via" of the object that is open: the dependency that led to the segment's task, null none. */
void clew_json_via(struct clew_json *json, const struct clew_trace *trace,
		   const struct clew_relations *relations, const struct clew_segment *segment);
/* "activity" and "descriptors" of the object that is open: the call that the segment's task is in.
 */
void clew_json_activity(struct clew_json *json, const struct clew_relations *relations,
			const struct clew_segment *segment);
/* "perhaps": who may do what the wait is for. */
void clew_json_perhaps(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_relations *relations,
		       const struct clew_relation *relation);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announced calls in a why, in JSON and in words. Where several calls are
 * possible, some are named, with how many there are, and that the right one is
 * not known.
 */
#include "words/called.h"

#include <clew/tokens.h>

#include "words/descriptors.h"
#include "words/segment.h"
#include "words/task.h"

/* The number of possible callers that text names and JSON lists. */
enum { SAID_MOST = 3 };

/* Prints " (observed, bridged)": what is not certain of a call. */
static void print_doubt(FILE *out, unsigned evidence, bool bridged)
{
	fprintf(out, " (%s%s)", clew_evidence_name(evidence), bridged ? ", bridged" : "");
}

void clew_print_perhaps(FILE *out, const struct clew_trace *trace,
			const struct clew_relations *relations, const struct clew_segment *segment)
{
	const struct clew_relation *relation = segment->perhaps;
	const struct clew_activity *lower;

	if (!relation)
		return;
	lower = clew_relations_lower(relations, relation);
	fputs(", perhaps for ", out);
	clew_print_call(out, lower);
	fputs(" of ", out);
	clew_print_task(out, trace, lower->task, lower->begin);
	for (uint32_t i = 0; i < relation->upper_count && i < SAID_MOST; i++) {
		const struct clew_activity *upper = clew_relations_upper(relations, relation, i);

		fputs(i ? " or " : ", which was for ", out);
		clew_print_call(out, upper);
		fputs(" of ", out);
		clew_print_task(out, trace, upper->task, upper->begin);
	}
	if (relation->upper_count > SAID_MOST)
		fprintf(out, " or %u more", relation->upper_count - SAID_MOST);
	print_doubt(out, relation->evidence, relation->bridged);
}

void clew_print_called(FILE *out, const struct clew_trace *trace,
		       const struct clew_relations *relations, const struct clew_relation *relation)
{
	const struct clew_activity *upper = clew_relations_upper(relations, relation, 0);

	fputs(", whose call ", out);
	clew_print_call(out, clew_relations_lower(relations, relation));
	fputs(" was for ", out);
	clew_print_call(out, upper);
	fputs(" of ", out);
	clew_print_task(out, trace, upper->task, upper->begin);
	print_doubt(out, CLEW_EVIDENCE_OBSERVED, relation->bridged);
	fputs(", ", out);
}

void clew_print_call_step(FILE *out, const struct clew_trace *trace,
			  const struct clew_relations *relations,
			  const struct clew_relation *relation)
{
	const struct clew_activity *lower = clew_relations_lower(relations, relation),
				   *upper = clew_relations_upper(relations, relation, 0);
	struct clew_description description = {};

	fprintf(out, "  [%s, %s%s: ", clew_edge_type_name(CLEW_EDGE_CALL),
		clew_evidence_name(CLEW_EVIDENCE_OBSERVED), relation->bridged ? ", bridged" : "");
	clew_print_call(out, lower);
	fputs(" for ", out);
	clew_print_call(out, upper);
	fputs(" of ", out);
	clew_print_task(out, trace, upper->task, upper->begin);
	fputc(']', out);
	clew_relations_describe(relations, lower->task, lower->begin, &description);
	clew_print_description(out, &description);
}

/* True if the call that led to a segment is not the one that its task is in. */
static bool is_in_other(const struct clew_relations *relations, const struct clew_segment *segment)
{
	return segment->activity &&
	       !(segment->called &&
		 clew_relations_lower(relations, segment->called) == segment->activity);
}

void clew_print_activity_call(FILE *out, const struct clew_relations *relations,
			      const struct clew_segment *segment)
{
	if (!is_in_other(relations, segment))
		return;
	fputs(", in ", out);
	clew_print_call(out, segment->activity);
}

void clew_print_activity_words(FILE *out, const struct clew_relations *relations,
			       const struct clew_segment *segment)
{
	struct clew_description description = {};

	if (!is_in_other(relations, segment))
		return;
	clew_relations_describe(relations, segment->task, segment->activity->begin, &description);
	clew_print_description(out, &description);
}

void clew_call_key(const struct clew_relations *relations, const struct clew_relation *relation,
		   struct clew_call_key *key)
{
	const struct clew_activity *lower;

	if (!relation)
		return;
	lower = clew_relations_lower(relations, relation);
	key->call = lower->name;
	key->task = lower->task;
	key->callers = relation->upper_count;
	for (uint32_t i = 0; i < relation->upper_count; i++) {
		const struct clew_activity *upper = clew_relations_upper(relations, relation, i);

		key->caller = key->caller * 31 + upper->name + upper->task;
	}
	key->evidence = relation->evidence;
	key->bridged = relation->bridged;
}

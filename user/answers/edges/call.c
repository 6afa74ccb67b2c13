/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A call that is for another one, in words and as JSON: it is in the list of dependencies. */
#include "answers/edges/internal.h"
#include "format/text.h"
#include "words/descriptors.h"
#include "words/edge.h"
#include "words/task.h"

/*
 * One end of a relation. Its moment is the begin of the activity, or of the
 * lower activity if the two are nested.
 */
static struct edge_end activity_end(const struct edge_words *words,
				    const struct clew_relation *relation, uint32_t place)
{
	const struct clew_activity *activity = &words->activities[place],
				   *lower = &words->activities[relation->lower];
	struct edge_end end = {.serial = activity->task,
			       .at = relation->nested ? lower->begin : activity->begin};

	snprintf(end.comm, sizeof(end.comm), "%s",
		 clew_trace_comm_at(words->trace, end.serial, end.at));
	return end;
}

static void json_uppers(struct edge_words *words, const struct clew_relation *relation,
			const char *key, bool all)
{
	clew_json_array(&words->json, key);
	for (uint32_t i = 0; all && i < relation->upper_count; i++) {
		struct edge_end end = activity_end(words, relation, relation->uppers[i]);

		edge_json_end(&words->json, words->trace, &end);
	}
	clew_json_array_end(&words->json);
}

/* Describes what the lower call was announced to be about. */
static void describe_lower(const struct edge_words *words, const struct clew_relation *relation,
			   struct clew_description *ret_description)
{
	const struct clew_activity *lower = &words->activities[relation->lower];

	*ret_description = (struct clew_description){};
	clew_relations_describe(words->relations, lower->task, lower->begin, ret_description);
}

static unsigned type_of(const struct clew_relation *relation)
{
	return relation->submitted ? CLEW_EDGE_SUBMIT : CLEW_EDGE_CALL;
}

void edge_json_relation(struct edge_words *words, const struct clew_relation *relation)
{
	struct clew_json *json = &words->json;
	struct clew_description description;
	struct edge_end end = activity_end(words, relation, relation->lower);

	clew_json_object(json, NULL);
	clew_json_string(json, "type", clew_edge_type_name(type_of(relation)));
	clew_json_string(json, "evidence", clew_evidence_name(relation->evidence));
	clew_json_string(json, "context", clew_context_name(CLEW_WAKE_TASK));
	clew_json_string(json, "relation", clew_edge_relation(type_of(relation)));
	clew_json_bool(json, "bridged", relation->bridged);
	json_uppers(words, relation, "from", true);
	clew_json_array(json, "to");
	edge_json_end(json, words->trace, &end);
	clew_json_array_end(json);
	clew_json_null(json, "object");
	json_uppers(words, relation, "candidates", relation->upper_count > 1);
	describe_lower(words, relation, &description);
	clew_json_description(json, &description);
	clew_json_call(json, words->relations, relation);
	clew_json_null(json, "waker_stack");
	clew_json_object_end(json);
}

void edge_print_relation(struct edge_words *words, const struct clew_relation *relation)
{
	FILE *out = stdout;
	struct clew_description description;
	const struct clew_activity *lower = &words->activities[relation->lower];
	uint64_t start = clew_trace_start(words->trace);

	printf("+%-13s %-8s ",
	       CLEW_OFFSET(lower->begin > start ? lower->begin - start : 0,
			   clew_trace_end(words->trace) - start),
	       clew_edge_type_name(type_of(relation)));
	for (uint32_t i = 0; i < relation->upper_count; i++) {
		struct edge_end end = activity_end(words, relation, relation->uppers[i]);

		if (i)
			fputs(" or ", stdout);
		edge_print_end(out, words->trace, &end);
	}
	fputs(" -> ", stdout);
	struct edge_end end = activity_end(words, relation, relation->lower);

	edge_print_end(out, words->trace, &end);
	fputs("  by ", stdout);
	clew_print_call(stdout, lower);
	describe_lower(words, relation, &description);
	clew_print_description(stdout, &description);
	printf("  (%s%s)\n", clew_evidence_name(relation->evidence),
	       relation->bridged ? ", bridged" : "");
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announced calls as dependencies of types call and return, after all others.
 * They are not read back: the trace derives them from its announcements again.
 */
#include "convert/to_model.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int capture_find_calls(struct conversion *conversion)
{
	size_t count, moments;
	int r;

	clew_trace_announcements(conversion->trace, &count);
	clew_trace_moments(conversion->trace, &moments);
	if (!count && !moments)
		return 0;
	r = clew_relations_new(conversion->trace, NULL, &conversion->relations);
	/* The description of the layers is invalid: calls are unknown. */
	if (r == -EINVAL)
		return 0;
	return r < 0 ? r
		     : clew_relations_dependencies(conversion->relations, &conversion->calls,
						   &conversion->call_count);
}

void capture_calls_done(struct conversion *conversion)
{
	free(conversion->calls);
	clew_relations_free(conversion->relations);
}

static void add_call_name(struct pairs *pairs, enum attribute_key key,
			  const struct clew_activity *activity)
{
	pairs_begin(pairs, attribute_table[key].key);
	pairs_word(pairs, activity->interface);
	pairs_byte(pairs, '.');
	pairs_word(pairs, activity->operation);
}

/* Descriptors of the call, as words TYPE=VALUE. */
static void add_descriptors(struct conversion *conversion, const struct clew_activity *lower)
{
	struct clew_description description = {};
	struct pairs *pairs = &conversion->pairs;
	bool any = false;

	clew_relations_describe(conversion->relations, lower->task, lower->begin, &description);
	for (size_t i = 0; i < description.count; i++) {
		if (!strchr(description.words[i].name, '/'))
			continue;
		if (any)
			pairs_byte(pairs, ' ');
		else
			pairs_begin(pairs, attribute_table[ATTRIBUTE_DESCRIPTORS].key);
		any = true;
		pairs_word(pairs, description.words[i].name);
		pairs_byte(pairs, '=');
		pairs_word(pairs, description.words[i].value);
	}
}

int capture_describe_call(struct conversion *conversion, const struct clew_call_dependency *call,
			  uint32_t *ret_attributes)
{
	const struct clew_activity *lower =
		clew_relations_lower(conversion->relations, call->relation);
	struct pairs *pairs = &conversion->pairs;

	/* Nothing proves that the thread that ran after the return had waited
	 * for it. */
	pairs_add(pairs, ATTRIBUTE_EVIDENCE,
		  clew_evidence_name(call->is_return ? CLEW_EVIDENCE_OBSERVED
						     : call->relation->evidence));
	if (call->relation->bridged)
		pairs_add(pairs, ATTRIBUTE_BRIDGED, "yes");
	add_call_name(pairs, ATTRIBUTE_CALLED, lower);
	add_call_name(pairs, ATTRIBUTE_CALLER,
		      clew_relations_upper(conversion->relations, call->relation, 0));
	add_descriptors(conversion, lower);
	return pairs_make(pairs, conversion->maker, ret_attributes);
}

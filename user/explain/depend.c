/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls between tasks as dependencies. A return becomes a dependency only where `why`
 * follows the call: where a wake shows it, the trace has it already.
 */
#include "explain/depend.h"

#include "explain/why_internal.h"
#include <errno.h>
#include <stdlib.h>

/* A thread that sleeps in its call when the lower activity begins has done nothing for it since it
 * fell asleep. */
static uint64_t call_moment(const struct clew_trace *trace, const struct clew_activity *upper,
			    const struct clew_activity *lower)
{
	struct clew_piece piece;

	if (upper->is_async || !clew_trace_piece(trace, upper->task, lower->begin, false, &piece) ||
	    piece.kind != CLEW_PIECE_SLEEP || piece.start < upper->begin)
		return upper->begin;
	return piece.start;
}

static int find_return(const struct clew_relations *relations, struct why_search *search,
		       const struct clew_relation *relation,
		       struct clew_call_dependency *dependency, bool *ret_found)
{
	const struct clew_activity *upper = clew_relations_upper(relations, relation, 0);
	const struct clew_activity *lower = clew_relations_lower(relations, relation);
	const struct clew_sleep *sleep;
	int r;

	*ret_found = false;
	if (upper->is_async || lower->is_async || lower->end == CLEW_TIME_OPEN ||
	    lower->end > upper->end || lower->end <= lower->begin)
		return 0;
	r = why_search_waiter(search, relation, &sleep);
	if (r < 0 || !sleep || sleep->end == CLEW_TIME_OPEN || sleep->switch_in == CLEW_TIME_OPEN ||
	    sleep->switch_in < lower->end)
		return r;
	*dependency = (struct clew_call_dependency){
		.from = lower->task,
		.from_at = lower->end,
		.to = sleep->task,
		.to_at = sleep->switch_in,
		.relation = relation,
		.is_return = true,
	};
	*ret_found = true;
	return 0;
}

int clew_relations_dependencies(const struct clew_relations *relations,
				struct clew_call_dependency **ret_dependencies, size_t *ret_count)
{
	const struct clew_trace *trace = clew_relations_trace(relations);
	size_t relation_count, count = 0;
	const struct clew_relation *list = clew_relations_list(relations, &relation_count);
	struct clew_call_dependency *dependencies =
		malloc((2 * relation_count + 1) * sizeof(*dependencies));
	struct why_search *search = NULL;
	int r = dependencies ? why_search_new(trace, relations, &search) : -ENOMEM;

	for (size_t i = 0; i < relation_count && r >= 0; i++) {
		const struct clew_activity *upper = clew_relations_upper(relations, &list[i], 0);
		const struct clew_activity *lower = clew_relations_lower(relations, &list[i]);
		bool found;

		if (list[i].upper_count > 1 || upper->task == lower->task ||
		    !clew_trace_task(trace, upper->task) || !clew_trace_task(trace, lower->task))
			continue;
		dependencies[count++] = (struct clew_call_dependency){
			.from = upper->task,
			.from_at = list[i].at ?: call_moment(trace, upper, lower),
			.to = lower->task,
			.to_at = lower->begin,
			.relation = &list[i],
		};
		r = find_return(relations, search, &list[i], &dependencies[count], &found);
		count += r >= 0 && found;
	}
	why_search_free(search);
	if (r < 0) {
		free(dependencies);
		return r;
	}
	*ret_dependencies = dependencies;
	*ret_count = count;
	return 0;
}

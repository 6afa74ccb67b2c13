/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls between tasks as dependencies. That a call's thread goes on after what it
 * called is over is a dependency of its own only where `why` follows the call: where a
 * wake tells it, that is in the trace already.
 */
#include "explain/why_internal.h"
#include "relate/internal.h"
#include <errno.h>
#include <stdlib.h>

/* The upper one's thread sleeps in its call when the lower one begins: from there on it can have
 * done nothing for it. */
static uint64_t call_moment(const struct clew_relations *relations,
			    const struct clew_activity *upper, const struct clew_activity *lower)
{
	struct clew_piece piece;

	if (upper->is_async ||
	    !clew_trace_piece(relations->trace, upper->task, lower->begin, false, &piece) ||
	    piece.kind != CLEW_PIECE_SLEEP || piece.start < upper->begin)
		return upper->begin;
	return piece.start;
}

static int find_return(const struct clew_relations *relations, struct why_search *search,
		       const struct clew_relation *relation,
		       struct clew_call_dependency *dependency, bool *ret_found)
{
	const struct clew_activity *upper = relate_activity(relations, relation->uppers[0]);
	const struct clew_activity *lower = relate_activity(relations, relation->lower);
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
	const struct clew_relation *list = relations->list.data;
	struct clew_call_dependency *dependencies =
		malloc((2 * relations->list.count + 1) * sizeof(*dependencies));
	struct why_search *search = NULL;
	int r = dependencies ? why_search_new(relations->trace, relations, &search) : -ENOMEM;
	size_t count = 0;

	for (size_t i = 0; i < relations->list.count && r >= 0; i++) {
		const struct clew_activity *upper = relate_activity(relations, list[i].uppers[0]);
		const struct clew_activity *lower = relate_activity(relations, list[i].lower);
		bool found;

		if (list[i].upper_count > 1 || upper->task == lower->task ||
		    !clew_trace_task(relations->trace, upper->task) ||
		    !clew_trace_task(relations->trace, lower->task))
			continue;
		dependencies[count++] = (struct clew_call_dependency){
			.from = upper->task,
			.from_at = call_moment(relations, upper, lower),
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

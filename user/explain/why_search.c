/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wait that ends with an announced call: the task that sleeps because of
 * the call just before the call's end, as found by the search of `why`.
 */
#include "explain/why_internal.h"
#include <errno.h>
#include <stdlib.h>

int why_search_new(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct why_search **ret_search)
{
	struct why_search *search = calloc(1, sizeof(*search));

	if (!search)
		return -ENOMEM;
	search->trace = trace;
	search->relations = relations;
	search->hints.item = sizeof(uint32_t);
	if (vector_reserve(&search->hints, trace->tasks.count) < 0) {
		free(search);
		return -ENOMEM;
	}
	*ret_search = search;
	return 0;
}

void why_search_free(struct why_search *search)
{
	if (!search)
		return;
	vector_done(&search->hints);
	free(search->frames);
	free(search);
}

/*
 * The sleep that leads to `relation`, if the segment says so. Else *ret_before
 * is when the segment's task became ready, or its timer was due; 0: neither.
 */
static const struct clew_sleep *sleep_for(const struct why_search *search,
					  const struct clew_segment *segment,
					  const struct clew_relation *relation,
					  uint64_t *ret_before)
{
	struct clew_piece piece;

	*ret_before = 0;
	if (segment->called == relation) {
		if (!clew_trace_piece(search->trace, segment->chain[segment->chain_length - 1],
				      segment->start, false, &piece))
			return NULL;
		return piece.kind == CLEW_PIECE_SLEEP ? piece.sleep : NULL;
	}
	if (segment->late && segment->sleep)
		*ret_before = segment->sleep->links[0].begin;
	else if (segment->kind == CLEW_SEGMENT_RUNQUEUE &&
		 clew_trace_piece(search->trace, segment->task, segment->start, false, &piece))
		*ret_before = piece.start;
	return NULL;
}

int why_search_waiter(struct why_search *search, const struct clew_relation *relation,
		      const struct clew_sleep **ret_sleep)
{
	const struct clew_activity *lower = clew_relations_lower(search->relations, relation);
	const struct trace_task *asked = trace_task_find(
		search->trace, clew_relations_upper(search->relations, relation, 0)->task);
	uint64_t at = lower->end, before;
	int r = 0;

	*ret_sleep = NULL;
	/*
	 * A task that is ready, or whose timer is late, waited until an earlier
	 * moment: try again there.
	 */
	for (unsigned turn = 0; r >= 0 && asked && at > lower->begin && turn < 4; turn++) {
		struct clew_why why = {0};
		struct arena arena = {0};

		search->why = &why;
		search->arena = &arena;
		search->segment_capacity = 0;
		search->depth = 0;
		r = why_search_all(search, asked, at - 1, at);
		before = 0;
		if (r >= 0 && why.segment_count)
			*ret_sleep = sleep_for(search, &why.segments[0], relation, &before);
		free(why.segments);
		arena_done(&arena);
		at = before < at ? before : 0;
	}
	return r;
}

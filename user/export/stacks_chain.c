/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits and operations by what they waited for, to any depth: a task, its wait, the task that
 * it waited for with the type of the dependency, that one's wait, and so on to what the last
 * one did meanwhile.
 */
#include "export/stacks.h"

#include <errno.h>

#include "words/hops.h"
#include "words/short_name.h"

#define PROGRESS_EVERY 1024

/* "[unlock] worker", "[socket, observed] server". */
static uint32_t push_next(struct stacks *stacks, const struct clew_export *export, uint32_t parent,
			  struct clew_hop_via via, uint32_t task, uint64_t at)
{
	char text[CLEW_COMM_SIZE + 64];

	snprintf(text, sizeof(text), "[%s%s%s] %.*s",
		 via.type < 0 ? "other end"
			      : clew_trace_type_name(export->trace, (unsigned)via.type),
		 via.type < 0 || via.evidence == CLEW_EVIDENCE_EXACT ? "" : ", ",
		 via.type < 0 || via.evidence == CLEW_EVIDENCE_EXACT
			 ? ""
			 : clew_evidence_name(via.evidence),
		 CLEW_COMM_SIZE, clew_trace_comm_at(export->trace, task, at));
	return stacks_push(stacks, parent, text);
}

static void add_segment(struct stacks *stacks, const struct clew_export *export, uint32_t root,
			const struct clew_segment *segment)
{
	char name[CLEW_SHORT_NAME_SIZE];
	uint32_t node = root;

	for (uint32_t i = 0; i < clew_hop_count(segment); i++) {
		const struct clew_sleep *sleep = clew_hop_sleep(export->trace, segment, i);

		node = sleep ? stacks_wait(stacks, export->trace, node, sleep)
			     : stacks_push(stacks, node, clew_wait_kind_name(CLEW_WAIT_UNKNOWN));
		node = push_next(stacks, export, node, clew_hop_via_behind(segment, i),
				 clew_hop_next(segment, i), segment->start);
	}
	clew_segment_short_name(export->trace, segment, name);
	node = stacks_push(stacks, node, name);
	stacks_add(stacks, node, segment->kind, clew_segment_length(segment));
}

static void add_interval(struct stacks *stacks, const struct clew_export *export, uint32_t task,
			 uint64_t from, uint64_t to)
{
	uint32_t root = stacks_task(stacks, export->trace, task, from);
	struct clew_why why = {};

	if (clew_why_explain(export->trace, export->relations, task, from, to, &why) == -ENOMEM)
		stacks->error = -ENOMEM;
	for (size_t i = 0; i < why.segment_count && !stacks->error; i++)
		add_segment(stacks, export, root, &why.segments[i]);
	clew_why_done(&why);
}

void stacks_chains(struct stacks *stacks, const struct clew_export *export,
		   const struct stacks_asked *asked)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(export->trace, &count);

	if (export->stacks == CLEW_STACKS_CRITICAL) {
		for (size_t i = 0; i < export->operation_count; i++)
			add_interval(stacks, export, export->operations[i].task,
				     export->operations[i].from, export->operations[i].to);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (i % PROGRESS_EVERY == 0)
			export->progress(export->progress_context, (double)i / (double)count);
		if (stacks_wants(asked, &sleeps[i]))
			add_interval(stacks, export, sleeps[i].task, sleeps[i].start,
				     clew_trace_until(export->trace, sleeps[i].end));
	}
}

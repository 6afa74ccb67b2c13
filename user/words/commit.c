/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks whose handles are in a commit, from the trace's dependencies.
 *
 * A member's dependency ends at the begin of the commit; or, where the commit
 * waited for the member's handle, when that handle ended, and then both ends
 * are one moment.
 */
#include "words/commit.h"

#include <string.h>

#include "words/task.h"

/* The number of dependencies that are searched for one commit. */
#define EDGES_MOST 262144u

static void add(uint32_t *tasks, uint32_t *count, uint32_t task)
{
	uint32_t kept = *count < CLEW_COMMIT_SHOWN ? *count : CLEW_COMMIT_SHOWN, at = 0;

	while (at < kept && tasks[at] < task)
		at++;
	if (at < kept && tasks[at] == task)
		return;
	++*count;
	if (at == CLEW_COMMIT_SHOWN)
		return;
	kept = kept < CLEW_COMMIT_SHOWN ? kept : CLEW_COMMIT_SHOWN - 1;
	memmove(&tasks[at + 1], &tasks[at], (kept - at) * sizeof(*tasks));
	tasks[at] = task;
}

void clew_commit_find(const struct clew_trace *trace, uint32_t committer, uint64_t at,
		      uint32_t except, struct clew_commit *ret_commit)
{
	size_t count, low = 0, high, looked = 0;
	const struct clew_edge *edges = clew_trace_edges(trace, &count);
	uint64_t begun = 0;

	memset(ret_commit, 0, sizeof(*ret_commit));
	for (high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (edges[middle].to_at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && looked++ < EDGES_MOST && edges[low].to_at >= begun) {
		const struct clew_edge *edge = &edges[low];

		if (edge->type != CLEW_EDGE_JOURNAL || edge->to != committer || edge->ends_sleep)
			continue;
		if (edge->from_at < edge->to_at)
			begun = edge->to_at;
		if (edge->from == except)
			continue;
		if (edge->from_at < edge->to_at)
			add(ret_commit->members, &ret_commit->count, edge->from);
		else
			add(ret_commit->late, &ret_commit->late_count, edge->from);
	}
}

static void print_tasks(FILE *out, const struct clew_trace *trace, const char *word,
			const uint32_t *tasks, uint32_t count, uint64_t at)
{
	for (uint32_t i = 0; i < count && i < CLEW_COMMIT_SHOWN; i++) {
		fputs(i ? ", " : word, out);
		clew_print_task(out, trace, tasks[i], at);
	}
	if (count > CLEW_COMMIT_SHOWN)
		fputs(" and more", out);
}

void clew_print_commit(FILE *out, const struct clew_trace *trace, const struct clew_commit *commit,
		       uint64_t at)
{
	print_tasks(out, trace, ", with changes of ", commit->members, commit->count, at);
	if (commit->count)
		fputs(" in it", out);
	print_tasks(out, trace, ", held up by the open handle of ", commit->late,
		    commit->late_count, at);
}

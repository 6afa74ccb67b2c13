/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The code that a running task was in. */
#include "words/running.h"

#include <clew/kernel/calls.h>
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FEW_YIELDS 10 /* fewer are not worth a word */

/* The kernel copies or makes a process's memory in these; only then their stay is
 * exact. */
static bool is_fork(const struct clew_stay *stay)
{
	const char *call = clew_call_name(stay->call);

	return stay->evidence == CLEW_EVIDENCE_EXACT && stay->reason == CLEW_REASON_NONE && call &&
	       (!strncmp(call, "clone", 5) || !strcmp(call, "vfork"));
}

void clew_print_call_of(FILE *out, const struct clew_stay *stay)
{
	const char *call = clew_call_name(stay->call);

	if (call)
		fprintf(out, "in %s%s", call, is_fork(stay) ? " (fork)" : "");
	switch (stay->reason) {
	case CLEW_REASON_RECLAIM:
		fputs(", reclaiming memory", out);
		break;
	case CLEW_REASON_GROUP_RECLAIM:
		fputs(", reclaiming memory of its group", out);
		break;
	case CLEW_REASON_COMPACTION:
		fputs(", compacting memory", out);
		break;
	}
}

void clew_print_stay(FILE *out, const struct clew_stay *stay)
{
	if (!stay)
		return;
	if (clew_call_name(stay->call))
		fputs(stay->evidence == CLEW_EVIDENCE_CANDIDATE ? ", perhaps " : " ", out);
	clew_print_call_of(out, stay);
}

void clew_print_running(FILE *out, const struct clew_running *running)
{
	const char *call = clew_call_name(running->call);

	/* Where ticks seldom met it in a call, it was mostly not in that one. */
	if (call && running->in_call * 2 >= running->ticks) {
		if (running->ticks == 1)
			fprintf(out, ", in %s at the only tick", call);
		else
			fprintf(out, ", in %s at %u of %u ticks", call, running->in_call,
				running->ticks);
	}
	if (running->faults)
		fprintf(out, ", %" PRIu64 " page fault%s", running->faults,
			running->faults == 1 ? "" : "s");
	if (running->yields >= FEW_YIELDS)
		fprintf(out, ", which gave it up by sched_yield %" PRIu64 " times",
			running->yields);
}

const char *clew_memory_word(unsigned reason)
{
	switch (reason) {
	case CLEW_REASON_RECLAIM:
		return "reclaim";
	case CLEW_REASON_GROUP_RECLAIM:
		return "group reclaim";
	case CLEW_REASON_COMPACTION:
		return "compaction";
	default:
		return NULL;
	}
}

void clew_json_running(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_segment *segment)
{
	const struct clew_stay *stay = segment->stay;
	struct clew_running running;

	clew_running_find(trace, &segment, 1, &running);
	if (!stay && !running.ticks && !running.faults)
		return;
	clew_json_object(json, "in");
	clew_json_string(json, "call", clew_call_name(stay ? stay->call : running.call));
	clew_json_unsigned(json, "faults", running.faults);
	clew_json_string(json, "evidence", stay ? clew_evidence_name(stay->evidence) : NULL);
	clew_json_string(json, "memory", stay ? clew_memory_word(stay->reason) : NULL);
	clew_json_unsigned(json, "ticks", running.ticks);
	clew_json_unsigned(json, "call_ticks", running.in_call);
	clew_json_object_end(json);
}

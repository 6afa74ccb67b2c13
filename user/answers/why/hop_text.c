/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of a why without their subject. */
#include "answers/why/hop_text.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

#include "answers/why/by_program.h"
#include "explain/unanswered.h"
#include "words/called.h"
#include "words/commit.h"
#include "words/descriptors.h"
#include "words/functions.h"
#include "words/hops.h"
#include "words/object.h"
#include "words/runtime_lock.h"
#include "words/segment.h"
#include "words/segment_text.h"
#include "words/source_file.h"
#include "words/stack.h"
#include "words/task.h"
#include "words/tried.h"

/* Streams for the two parts of a phrase. */
struct parts {
	FILE *before, *after;
	size_t before_size, after_size;
};

static int open_parts(struct parts *parts, struct clew_phrase *phrase)
{
	*phrase = (struct clew_phrase){.task = CLEW_NO_TASK};
	parts->before = open_memstream(&phrase->before, &parts->before_size);
	parts->after = open_memstream(&phrase->after, &parts->after_size);
	if (parts->before && parts->after)
		return 0;
	if (parts->before)
		fclose(parts->before);
	if (parts->after)
		fclose(parts->after);
	clew_phrase_done(phrase);
	return -ENOMEM;
}

static int close_parts(struct parts *parts, struct clew_phrase *phrase)
{
	if (!(fclose(parts->before) | fclose(parts->after)))
		return 0;
	clew_phrase_done(phrase);
	return -ENOMEM;
}

void clew_phrase_done(struct clew_phrase *phrase)
{
	free(phrase->before);
	free(phrase->after);
	*phrase = (struct clew_phrase){.task = CLEW_NO_TASK};
}

void clew_print_phrase_evidence(FILE *out, const struct clew_phrase *phrase)
{
	if (phrase->evidence != CLEW_EVIDENCE_EXACT)
		fprintf(out, ", %s%s", phrase->partly ? "partly " : "",
			clew_evidence_name(phrase->evidence));
}

/* ---- hops ---- */

/* A hop, and what is known of it. */
struct hop {
	const struct clew_trace *trace;
	const struct clew_segment *segment;
	const struct clew_sleep *sleep;
	struct clew_hop_via via;
	uint32_t place;
	bool last; /* it leads to the segment's task: the segment knows more of it */
	bool broad;
};

static void print_wait(FILE *out, const struct hop *hop)
{
	if (hop->broad || !hop->sleep)
		fputs(clew_wait_kind_name(hop->sleep ? hop->sleep->kind : CLEW_WAIT_UNKNOWN), out);
	else
		clew_print_hop_wait(out, hop->trace, hop->sleep);
}

static void print_in_brackets(FILE *out, const struct hop *hop)
{
	fputs(" (", out);
	print_wait(out, hop);
	fputc(')', out);
}

/* Prints the object that the awaited task has, without which the wait cannot end. */
static void print_possession(FILE *out, const struct hop *hop)
{
	struct clew_unanswered unanswered;

	if (!hop->last || !hop->segment->by_end)
		fputs(", holding ", out);
	else if (hop->via.type == CLEW_EDGE_REQUEST)
		fputs(", which serves ", out);
	else if (hop->via.type == CLEW_EDGE_WAKE)
		fputs(" to end its wait for ", out);
	else if (hop->sleep &&
		 clew_unanswered_at(hop->trace, hop->sleep, hop->segment->start, &unanswered))
		fputs(", which did not accept (its accept queue was full) ", out);
	else
		fputs(", which has the other end of ", out);
	print_wait(out, hop);
}

static void print_start(FILE *out, const struct hop *hop)
{
	fputs(hop->via.type == CLEW_EDGE_FORK ? " to start " : " to go on as ", out);
	if (hop->last && !hop->broad)
		clew_print_task(out, hop->trace, hop->segment->born,
				clew_segment_awaited_until(hop->trace, hop->segment));
	else
		fputs("another task", out);
}

static void print_work(FILE *out, const struct hop *hop)
{
	fputs(clew_work_to_come(hop->sleep, hop->segment->start) ? " to queue work"
								 : " to do its work",
	      out);
}

static void print_commit(FILE *out, const struct hop *hop)
{
	struct clew_commit commit;

	if (hop->broad)
		return;
	clew_commit_find(hop->trace, clew_hop_next(hop->segment, hop->place),
			 hop->sleep ? hop->sleep->end : hop->segment->end,
			 hop->segment->chain[hop->place], &commit);
	clew_print_commit(out, hop->trace, &commit, hop->segment->start);
}

/* Prints the act that ends the wait, such as " to end", then the wait in brackets. */
static void print_deed(FILE *out, const struct hop *hop)
{
	switch (hop->via.type) {
	case CLEW_EDGE_EXIT:
		fputs(" to end", out);
		if (!hop->broad)
			clew_print_source_file(
				out, " (",
				clew_trace_task(hop->trace,
						clew_hop_next(hop->segment, hop->place)));
		return;
	case CLEW_EDGE_VFORK:
		fputs(" to end or start a program", out);
		return;
	case CLEW_EDGE_UNLOCK:
		fputs(" to release ", out);
		print_wait(out, hop);
		return;
	case CLEW_EDGE_FORK:
	case CLEW_EDGE_EXEC:
		print_start(out, hop);
		break;
	case CLEW_EDGE_WORK:
		print_work(out, hop);
		break;
	case CLEW_EDGE_REQUEST:
		fputs(hop->via.evidence == CLEW_EVIDENCE_EXACT || clew_is_imported(hop->trace)
			      ? " to have its request done"
			      : " to leave a place at the full device",
		      out);
		break;
	case CLEW_EDGE_TIMER:
		fputs(", which armed the timer", out);
		break;
	case CLEW_EDGE_SIGNAL:
		/* Another wait was not for the signal. */
		fputs(hop->sleep && hop->sleep->kind != CLEW_WAIT_SIGNAL &&
				      hop->sleep->kind != CLEW_WAIT_STOPPED
			      ? ", whose signal interrupted it"
			      : " to send a signal",
		      out);
		break;
	case CLEW_EDGE_JOURNAL:
		fputs(" to commit the journal", out);
		print_in_brackets(out, hop);
		print_commit(out, hop);
		return;
	default:
		break;
	}
	print_in_brackets(out, hop);
}

static void print_call(FILE *out, const struct hop *hop, const struct clew_relations *relations)
{
	const struct clew_relation *called = hop->last ? hop->segment->called : NULL;

	if (!called) {
		fputs(" to do its call", out);
	} else {
		fputs(" to do ", out);
		clew_print_call(out, clew_relations_lower(relations, called));
		fputs(" for ", out);
		clew_print_call(out, clew_relations_upper(relations, called, 0));
	}
	print_in_brackets(out, hop);
	if (called && called->bridged)
		fputs(", bridged", out);
}

int clew_hop_phrase(const struct clew_trace *trace, const struct clew_relations *relations,
		    const struct clew_segment *segment, uint32_t place, bool broad,
		    struct clew_phrase *ret_phrase)
{
	struct hop hop = {.trace = trace,
			  .segment = segment,
			  .sleep = clew_hop_sleep(trace, segment, place),
			  .via = clew_hop_via_behind(segment, place),
			  .place = place,
			  .last = place + 1 == clew_hop_count(segment),
			  .broad = broad};
	const struct clew_tried *tried;
	struct parts parts;
	int r = open_parts(&parts, ret_phrase);

	if (r < 0)
		return r;
	ret_phrase->task = clew_hop_next(segment, place);
	ret_phrase->at = hop.last ? segment->end - 1 : segment->start;
	if (hop.sleep && hop.sleep->frozen && hop.via.type != CLEW_EDGE_CALL) {
		fputs("was frozen until ", parts.before);
		fputs(" thawed it", parts.after);
		ret_phrase->evidence = hop.via.evidence;
		return close_parts(&parts, ret_phrase);
	}
	tried = hop.sleep ? clew_trace_tried(trace, hop.sleep) : NULL;
	if (tried && (!broad || tried->what == CLEW_TRIED_SAFEPOINT) &&
	    hop.via.type != CLEW_EDGE_CALL) {
		clew_print_tried(parts.before, trace, tried);
		fputs(clew_tried_before(tried), parts.before);
		fputs(clew_tried_after(tried), parts.after);
		ret_phrase->evidence = hop.via.evidence;
		return close_parts(&parts, ret_phrase);
	}
	fputs("waited", parts.before);
	if (!broad)
		clew_print_in_function(parts.before, trace, segment->chain[place], segment->start);
	if (!clew_has_functions(trace))
		clew_print_in_stack(parts.before, " in ", trace, hop.sleep);
	fputs(" for ", parts.before);
	if (hop.via.type == CLEW_EDGE_CALL)
		print_call(parts.after, &hop, relations);
	else if (clew_hop_holds(trace, segment, place) || (hop.last && segment->by_end))
		print_possession(parts.after, &hop);
	else
		print_deed(parts.after, &hop);
	if (hop.via.type >= 0)
		ret_phrase->evidence = hop.via.evidence;
	if (hop.sleep && clew_trace_retried(trace, hop.sleep))
		fputs(", in several calls", parts.after);
	return close_parts(&parts, ret_phrase);
}

/* ---- leaves ---- */

/* Ready, while another task had the CPU: the name of that task ends the phrase. */
static bool print_ready(FILE *out, const struct clew_trace *trace,
			const struct clew_segment *segment, bool broad)
{
	struct clew_piece piece = {.cpu = UINT16_MAX};
	char cpu[24] = "its CPU";

	if (!broad && clew_trace_piece(trace, segment->task, segment->start, false, &piece) &&
	    piece.cpu != UINT16_MAX)
		snprintf(cpu, sizeof(cpu), "CPU %u", piece.cpu);
	return clew_print_ready(out, broad ? NULL : trace, segment, cpu);
}

int clew_leaf_phrase(const struct clew_trace *trace, const struct clew_relations *relations,
		     const struct clew_segment *segment, const struct clew_beside *beside,
		     bool broad, struct clew_phrase *ret_phrase)
{
	bool busy = segment->kind == CLEW_SEGMENT_RUNQUEUE && segment->by != UINT32_MAX &&
		    segment->by != CLEW_NO_TASK && segment->by != segment->task;
	struct parts parts;
	int r = open_parts(&parts, ret_phrase);

	if (r < 0)
		return r;
	if (busy) {
		print_ready(parts.before, trace, segment, broad);
		ret_phrase->task = segment->by;
		ret_phrase->at = segment->start;
	} else if (broad) {
		clew_print_broadly(parts.before, trace, segment);
	} else {
		clew_print_activity(parts.before, trace, segment);
	}
	if (!broad) {
		clew_print_segment_function(parts.after, trace, segment);
		if (!clew_has_functions(trace))
			clew_print_in_stack(parts.after, ", in ", trace, clew_stack_sleep(segment));
		clew_print_activity_call(parts.after, relations, segment);
		clew_print_segment_lock(parts.after, segment);
		clew_print_perhaps(parts.after, trace, relations, segment);
		if (beside)
			clew_print_beside(parts.after, trace, beside);
		clew_print_own_reason(parts.after, trace, segment);
	}
	return close_parts(&parts, ret_phrase);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segments of a why as steps in order of time.
 *
 * A wait has a line where it begins, and what the task did that was waited for is
 * set in below it. A long list is abbreviated: an uninterrupted time in the run
 * queue is one step, only the longest steps have a line of their own, and
 * neighbours among the others share a line.
 */
#include "answers/why/why_steps.h"

#include <clew/tokens.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answers/why/hop_text.h"
#include "format/text.h"
#include "words/called.h"
#include "words/descriptors.h"
#include "words/functions.h"
#include "words/hops.h"
#include "words/ledger.h"
#include "words/running.h"
#include "words/runtime_lock.h"
#include "words/samples.h"
#include "words/segment.h"
#include "words/segment_text.h"
#include "words/stack.h"
#include "words/task.h"

#define MOST_LINES	60
#define WAKER_FUNCTIONS 3
#define MOST_BUSY	3 /* tasks that had the CPU meanwhile */

struct steps {
	FILE *out;
	const struct clew_trace *trace;
	const struct clew_relations *relations;
	const struct clew_why *why;
	const struct clew_segment
		*above; /* the last one that the hops printed belong to, or NULL */
	uint32_t depth; /* how many of its hops are in force */
};

static bool goes_on_in_queue(const struct clew_segment *first, const struct clew_segment *segment)
{
	return segment->kind == CLEW_SEGMENT_RUNQUEUE && segment->task == first->task &&
	       clew_segment_same_chain(segment, first);
}

/*
 * The number of segments from `i` on that are one step. Unless `abbreviate`, each is a
 * step.
 */
static size_t step_at(const struct clew_why *why, size_t i, bool abbreviate)
{
	const struct clew_segment *first = &why->segments[i];
	size_t n = 1;

	if (!abbreviate || first->kind != CLEW_SEGMENT_RUNQUEUE)
		return 1;
	while (i + n < why->segment_count && goes_on_in_queue(first, &why->segments[i + n]))
		n++;
	return n;
}

static uint64_t length_of_step(const struct clew_why *why, size_t i, size_t n)
{
	return why->segments[i + n - 1].end - why->segments[i].start;
}

/*
 * The number of segments from `i` on in steps shorter than the threshold; a threshold of 0
 * abbreviates nothing.
 */
static size_t short_ones(const struct clew_why *why, size_t i, uint64_t threshold)
{
	size_t n = 0;

	while (i + n < why->segment_count) {
		size_t step = step_at(why, i + n, threshold > 0);

		if (length_of_step(why, i + n, step) >= threshold)
			break;
		n += step;
	}
	return n;
}

static size_t count_lines(const struct clew_why *why, uint64_t threshold)
{
	size_t lines = 0;

	for (size_t i = 0; i < why->segment_count; lines++) {
		size_t n = short_ones(why, i, threshold);

		i += n ? n : step_at(why, i, threshold > 0);
	}
	return lines;
}

/*
 * The least length of a step that gets a line of its own, chosen to limit the
 * number of lines.
 */
static uint64_t choose_threshold(const struct clew_why *why)
{
	uint64_t longest[MOST_LINES + 1] = {0}; /* in descending order */
	size_t count = 0, n;

	for (size_t i = 0; i < why->segment_count; i += n) {
		uint64_t length;
		size_t at = count;

		n = step_at(why, i, true);
		length = length_of_step(why, i, n);
		if (count == MOST_LINES && length <= longest[count - 1])
			continue;
		for (; at > 0 && longest[at - 1] < length; at--)
			longest[at] = longest[at - 1];
		longest[at] = length;
		count += count < MOST_LINES;
	}
	while (count > 0 && count_lines(why, longest[count - 1]) > MOST_LINES)
		count--;
	return count ? longest[count - 1] : longest[0] + 1;
}

/* A task that had the CPU, and for how long in all. */
struct share {
	uint32_t by;
	uint64_t ns;
	uint64_t at; /* when it is named */
};

static int by_task(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->by < y->by ? -1 : x->by > y->by;
}

static int largest_first(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns ? 1 : by_task(a, b);
}

static size_t add_up(struct share *shares, size_t count)
{
	size_t kept = 0;

	qsort(shares, count, sizeof(*shares), by_task);
	for (size_t i = 1; i < count; i++)
		if (shares[i].by == shares[kept].by) {
			shares[kept].ns += shares[i].ns;
			shares[kept].at =
				shares[i].at > shares[kept].at ? shares[i].at : shares[kept].at;
		} else {
			shares[++kept] = shares[i];
		}
	qsort(shares, kept + 1, sizeof(*shares), largest_first);
	return kept + 1;
}

static void print_share(FILE *out, const struct clew_trace *trace, uint32_t task,
			const struct share *share)
{
	if (share->by == UINT32_MAX)
		fputs("who is not known", out);
	else if (share->by == CLEW_NO_TASK)
		fputs("nobody", out);
	else if (share->by == task)
		fputs("itself", out);
	else
		clew_print_task(out, trace, share->by, share->at);
	fprintf(out, " (%s)", CLEW_DURATION(share->ns));
}

/* ---- printing ---- */

/* True if a segment alone tells something of the hop that leads to it. */
static bool knows_more(const struct clew_segment *segment, uint32_t place)
{
	return place + 1 == clew_hop_count(segment) &&
	       (segment->called || segment->born != CLEW_NO_TASK || segment->by_end);
}

/* True if two segments have the same hop at a place, told by equal words. */
static bool same_hop(const struct clew_trace *trace, const struct clew_segment *a,
		     const struct clew_segment *b, uint32_t place)
{
	if (knows_more(a, place) != knows_more(b, place))
		return false;
	if (knows_more(a, place) &&
	    (a->called != b->called || a->born != b->born || a->by_end != b->by_end))
		return false;
	return clew_hop_sleep(trace, a, place) == clew_hop_sleep(trace, b, place) &&
	       clew_hop_key(trace, a, place) == clew_hop_key(trace, b, place);
}

/* The number of hops, from the asked task on, that two segments have in common. */
static uint32_t common_hops(const struct clew_trace *trace, const struct clew_segment *a,
			    const struct clew_segment *b)
{
	uint32_t n = 0;

	while (n < clew_hop_count(a) && n < clew_hop_count(b) && same_hop(trace, a, b, n))
		n++;
	return n;
}

static void print_moment(const struct steps *steps, uint64_t start, uint64_t end, uint32_t depth)
{
	const struct clew_why *why = steps->why;

	fprintf(steps->out, "  +%-12s %9s  %*s",
		CLEW_OFFSET(start - why->from, why->to - why->from), CLEW_DURATION(end - start),
		2 * (int)depth, "");
}

static void print_means(const struct steps *steps, const struct clew_segment *segment,
			uint32_t place)
{
	const struct clew_sleep *sleep = clew_hop_sleep(steps->trace, segment, place);
	const struct clew_retried *retried = sleep ? clew_trace_retried(steps->trace, sleep) : NULL;
	struct clew_hop_via via = clew_hop_via_behind(segment, place);
	struct clew_description description = {};
	bool last = place + 1 == clew_hop_count(segment);

	if (via.type >= 0)
		fprintf(steps->out, "  [%s%s",
			clew_trace_type_name(steps->trace, (unsigned)via.type),
			via.evidence == CLEW_EVIDENCE_EXACT ? ", exact" : "");
	if (via.type >= 0 && retried)
		fprintf(steps->out, ", in %" PRIu32 " calls", retried->slices);
	if (via.type >= 0)
		putc(']', steps->out);
	if (!last || !segment->called)
		return;
	clew_relations_describe(
		steps->relations, clew_relations_lower(steps->relations, segment->called)->task,
		clew_relations_lower(steps->relations, segment->called)->begin, &description);
	clew_print_description(steps->out, &description);
}

/* A wait that begins with segment `i`: it lasts as long as the segments have the same hops. */
static int print_hop(struct steps *steps, size_t i, uint32_t place)
{
	const struct clew_why *why = steps->why;
	const struct clew_segment *segment = &why->segments[i];
	const struct clew_sleep *sleep;
	struct clew_phrase phrase;
	size_t n = 1;
	int r = clew_hop_phrase(steps->trace, steps->relations, segment, place, false, &phrase);

	if (r < 0)
		return r;
	while (i + n < why->segment_count &&
	       common_hops(steps->trace, segment, &why->segments[i + n]) > place)
		n++;
	print_moment(steps, segment->start, why->segments[i + n - 1].end, place);
	fprintf(steps->out, "%s%s", place ? "it " : "", phrase.before);
	clew_print_task(steps->out, steps->trace, phrase.task, phrase.at);
	fputs(phrase.after, steps->out);
	clew_print_phrase_evidence(steps->out, &phrase);
	sleep = clew_hop_sleep(steps->trace, segment, place);
	if (sleep && sleep->ended_by == phrase.task)
		clew_print_waker_stack(steps->out, ", woken in ", steps->trace, sleep,
				       WAKER_FUNCTIONS);
	print_means(steps, segment, place);
	putc('\n', steps->out);
	clew_phrase_done(&phrase);
	return 0;
}

/* Prints the hops of segment `i` that are not in force. */
static int begin_hops(struct steps *steps, size_t i)
{
	const struct clew_segment *segment = &steps->why->segments[i];
	uint32_t common = steps->above ? common_hops(steps->trace, steps->above, segment) : 0;
	int r = 0;

	if (common > steps->depth)
		common = steps->depth;
	for (uint32_t place = common; place < clew_hop_count(segment) && r >= 0; place++)
		r = print_hop(steps, i, place);
	steps->above = segment;
	steps->depth = clew_hop_count(segment);
	return r;
}

static int print_segment(const struct steps *steps, const struct clew_segment *segment)
{
	struct clew_running running;
	int r;

	print_moment(steps, segment->start, segment->end, steps->depth);
	if (steps->depth)
		fputs("it ", steps->out);
	clew_print_activity(steps->out, steps->trace, segment);
	clew_print_segment_function(steps->out, steps->trace, segment);
	if (!clew_has_functions(steps->trace))
		clew_print_in_stack(steps->out, ", in ", steps->trace, clew_stack_sleep(segment));
	clew_running_find(steps->trace, &segment, 1, &running);
	clew_print_running(steps->out, &running);
	clew_print_activity_call(steps->out, steps->relations, segment);
	clew_print_segment_lock(steps->out, segment);
	clew_print_perhaps(steps->out, steps->trace, steps->relations, segment);
	clew_print_own_reason(steps->out, steps->trace, segment);
	clew_print_activity_words(steps->out, steps->relations, segment);
	if (segment->sleep && segment->sleep->blind)
		fprintf(steps->out, "  %s", clew_blind_mark(segment->sleep));
	r = clew_print_segment_samples(steps->out, ", ", steps->trace, &segment, 1);
	if (r >= 0)
		r = clew_print_functions(steps->out, steps->trace, &segment, 1);
	putc('\n', steps->out);
	return r;
}

/* An uninterrupted time in the run queue. */
static void print_queue(const struct steps *steps, size_t i, size_t n)
{
	const struct clew_segment *first = &steps->why->segments[i];
	struct share *shares = malloc(n * sizeof(*shares));
	size_t count;

	print_moment(steps, first->start, first[n - 1].end, steps->depth);
	fprintf(steps->out, "%swas ready", steps->depth ? "it " : "");
	for (size_t k = 0; shares && k < n; k++)
		shares[k] = (struct share){.by = first[k].by,
					   .ns = clew_segment_length(&first[k]),
					   .at = first[k].start};
	count = shares ? add_up(shares, n) : 0;
	for (size_t k = 0; k < count && k < MOST_BUSY; k++) {
		fputs(k ? ", " : "; on its CPU were ", steps->out);
		print_share(steps->out, steps->trace, first->task, &shares[k]);
	}
	if (count > MOST_BUSY)
		fprintf(steps->out, " and %zu more", count - MOST_BUSY);
	free(shares);
	putc('\n', steps->out);
}

static void print_short_ones(struct steps *steps, size_t i, size_t n)
{
	uint64_t by_kind[CLEW_SEGMENT_KIND_COUNT] = {0};
	const struct clew_segment *first = &steps->why->segments[i];
	const char *separator = "";

	/* They are below the hops that all of them have in common with what is above. */
	for (size_t k = 0; k < n; k++) {
		uint32_t common =
			steps->above ? common_hops(steps->trace, steps->above, &first[k]) : 0;

		if (common < steps->depth)
			steps->depth = common;
		if (first[k].kind < CLEW_SEGMENT_KIND_COUNT)
			by_kind[first[k].kind] += clew_segment_length(&first[k]);
	}
	print_moment(steps, first->start, first[n - 1].end, steps->depth);
	fprintf(steps->out, "%zu shorter steps: ", n);
	for (unsigned kind = 0; kind < CLEW_SEGMENT_KIND_COUNT; kind++) {
		if (!by_kind[kind])
			continue;
		fprintf(steps->out, "%s%s %s", separator, clew_wait_kind_name(kind),
			CLEW_DURATION(by_kind[kind]));
		separator = ", ";
	}
	putc('\n', steps->out);
}

int clew_print_steps(FILE *out, const struct clew_trace *trace,
		     const struct clew_relations *relations, const struct clew_why *why, bool all)
{
	uint64_t threshold = all || why->segment_count <= MOST_LINES ? 0 : choose_threshold(why);
	struct steps steps = {.out = out, .trace = trace, .relations = relations, .why = why};
	int r = 0;

	fputs("\nStep by step (in brackets: the dependency that led there, its evidence):\n", out);
	for (size_t i = 0; i < why->segment_count && r >= 0;) {
		size_t n = short_ones(why, i, threshold), step = step_at(why, i, threshold > 0);

		if (n > step) {
			print_short_ones(&steps, i, n);
		} else {
			r = begin_hops(&steps, i);
			if (r >= 0 && step > 1)
				print_queue(&steps, i, step);
			else if (r >= 0)
				r = print_segment(&steps, &why->segments[i]);
		}
		i += n ? n : step;
	}
	if (threshold)
		fprintf(out,
			"Neighbours shorter than %s, and all that somebody was ready at a stretch, "
			"are put together: --all shows all %zu steps.\n",
			CLEW_DURATION(threshold), why->segment_count);
	return r;
}

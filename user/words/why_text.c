/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A why as an explanation that a colleague would give.
 *
 * A long timeline is abbreviated. An uninterrupted time in the run queue is one
 * step. Only the longest steps have a line of their own; neighbours among the
 * others share a line.
 */
#include "words/why_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "words/called.h"
#include "words/group.h"
#include "words/hops.h"
#include "words/ledger.h"
#include "words/segment.h"
#include "words/segment_text.h"
#include "words/task.h"
#include "words/text.h"

#define MOST_CAUSES	12
#define MOST_SHARES	8 /* programs, listed where the causes shown leave out more than .. */
#define LEFT_OUT	4 /* .. one in so many parts of the time */
#define MOST_LINES	60
#define MOST_RESTRAINTS 6
#define MOST_BUSY	3 /* tasks that had the CPU meanwhile */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void print_header(FILE *out, const struct clew_trace *trace, const struct clew_why *why)
{
	const struct clew_trace_task *task = clew_trace_task(trace, why->task);
	const char *program = task ? clew_trace_program(trace, task) : NULL;
	uint64_t start = clew_trace_start(trace);

	clew_print_task(out, trace, why->task, why->to);
	fprintf(out, " took %s, from +%.6f s to +%.6f s of the capture.\n",
		CLEW_DURATION(why->to - why->from), (why->from - start) / 1e9,
		(why->to - start) / 1e9);
	if (task && (program || task->executable[0])) {
		fputs("It runs ", out);
		clew_print_safe(out, program ?: task->executable);
		fprintf(out, " (process %u)", task->pid);
		clew_print_group(out, trace, task);
		fputs(".\n", out);
	}
}

static uint64_t length_of(const struct clew_segment *segment)
{
	return segment->end - segment->start;
}

/* Adds the lengths of `n` segments from `i` on to those of their kinds. */
static void add_kinds(const struct clew_why *why, size_t i, size_t n,
		      uint64_t by_kind[CLEW_SEGMENT_KIND_COUNT])
{
	for (size_t k = i; k < i + n; k++)
		if (why->segments[k].kind < CLEW_SEGMENT_KIND_COUNT)
			by_kind[why->segments[k].kind] += length_of(&why->segments[k]);
}

/* The sums of all causes, shown or not, by kind of time, largest first. */
static void print_kinds(FILE *out, const struct clew_why *why)
{
	uint64_t by_kind[CLEW_SEGMENT_KIND_COUNT] = {0};
	const char *separator = "In all: ";

	add_kinds(why, 0, why->segment_count, by_kind);
	for (;;) {
		unsigned largest = 0;

		for (unsigned kind = 1; kind < CLEW_SEGMENT_KIND_COUNT; kind++)
			if (by_kind[kind] > by_kind[largest])
				largest = kind;
		/* Down to a tenth of a percent. */
		if (by_kind[largest] * 2000 < why->to - why->from || !by_kind[largest])
			break;
		fprintf(out, "%s%s %.1f %%", separator, clew_wait_kind_name(largest),
			percent(by_kind[largest], why->to - why->from));
		separator = ", ";
		by_kind[largest] = 0;
	}
	putc('\n', out);
}

static void print_part(FILE *out, const struct clew_why *why, uint64_t ns)
{
	fprintf(out, "  %5.1f %%  %9s  ", percent(ns, why->to - why->from), CLEW_DURATION(ns));
}

/* Where many causes are small: their sums by program. */
static void print_programs(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			   const struct clew_program_share *shares, size_t count)
{
	size_t shown = count <= MOST_SHARES ? count : MOST_SHARES;
	uint64_t rest = 0;

	fputs("\nWhere the time went, by program (others are those it waited for):\n", out);
	for (size_t i = 0; i < shown; i++) {
		print_part(out, why, shares[i].ns);
		clew_print_program_share(out, trace, why, &shares[i]);
		putc('\n', out);
	}
	for (size_t i = shown; i < count; i++)
		rest += shares[i].ns;
	if (shown < count) {
		print_part(out, why, rest);
		fprintf(out, "%zu more\n", count - shown);
	}
}

static void print_causes(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			 const struct clew_why_sums *sums, bool all)
{
	const struct clew_why_cause *causes = sums->causes;
	size_t count = sums->cause_count;
	size_t shown = all || count <= MOST_CAUSES ? count : MOST_CAUSES;
	uint64_t rest = 0;

	for (size_t i = shown; i < count; i++)
		rest += causes[i].ns;
	if (rest > (why->to - why->from) / LEFT_OUT) {
		print_programs(out, trace, why, sums->shares, sums->share_count);
		fputs("\nThe largest single causes:\n", out);
	} else {
		fputs("\nWhere the time went:\n", out);
	}
	for (size_t i = 0; i < shown; i++) {
		print_part(out, why, causes[i].ns);
		fprintf(out, "%s\n", causes[i].text);
	}
	if (shown < count) {
		print_part(out, why, rest);
		fprintf(out, "%zu more causes (--all shows them)\n", count - shown);
		print_kinds(out, why);
	}
	if (why->unknown_ns)
		fprintf(out, "%s of it (%.1f %%) cannot be followed in this capture.\n",
			CLEW_DURATION(why->unknown_ns),
			percent(why->unknown_ns, why->to - why->from));
}

/* What the causes, which tell the end of each chain, may show in small parts only. */
static void print_restraints(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			     const struct clew_restraint *restraints, size_t count)
{
	/* Down to a tenth of a percent. */
	for (size_t i = 0;
	     i < count && i < MOST_RESTRAINTS && restraints[i].ns * 2000 >= why->to - why->from;
	     i++) {
		if (i == 0)
			fputs("\nHeld back meanwhile, which is part of this time:\n", out);
		print_part(out, why, restraints[i].ns);
		clew_print_restraint(out, trace, &restraints[i]);
		putc('\n', out);
	}
}

/* ---- the timeline ---- */

static bool goes_on_in_queue(const struct clew_segment *first, const struct clew_segment *segment)
{
	return segment->kind == CLEW_SEGMENT_RUNQUEUE && segment->task == first->task &&
	       clew_segment_same_chain(segment, first);
}

/*
 * How many segments from `i` on are one step. Unless `abbreviate`, each is a
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
 * How many segments from `i` on are in steps shorter than the threshold; a
 * threshold of 0 abbreviates nothing.
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

/* Prints in how many slices the wait of a segment went on, if it was retried. */
static void print_slices(FILE *out, const struct clew_trace *trace,
			 const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep ?: clew_segment_awaiting(trace, segment);
	const struct clew_retried *retried = sleep ? clew_trace_retried(trace, sleep) : NULL;

	if (retried)
		fprintf(out, ", %" PRIu32 " slices", retried->slices);
}

static void print_via(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	fprintf(out, "  [%s", clew_trace_type_name(trace, (unsigned)segment->via_type));
	if (segment->born != CLEW_NO_TASK) {
		fputs(" -> ", out);
		clew_print_task(out, trace, segment->born,
				clew_segment_awaited_until(trace, segment));
	}
	fprintf(out, ", %s", clew_evidence_name(segment->via_evidence));
	print_slices(out, trace, segment);
	putc(']', out);
}

/* Prints when, how long, and which tasks wait for the one whose time it is, and for what. */
static void print_waiters(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			  const struct clew_segment *first, const struct clew_segment *last)
{
	fprintf(out, "  +%-12s %9s  ", CLEW_OFFSET(first->start - why->from, why->to - why->from),
		CLEW_DURATION(last->end - first->start));
	clew_print_hops(out, trace, first);
	clew_print_task(out, trace, first->task, last->end - 1);
	clew_print_own_reason(out, trace, first);
	putc(' ', out);
}

static void print_segment(FILE *out, const struct clew_trace *trace,
			  const struct clew_relations *relations, const struct clew_why *why,
			  const struct clew_segment *segment)
{
	print_waiters(out, trace, why, segment, segment);
	clew_print_activity(out, trace, segment);
	clew_print_activity_call(out, relations, segment);
	clew_print_perhaps(out, trace, relations, segment);
	if (segment->called)
		clew_print_call_step(out, trace, relations, segment->called);
	else if (segment->via_type >= 0)
		print_via(out, trace, segment);
	clew_print_activity_words(out, relations, segment);
	if (segment->sleep && segment->sleep->blind)
		fprintf(out, "  %s", clew_blind_mark(segment->sleep));
	putc('\n', out);
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

/* An uninterrupted time in the run queue. */
static void print_queue(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			size_t i, size_t n)
{
	const struct clew_segment *first = &why->segments[i];
	struct share *shares = malloc(n * sizeof(*shares));
	size_t count;

	print_waiters(out, trace, why, first, &why->segments[i + n - 1]);
	fputs("was ready", out);
	for (size_t k = 0; shares && k < n; k++)
		shares[k] = (struct share){
			.by = first[k].by, .ns = length_of(&first[k]), .at = first[k].start};
	count = shares ? add_up(shares, n) : 0;
	for (size_t k = 0; k < count && k < MOST_BUSY; k++) {
		fputs(k ? ", " : "; on its CPU were ", out);
		print_share(out, trace, first->task, &shares[k]);
	}
	if (count > MOST_BUSY)
		fprintf(out, " and %zu more", count - MOST_BUSY);
	free(shares);
	if (first->via_type >= 0 && !first->called)
		print_via(out, trace, first);
	putc('\n', out);
}

static void print_short_ones(FILE *out, const struct clew_why *why, size_t i, size_t n)
{
	uint64_t by_kind[CLEW_SEGMENT_KIND_COUNT] = {0};
	const struct clew_segment *first = &why->segments[i], *last = &why->segments[i + n - 1];
	const char *separator = "";

	add_kinds(why, i, n, by_kind);
	fprintf(out, "  +%-12s %9s  ... %zu shorter segments: ",
		CLEW_OFFSET(first->start - why->from, why->to - why->from),
		CLEW_DURATION(last->end - first->start), n);
	for (unsigned kind = 0; kind < CLEW_SEGMENT_KIND_COUNT; kind++) {
		if (!by_kind[kind])
			continue;
		fprintf(out, "%s%s %s", separator, clew_wait_kind_name(kind),
			CLEW_DURATION(by_kind[kind]));
		separator = ", ";
	}
	putc('\n', out);
}

static void print_timeline(FILE *out, const struct clew_trace *trace,
			   const struct clew_relations *relations, const struct clew_why *why,
			   bool all)
{
	uint64_t threshold = all || why->segment_count <= MOST_LINES ? 0 : choose_threshold(why);

	fputs("\nStep by step (waiter <- (what it waited for) whom it waited for; [the dependency "
	      "that led there, its evidence]):\n",
	      out);
	for (size_t i = 0; i < why->segment_count;) {
		size_t n = short_ones(why, i, threshold), step = step_at(why, i, threshold > 0);

		if (n > step)
			print_short_ones(out, why, i, n);
		else if (step > 1)
			print_queue(out, trace, why, i, step);
		else
			print_segment(out, trace, relations, why, &why->segments[i]);
		i += n ? n : step;
	}
	if (threshold)
		fprintf(out,
			"Neighbours shorter than %s, and all that somebody was ready at a stretch, "
			"are put together: --all shows all %zu "
			"segments.\n",
			CLEW_DURATION(threshold), why->segment_count);
}

void clew_print_why(FILE *out, const struct clew_trace *trace,
		    const struct clew_relations *relations, const struct clew_why *why,
		    const struct clew_why_sums *sums, bool all)
{
	print_header(out, trace, why);
	print_causes(out, trace, why, sums, all);
	print_restraints(out, trace, why, sums->restraints, sums->restraint_count);
	print_timeline(out, trace, relations, why, all);
	putc('\n', out);
	clew_print_ledger(out, trace, why->from, why->to);
}

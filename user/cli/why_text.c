// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A why as an explanation that a colleague would give.
 *
 * A long timeline is abbreviated: of neighbours that are not among the longest
 * segments becomes one line, and as many of the longest are shown as there is room for.
 */
#include "why_text.h"

#include <inttypes.h>

#include "called.h"
#include "causes.h"
#include "object.h"
#include "report.h"
#include "text.h"

#define MOST_CAUSES 12
#define MOST_LINES  60

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void print_header(const struct clew_trace *trace, const struct clew_why *why)
{
	const struct clew_trace_task *task = clew_trace_task(trace, why->task);
	uint64_t start = clew_trace_start(trace);

	clew_print_task(stdout, trace, why->task, why->to);
	printf(" took %s, from +%.6f s to +%.6f s of the capture.\n", CLEW_DURATION(why->to - why->from), (why->from - start) / 1e9,
	       (why->to - start) / 1e9);
	if (task && (task->command_line[0] || task->executable[0])) {
		fputs("It runs ", stdout);
		clew_print_safe(stdout, task->command_line[0] ? task->command_line : task->executable);
		printf(" (process %u).\n", task->pid);
	}
}

static uint64_t length_of(const struct clew_segment *segment)
{
	return segment->end - segment->start;
}

/* Adds the lengths of segments, from `i` on, to those of their kinds. */
static void add_kinds(const struct clew_why *why, size_t i, size_t n, uint64_t by_kind[CLEW_SEGMENT_KIND_COUNT])
{
	for (size_t k = i; k < i + n; k++)
		if (why->segments[k].kind < CLEW_SEGMENT_KIND_COUNT)
			by_kind[why->segments[k].kind] += length_of(&why->segments[k]);
}

/* What all causes, those not shown too, come to: the kinds of time, largest first. */
static void print_kinds(const struct clew_why *why)
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
		printf("%s%s %.1f %%", separator, clew_wait_kind_name(largest), percent(by_kind[largest], why->to - why->from));
		separator = ", ";
		by_kind[largest] = 0;
	}
	putchar('\n');
}

static void print_causes(const struct clew_why *why, const struct clew_why_cause *causes, size_t count, bool all)
{
	size_t shown = all || count <= MOST_CAUSES ? count : MOST_CAUSES;
	uint64_t rest = 0;

	puts("\nWhere the time went:");
	for (size_t i = 0; i < shown; i++)
		printf("  %5.1f %%  %9s  %s\n", percent(causes[i].ns, why->to - why->from), CLEW_DURATION(causes[i].ns), causes[i].text);
	for (size_t i = shown; i < count; i++)
		rest += causes[i].ns;
	if (shown < count) {
		printf("  %5.1f %%  %9s  %zu more causes (--all shows them)\n", percent(rest, why->to - why->from), CLEW_DURATION(rest),
		       count - shown);
		print_kinds(why);
	}
	if (why->unknown_ns)
		printf("%s of it (%.1f %%) cannot be followed in this capture.\n", CLEW_DURATION(why->unknown_ns),
		       percent(why->unknown_ns, why->to - why->from));
}

/* How many segments from `i` on are shorter than the threshold. */
static size_t short_ones(const struct clew_why *why, size_t i, uint64_t threshold)
{
	size_t n = 0;

	while (i + n < why->segment_count && length_of(&why->segments[i + n]) < threshold)
		n++;
	return n;
}

static size_t count_lines(const struct clew_why *why, uint64_t threshold)
{
	size_t lines = 0;

	for (size_t i = 0; i < why->segment_count; lines++) {
		size_t n = short_ones(why, i, threshold);

		i += n ? n : 1;
	}
	return lines;
}

/* The length from which on segments have a line of their own, so that there are not too many lines. */
static uint64_t choose_threshold(const struct clew_why *why)
{
	uint64_t longest[MOST_LINES + 1] = {0}; /* in order, the last one the shortest */
	size_t count = 0;

	for (size_t i = 0; i < why->segment_count; i++) {
		uint64_t length = length_of(&why->segments[i]);
		size_t at = count;

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

static void print_via(const struct clew_trace *trace, const struct clew_segment *segment)
{
	printf("  [%s", clew_trace_type_name(trace, (unsigned)segment->via_type));
	if (segment->born != CLEW_NO_TASK) {
		fputs(" -> ", stdout);
		clew_print_task(stdout, trace, segment->born, clew_awaited_until(trace, segment));
	}
	printf(", %s]", clew_evidence_name(segment->via_evidence));
}

static void print_segment(const struct clew_trace *trace, const struct clew_relations *relations, const struct clew_why *why,
			  const struct clew_segment *segment)
{
	printf("  +%-12s %9s  ", CLEW_OFFSET(segment->start - why->from, why->to - why->from), CLEW_DURATION(length_of(segment)));
	for (uint32_t i = 0; i < segment->chain_length && segment->chain[i] != segment->task; i++) {
		clew_print_task(stdout, trace, segment->chain[i], segment->start);
		fputs(" <- ", stdout);
	}
	clew_print_task(stdout, trace, segment->task, segment->end - 1);
	putchar(' ');
	clew_print_activity(stdout, trace, segment);
	clew_print_activity_call(stdout, relations, segment);
	clew_print_perhaps(stdout, trace, relations, segment);
	if (segment->called)
		clew_print_call_step(stdout, trace, relations, segment->called);
	else if (segment->via_type >= 0)
		print_via(trace, segment);
	clew_print_activity_words(stdout, relations, segment);
	if (segment->sleep && segment->sleep->blind)
		fputs("  [records lost here]", stdout);
	putchar('\n');
}

static void print_short_ones(const struct clew_why *why, size_t i, size_t n)
{
	uint64_t by_kind[CLEW_SEGMENT_KIND_COUNT] = {0};
	const struct clew_segment *first = &why->segments[i], *last = &why->segments[i + n - 1];
	const char *separator = "";

	add_kinds(why, i, n, by_kind);
	printf("  +%-12s %9s  ... %zu shorter segments: ", CLEW_OFFSET(first->start - why->from, why->to - why->from),
	       CLEW_DURATION(last->end - first->start), n);
	for (unsigned kind = 0; kind < CLEW_SEGMENT_KIND_COUNT; kind++) {
		if (!by_kind[kind])
			continue;
		printf("%s%s %s", separator, clew_wait_kind_name(kind), CLEW_DURATION(by_kind[kind]));
		separator = ", ";
	}
	putchar('\n');
}

static void print_timeline(const struct clew_trace *trace, const struct clew_relations *relations, const struct clew_why *why, bool all)
{
	uint64_t threshold = all || why->segment_count <= MOST_LINES ? 0 : choose_threshold(why);

	puts("\nStep by step (waiter <- whom it waited for; [the dependency that led there, its evidence]):");
	for (size_t i = 0; i < why->segment_count;) {
		size_t n = short_ones(why, i, threshold);

		if (n > 1)
			print_short_ones(why, i, n);
		else
			print_segment(trace, relations, why, &why->segments[i]);
		i += n ? n : 1;
	}
	if (threshold)
		printf("Neighbours shorter than %s are put together: --all shows all %zu segments.\n", CLEW_DURATION(threshold),
		       why->segment_count);
}

void clew_why_print(const struct clew_trace *trace, const struct clew_relations *relations, const struct clew_why *why,
		    const struct clew_why_cause *causes, size_t cause_count, bool all)
{
	print_header(trace, why);
	print_causes(why, causes, cause_count, all);
	print_timeline(trace, relations, why, all);
	putchar('\n');
	clew_print_ledger(stdout, trace, why->from, why->to);
}

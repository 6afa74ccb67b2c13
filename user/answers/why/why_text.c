/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A why as an explanation that a colleague would give.
 *
 * Where the largest nodes of the tree that fit on a screen leave out much of the
 * time, as with a pool of threads, the tree is told by program instead.
 */
#include "answers/why/why_text.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/why/other_groups.h"
#include "answers/why/why_steps.h"
#include "answers/why/why_tree.h"
#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"
#include "trace/stacks.h"
#include "words/functions.h"
#include "words/group.h"
#include "words/hops.h"
#include "words/ledger.h"
#include "words/samples.h"
#include "words/segment_text.h"
#include "words/stack.h"
#include "words/task.h"

/* The tree is told by program where its nodes leave out more than one in so many parts. */
#define LEFT_OUT	4
#define MOST_RESTRAINTS 6
/* Lines beside the tree, such as the first ones and the ledger, and the least for the tree. */
#define OTHER_LINES 15
#define LEAST_LINES 9

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void print_header(FILE *out, const struct clew_trace *trace, const struct clew_why *why)
{
	const struct clew_trace_task *task = clew_trace_task(trace, why->task);
	const char *program = task ? clew_trace_program(trace, task) : NULL;
	uint64_t start = clew_trace_start(trace);

	fputs(clew_style_begin(CLEW_STYLE_HEADING), out);
	if (why->job)
		clew_print_job(out, trace, why->job);
	else
		clew_print_task(out, trace, why->task, why->to);
	fprintf(out, " took %s%s, from +%.6f s to +%.6f s of the capture.\n",
		CLEW_DURATION(why->to - why->from), clew_style_end(CLEW_STYLE_HEADING),
		(why->from - start) / 1e9, (why->to - start) / 1e9);
	if (task && (program || task->executable[0])) {
		fputs("It runs ", out);
		clew_print_safe(out, program ?: task->executable);
		fprintf(out, " (process %u)", task->pid);
		clew_print_group(out, trace, task);
		fputs(".\n", out);
	}
}

/* The sums by kind of time, shown or not, largest first. */
static void print_kinds(FILE *out, const struct clew_why *why)
{
	uint64_t by_kind[CLEW_SEGMENT_KIND_COUNT] = {0};
	const char *separator = "In all: ";

	for (size_t i = 0; i < why->segment_count; i++)
		if (why->segments[i].kind < CLEW_SEGMENT_KIND_COUNT)
			by_kind[why->segments[i].kind] +=
				why->segments[i].end - why->segments[i].start;
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

/* The number of times that the thread was woken and slept again with nothing gained. */
static void print_vain(FILE *out, const struct clew_trace *trace, const struct clew_why *why)
{
	uint64_t ns;
	size_t times = clew_trace_vain_sum(trace, why->task, why->from, why->to, &ns);

	if (times)
		fprintf(out, "It was woken %zu time%s for nothing, which took %s.\n", times,
			times == 1 ? "" : "s", CLEW_DURATION(ns));
}

/* ---- the tree ---- */

int clew_why_make_tree(const struct clew_trace *trace, const struct clew_relations *relations,
		       const struct clew_why *why, const struct clew_why_view *view,
		       struct clew_tree *ret_tree, uint64_t *ret_left, size_t *ret_count)
{
	size_t lines =
		view->lines > OTHER_LINES + LEAST_LINES ? view->lines - OTHER_LINES : LEAST_LINES;
	int r = clew_tree_make(trace, relations, why, view->all ? CLEW_TREE_EACH : CLEW_TREE_TASKS,
			       ret_tree);

	if (r < 0)
		return r;
	*ret_left =
		clew_tree_choose(trace, ret_tree, view->all ? 0 : lines, view->width, ret_count);
	if (*ret_left <= (why->to - why->from) / LEFT_OUT)
		return 0;
	clew_tree_done(ret_tree);
	r = clew_tree_make(trace, relations, why, CLEW_TREE_BROAD, ret_tree);
	if (r >= 0)
		*ret_left = clew_tree_choose(trace, ret_tree, lines, view->width, ret_count);
	return r;
}

static void print_tree(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
		       const struct clew_tree *tree, uint64_t left, size_t left_count)
{
	fputs("\nWhere the time went:\n", out);
	clew_tree_print(out, trace, tree);
	/* Down to a tenth of a percent. */
	if (left * 2000 >= why->to - why->from && left_count) {
		clew_print_part(out, left, why->to - why->from);
		fprintf(out, "in %zu smaller part%s (--all shows %s)\n", left_count,
			left_count > 1 ? "s" : "", left_count > 1 ? "them" : "it");
	}
	print_kinds(out, why);
	print_vain(out, trace, why);
	if (why->unknown_ns)
		fprintf(out, "%s of it (%.1f %%) cannot be followed in this capture.\n",
			CLEW_DURATION(why->unknown_ns),
			percent(why->unknown_ns, why->to - why->from));
}

static bool is_same_wait(const struct clew_sleep *a, const struct clew_sleep *b)
{
	return a && a->kind == b->kind && a->object.kind == b->object.kind &&
	       a->object.device == b->object.device && a->object.number == b->object.number;
}

/* True if a node of the tree tells the restraint, and all of its time. */
static bool tells(const struct clew_trace *trace, const struct clew_tree *tree,
		  const struct clew_restraint *restraint)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct clew_tree_node *node = &tree->nodes[i];
		const struct clew_segment *segment = node->longest;
		bool own = node->leaf && segment->task == restraint->task;

		if (!node->shown || node->ns != restraint->ns)
			continue;
		if (own && is_same_wait(segment->sleep, restraint->sleep))
			return true;
		if (!node->leaf && !node->ready && node->place < segment->chain_length &&
		    segment->chain[node->place] == restraint->task &&
		    is_same_wait(clew_hop_sleep(trace, segment, node->place), restraint->sleep))
			return true;
	}
	return false;
}

/* Prints the restraints that the tree shows in small parts only. */
static void print_restraints(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			     const struct clew_why_sums *sums, const struct clew_tree *tree)
{
	size_t printed = 0;

	/* Down to a tenth of a percent. */
	for (size_t i = 0; i < sums->restraint_count && printed < MOST_RESTRAINTS &&
			   sums->restraints[i].ns * 2000 >= why->to - why->from;
	     i++) {
		if (tells(trace, tree, &sums->restraints[i]))
			continue;
		if (!printed++)
			fputs("\nHeld back meanwhile, which is part of this time:\n", out);
		clew_print_part(out, sums->restraints[i].ns, why->to - why->from);
		clew_print_restraint(out, trace, &sums->restraints[i]);
		putc('\n', out);
	}
}

/* Times of functions have clew's own probes in them. */
static int print_probes(FILE *out, const struct clew_trace *trace, const struct clew_why *why)
{
	uint64_t probe;
	int r = clew_functions_probe(trace, why, &probe);

	/* Down to a tenth of a percent. */
	if (r >= 0 && probe * 1000 >= why->to - why->from && probe)
		fprintf(out, "clew's own probes in functions took %s of this (%.1f %%).\n",
			CLEW_DURATION(probe), percent(probe, why->to - why->from));
	return r;
}

static int print_stack_share(FILE *out, const struct clew_trace *trace, const struct clew_why *why)
{
	struct clew_samples samples = {};
	uint64_t waited, with;
	int r;

	if (!clew_trace_has_stacks(trace))
		return 0;
	clew_stack_share(trace, why, &waited, &with);
	r = clew_samples_of_why(&samples, trace, why);
	if (r >= 0)
		clew_print_stacks_told(out, trace, waited, with, &samples);
	clew_samples_done(&samples);
	return r;
}

/* ---- all of it ---- */

static size_t count_lines(const char *text, size_t width)
{
	size_t lines = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		lines += 1 + clew_columns(text, (size_t)(end - text)) / width;
	return lines;
}

/* The steps, if they were asked for or still fit on the screen, else how to ask for them. */
static int print_steps(FILE *out, const struct clew_trace *trace,
		       const struct clew_relations *relations, const struct clew_why *why,
		       const struct clew_why_view *view, size_t lines)
{
	char *text = NULL;
	size_t size;
	FILE *memory;
	int r = 0;

	if (view->all || view->steps)
		return clew_print_steps(out, trace, relations, why, view->all);
	memory = why->segment_count <= view->lines ? open_memstream(&text, &size) : NULL;
	if (memory) {
		r = clew_print_steps(memory, trace, relations, why, true);
		if (fclose(memory))
			r = -ENOMEM;
	}
	if (memory && r >= 0 && lines + count_lines(text, view->width) <= view->lines)
		fputs(text, out);
	else
		fprintf(out, "\n%sIt took %zu steps: --steps lists them.%s\n",
			clew_style_begin(CLEW_STYLE_QUIET), why->segment_count,
			clew_style_end(CLEW_STYLE_QUIET));
	free(text);
	return r;
}

int clew_print_why(FILE *out, const struct clew_trace *trace,
		   const struct clew_relations *relations, const struct clew_why *why,
		   const struct clew_why_sums *sums, const struct clew_why_view *view)
{
	struct clew_tree tree;
	size_t left_count, size;
	char *text = NULL;
	const struct clew_gap *gaps;
	uint64_t left;
	FILE *memory;
	int r = clew_why_make_tree(trace, relations, why, view, &tree, &left, &left_count);

	if (r < 0)
		return r;
	memory = open_memstream(&text, &size);
	if (memory) {
		print_header(memory, trace, why);
		print_tree(memory, trace, why, &tree, left, left_count);
		r = print_probes(memory, trace, why);
		print_restraints(memory, trace, why, sums, &tree);
		clew_print_other_groups(memory, trace, why);
		if (r >= 0)
			r = print_stack_share(memory, trace, why);
	}
	clew_tree_done(&tree);
	if (!memory || fclose(memory) || r < 0) {
		free(text);
		return -ENOMEM;
	}
	fputs(text, out);
	r = print_steps(out, trace, relations, why, view, count_lines(text, view->width) + 3);
	free(text);
	if (view->ledger || clew_trace_gaps(trace, why->from, why->to, &gaps)) {
		putc('\n', out);
		clew_print_ledger(out, trace, why->from, why->to);
	}
	return r;
}

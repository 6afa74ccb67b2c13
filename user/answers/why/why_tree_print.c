/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the nodes of a why's tree that are shown, and prints their lines.
 *
 * A node is shown only if its parent is.
 */
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

#include "answers/why/why_tree.h"
#include "format/style.h"
#include "format/text.h"
#include "words/task.h"

/* Nodes smaller than this part of the whole have no line of their own, unless all have one. */
#define LEAST_PART 1000

/* A sentence goes on from a node to its child that has three quarters of the time. */
#define MOST_OF(part, whole) (4 * (part) >= 3 * (whole))
#define LEAST_TOLD	     20 /* a part of the whole that is told has at least one in so many */

/* The columns before a node's words at depth 0, and how far its later lines are set in. */
#define LEFT_COLUMNS 21
#define HANG	     2

static void print_words(FILE *out, const struct clew_trace *trace,
			const struct clew_tree_node *node, bool below_ready)
{
	const struct clew_phrase *phrase = &node->phrase;

	if (node->depth > 0 && !below_ready)
		fputs("it ", out);
	fputs(phrase->before, out);
	if (phrase->task != CLEW_NO_TASK && node->tasks == 1) {
		clew_print_task(out, trace, phrase->task, phrase->at);
	} else if (phrase->task != CLEW_NO_TASK) {
		clew_print_safe(out, clew_trace_comm_at(trace, phrase->task, phrase->at));
		fprintf(out, " (%u tasks)", node->tasks);
	}
	fputs(phrase->after, out);
	clew_print_phrase_evidence(out, phrase);
}

static bool is_below_ready(const struct clew_tree *tree, const struct clew_tree_node *node)
{
	return node->parent != CLEW_TREE_ROOT && tree->nodes[node->parent].ready;
}

void clew_tree_print_words(FILE *out, const struct clew_trace *trace, const struct clew_tree *tree,
			   const struct clew_tree_node *node)
{
	print_words(out, trace, node, is_below_ready(tree, node));
}

/* The number of lines that a node takes. */
static size_t lines_of(const struct clew_trace *trace, const struct clew_tree *tree,
		       const struct clew_tree_node *node, size_t width)
{
	size_t left = LEFT_COLUMNS + 2 * (size_t)node->depth + HANG, size = 0;
	char *words = NULL;
	FILE *out = open_memstream(&words, &size);

	if (!out)
		return 1;
	clew_tree_print_words(out, trace, tree, node);
	fclose(out);
	free(words);
	return left + 16 > width ? 1 + size / 16 : 1 + size / (width - left);
}

static int largest_first(const void *a, const void *b, void *context)
{
	const struct clew_tree *tree = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (tree->nodes[x].ns != tree->nodes[y].ns)
		return tree->nodes[x].ns < tree->nodes[y].ns ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void show_largest(const struct clew_trace *trace, struct clew_tree *tree, size_t lines,
			 size_t width)
{
	uint32_t *order = calloc(tree->count + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < tree->count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, tree->count, sizeof(*order), largest_first, tree);
	/* A parent is no smaller than its children and stands before them. */
	for (size_t i = 0; order && i < tree->count; i++) {
		struct clew_tree_node *node = &tree->nodes[order[i]];
		size_t needed;

		if (node->ns * LEAST_PART < tree->total)
			break;
		needed = lines_of(trace, tree, node, width);
		if (needed > lines)
			break;
		if (node->parent != CLEW_TREE_ROOT && !tree->nodes[node->parent].shown)
			continue;
		node->shown = true;
		lines -= needed;
	}
	free(order);
}

uint64_t clew_tree_choose(const struct clew_trace *trace, struct clew_tree *tree, size_t lines,
			  size_t width, size_t *ret_left)
{
	uint64_t left = 0;

	*ret_left = 0;
	for (size_t i = 0; i < tree->count; i++)
		tree->nodes[i].shown = !lines;
	if (lines)
		show_largest(trace, tree, lines, width);
	for (size_t i = 0; i < tree->count; i++) {
		if (!tree->nodes[i].leaf || tree->nodes[i].shown)
			continue;
		left += tree->nodes[i].ns;
		++*ret_left;
	}
	return left;
}

/* ---- sentences ---- */

/* The largest child of a node; the tree's count: it has none. */
static size_t largest_child(const struct clew_tree *tree, size_t parent)
{
	size_t child = parent + 1;

	return child < tree->count && tree->nodes[child].parent == parent ? child : tree->count;
}

/* The words behind those of a node's parent. */
static void tell_node(FILE *out, const struct clew_trace *trace, const struct clew_tree *tree,
		      const struct clew_tree_node *node)
{
	struct clew_tree_node alone = *node;

	if (node->depth)
		fputs(is_below_ready(tree, node) ? ": " : ", which ", out);
	alone.depth = 0;
	/* A sentence is short; what may be wrong is told all the same. */
	if (alone.phrase.evidence == CLEW_EVIDENCE_OBSERVED)
		alone.phrase.evidence = CLEW_EVIDENCE_EXACT;
	print_words(out, trace, &alone, is_below_ready(tree, node));
}

static int tell(const struct clew_trace *trace, const struct clew_tree *tree, size_t at,
		struct clew_told *ret_told)
{
	size_t size, child;
	FILE *out = open_memstream(&ret_told->text, &size);

	if (!out)
		return -ENOMEM;
	for (;; at = child) {
		const struct clew_tree_node *node = &tree->nodes[at];

		tell_node(out, trace, tree, node);
		ret_told->ns = node->ns;
		child = largest_child(tree, at);
		if (child == tree->count)
			break;
		if (MOST_OF(tree->nodes[child].ns, node->ns))
			continue;
		if (node->ready) {
			tell_node(out, trace, tree, &tree->nodes[child]);
			fputs(" and others", out);
		}
		break;
	}
	return fclose(out) ? -ENOMEM : 0;
}

int clew_tree_tell(const struct clew_trace *trace, const struct clew_tree *tree,
		   struct clew_told *ret_told, size_t most, size_t *ret_count)
{
	int r = 0;

	*ret_count = 0;
	for (size_t i = 0; i < tree->count && *ret_count < most && r >= 0; i++) {
		const struct clew_tree_node *node = &tree->nodes[i];

		if (node->parent != CLEW_TREE_ROOT || node->ns * LEAST_TOLD < tree->total)
			continue;
		ret_told[*ret_count] = (struct clew_told){};
		r = tell(trace, tree, i, &ret_told[*ret_count]);
		++*ret_count;
	}
	return r;
}

void clew_tree_print(FILE *out, const struct clew_trace *trace, const struct clew_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct clew_tree_node *node = &tree->nodes[i];
		enum clew_style style;

		if (!node->shown)
			continue;
		style = node->leaf || node->ready ? clew_style_of_kind(node->longest->kind)
						  : CLEW_STYLE_HEADING;
		fprintf(out, "  %s%5.1f %%%s  %9s  %*s", clew_style_begin(style),
			tree->total ? 100.0 * (double)node->ns / (double)tree->total : 0,
			clew_style_end(style), CLEW_DURATION(node->ns), 2 * (int)node->depth, "");
		clew_tree_print_words(out, trace, tree, node);
		fputc('\n', out);
	}
}

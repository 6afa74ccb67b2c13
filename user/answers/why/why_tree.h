/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of a why as a tree: below a wait is what the task did that was waited
 * for. Each nanosecond is in one leaf, and in all nodes above it. Siblings have
 * different words; the largest comes first.
 */
#ifndef CLEW_ANSWERS_WHY_WHY_TREE_H
#define CLEW_ANSWERS_WHY_WHY_TREE_H

#include <stdio.h>

#include "answers/why/hop_text.h"

enum clew_tree_detail {
	CLEW_TREE_EACH,	 /* a node for each task, object and CPU */
	CLEW_TREE_TASKS, /* those that had the CPU of a ready task are told by program */
	CLEW_TREE_BROAD, /* all are told by program and by kind of wait */
};

struct clew_tree_node {
	uint64_t ns;
	struct clew_phrase phrase;
	const struct clew_segment *longest;
	uint32_t parent; /* CLEW_TREE_ROOT: the asked task did it */
	uint32_t depth;	 /* from 0 */
	uint32_t place;	 /* the task of the chain whose wait it is; UINT32_MAX: it is none */
	uint32_t tasks;	 /* how many tasks the name in the phrase stands for */
	bool leaf;
	bool ready; /* a time in the run queue, whose leaves tell who had the CPU */
	bool shown; /* by clew_tree_choose() */
};

#define CLEW_TREE_ROOT UINT32_MAX

/* Nodes in the order in which they are printed: a parent stands before its children. */
struct clew_tree {
	struct clew_tree_node *nodes;
	size_t count;
	uint64_t total; /* ns */
};

/* 0 or -ENOMEM. Free it with clew_tree_done(). */
int clew_tree_make(const struct clew_trace *trace, const struct clew_relations *relations,
		   const struct clew_why *why, enum clew_tree_detail detail,
		   struct clew_tree *ret_tree);
void clew_tree_done(struct clew_tree *tree);

/*
 * Chooses the largest nodes that fit in so many lines, `width` columns wide; 0
 * lines: all nodes. Returns the ns that the chosen ones leave out, and in *ret_left
 * the number of their leaves.
 */
uint64_t clew_tree_choose(const struct clew_trace *trace, struct clew_tree *tree, size_t lines,
			  size_t width, size_t *ret_left);

/* A sentence about a part of the time. */
struct clew_told {
	uint64_t ns;
	char *text; /* to be freed */
};

/*
 * Tells the largest parts, at most `most` of them, none below a twentieth: what the asked task
 * did, and on from there as long as most of that time is one thing. Sets *ret_count in any case.
 * 0 or -ENOMEM.
 */
int clew_tree_tell(const struct clew_trace *trace, const struct clew_tree *tree,
		   struct clew_told *ret_told, size_t most, size_t *ret_count);

/* Prints the words of a node, safe for a terminal. */
void clew_tree_print_words(FILE *out, const struct clew_trace *trace, const struct clew_tree *tree,
			   const struct clew_tree_node *node);

/* Prints the chosen nodes, a line each. */
void clew_tree_print(FILE *out, const struct clew_trace *trace, const struct clew_tree *tree);

#endif

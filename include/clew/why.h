/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why something took so long, as `clew why` explains it: each nanosecond of an interval of one
 * task is in one segment, and in one branch of a tree.
 */
#ifndef CLEW_WHY_H
#define CLEW_WHY_H

#include <clew/capture.h>
#include <stdbool.h>

/* An interval of a task, as the time from one wait for work to the next. */
struct clew_why_operation {
	uint64_t from;
	uint64_t to;
	uint32_t task;
};

/* The tasks whose operations are meant; a field that is 0 or NULL chooses nothing. */
struct clew_why_choice {
	size_t size; /* of this structure */
	uint32_t tid;
	uint32_t pid;
	const char *comm; /* a glob for the name of a thread */
	uint64_t from;	  /* what lies outside of from..to is left out; `to` 0: nothing */
	uint64_t to;
};

/*
 * The longest operations of the class that hurts most, longest first, at most `most`; 0: all.
 * `choice` NULL: of all tasks. *ret_operations is to be freed. 0 or -ENOMEM.
 */
int clew_why_slowest(const struct clew_capture *capture, const struct clew_why_choice *choice,
		     size_t most, struct clew_why_operation **ret_operations, size_t *ret_count);

struct clew_explanation;

/*
 * Explains from..to of a task, as far as it lived then. The capture must stay open as long as the
 * explanation is there. -ESRCH: there is no such task; -EINVAL: it did not live then; -ENOMEM.
 */
int clew_explain(const struct clew_capture *capture, uint32_t task, uint64_t from, uint64_t to,
		 struct clew_explanation **ret_explanation);
void clew_explanation_free(struct clew_explanation *explanation);

/* A part of the interval in which one thing was done or waited for. */
struct clew_why_segment {
	uint64_t start;
	uint64_t end;
	uint32_t task; /* whose time it is */
	size_t hops;   /* how many tasks wait for each other until one waits for this one */
	uint8_t kind;  /* enum clew_wait_kind, CLEW_SEGMENT_* included */
	int8_t type;   /* enum clew_edge_type that led to the task; -1: it is the asked one's own */
	uint8_t evidence; /* enum clew_evidence of that */
	bool cycle;	  /* the tasks wait for each other: a deadlock */
	bool blind;	  /* records were lost: its end may be wrong */
};

/* Segments are in order of time, cover the interval, and do not overlap. */
size_t clew_explanation_segments(const struct clew_explanation *explanation);
/* -ENOENT: there are not so many. */
int clew_explanation_segment(const struct clew_explanation *explanation, size_t index,
			     struct clew_why_segment *ret_segment);
/* All words about a segment, as of a cause. Safe for a terminal, to be freed; NULL: no memory. */
char *clew_explanation_segment_words(const struct clew_explanation *explanation, size_t index);

/* A task that waits for the next one, or for that of the segment. */
struct clew_why_hop {
	uint32_t task;
	uint8_t kind;	  /* enum clew_wait_kind */
	int8_t type;	  /* as of a segment */
	uint8_t evidence; /* as of a segment */
};

/* By place from 0, the asked task first. -ENOENT: there are not so many. */
int clew_explanation_hop(const struct clew_explanation *explanation, size_t index, size_t place,
			 struct clew_why_hop *ret_hop);

#define CLEW_WHY_ROOT UINT32_MAX

/* The time below a wait is what was done by the task that was waited for. */
struct clew_why_node {
	uint64_t ns;	 /* of the nodes below, too */
	uint32_t parent; /* its index; CLEW_WHY_ROOT: the asked task did it */
	uint32_t depth;	 /* from 0 */
	bool leaf;
};

/* A parent stands before its children, and the largest of them comes first. */
size_t clew_explanation_nodes(const struct clew_explanation *explanation);
/* -ENOENT: there are not so many. */
int clew_explanation_node(const struct clew_explanation *explanation, size_t index,
			  struct clew_why_node *ret_node);
/* The time of a node, in words: "it waited for worker-75: futex orders_lock". As the words of a
 * segment. */
char *clew_explanation_node_words(const struct clew_explanation *explanation, size_t index);

#endif

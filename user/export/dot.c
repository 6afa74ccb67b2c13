/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The causal paths of operations as a graph for Graphviz. A node is a segment of a why, and the
 * nodes follow each other in time. Where the next one is of another task, the edge says what that
 * one waited for, or by which dependency it went on. Dependencies that are not certain are dashed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/segment.h"
#include "format/text.h"
#include "words/beside.h"
#include "words/hops.h"
#include "words/segment_text.h"

#include "export/export.h"

/* Segments first..last, in order of time; several: they are told by their number alone. */
struct node {
	size_t first;
	size_t last;
	uint64_t ns;
};

struct path {
	const struct clew_export *export;
	size_t number; /* of the operation */
	struct clew_why why;
	struct node *nodes;
	size_t count;
};

static int compare_lengths(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a > *b ? -1 : *a < *b;
}

/* The shortest length that still has a node of its own. 0 or -ENOMEM. */
static int find_least(const struct path *path, uint64_t *ret_least)
{
	const struct clew_why *why = &path->why;
	/* There may be one node for shorter segments before each, and one behind. */
	size_t own = path->export->most > 3 ? (path->export->most - 1) / 2 : 1;
	uint64_t *lengths;

	*ret_least = 0;
	if (why->segment_count <= path->export->most)
		return 0;
	lengths = malloc(why->segment_count * sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < why->segment_count; i++)
		lengths[i] = clew_segment_length(&why->segments[i]);
	qsort(lengths, why->segment_count, sizeof(*lengths), compare_lengths);
	/* All of one length count as too short if they are too many. */
	*ret_least = lengths[own - 1] == lengths[own] ? lengths[own] + 1 : lengths[own - 1];
	free(lengths);
	return 0;
}

static int make_nodes(struct path *path)
{
	uint64_t least;
	int r = find_least(path, &least);

	path->nodes = calloc(path->why.segment_count + 1, sizeof(*path->nodes));
	if (!path->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < path->why.segment_count && r >= 0; i++) {
		uint64_t ns = clew_segment_length(&path->why.segments[i]);
		struct node *before = path->count ? &path->nodes[path->count - 1] : NULL;

		if (before && ns < least &&
		    (before->last > before->first ||
		     clew_segment_length(&path->why.segments[before->first]) < least)) {
			before->last = i;
			before->ns += ns;
		} else {
			path->nodes[path->count++] = (struct node){i, i, ns};
		}
	}
	return r;
}

/* ---- nodes ---- */

static int put_tooltip(FILE *out, const struct path *path, const struct clew_segment *segment)
{
	struct clew_beside beside;
	int r = clew_beside_find(path->export->trace, &segment, 1, &beside);
	char *text = r < 0 ? NULL
			   : clew_segment_text(path->export->trace, path->export->relations,
					       segment, &beside);

	if (!text)
		return -ENOMEM;
	fputs(" tooltip=\"", out);
	clew_print_dot(out, text);
	putc('"', out);
	free(text);
	return 0;
}

static const char *colour_of(const struct clew_segment *segment)
{
	switch (segment->kind) {
	case CLEW_SEGMENT_RUNNING:
		return "palegreen";
	case CLEW_SEGMENT_RUNQUEUE:
		return "khaki";
	case CLEW_SEGMENT_DEVICE:
	case CLEW_SEGMENT_QUEUED:
		return "lightblue";
	case CLEW_WAIT_UNKNOWN:
		return "lightgrey";
	default:
		return "mistyrose";
	}
}

static int put_node(const struct path *path, size_t i)
{
	const struct node *node = &path->nodes[i];
	const struct clew_segment *segment = &path->why.segments[node->first];
	char name[EXPORT_SEGMENT_SIZE], task[EXPORT_TASK_SIZE];
	FILE *out = path->export->out;
	uint64_t whole = path->why.to - path->why.from;
	int r = 0;

	fprintf(out, "\t\to%zus%zu [label=\"", path->number, i);
	if (node->last > node->first) {
		fprintf(out, "%zu short steps", node->last - node->first + 1);
	} else {
		export_task_name(path->export->trace, segment->task, segment->end - 1, task);
		clew_print_dot(out, task);
		fputs("\\n", out);
		export_segment_name(path->export->trace, segment, name);
		clew_print_dot(out, name);
	}
	fprintf(out, "\\n%s, %.1f %%\"", CLEW_DURATION(node->ns),
		whole ? 100. * (double)node->ns / (double)whole : 100.);
	if (node->last > node->first) {
		fputs(" style=dashed", out);
	} else {
		/* Nodes of a group are in one column. */
		fprintf(out, " group=o%zut%u fillcolor=%s", path->number, segment->task,
			colour_of(segment));
		r = put_tooltip(out, path, segment);
	}
	fputs("];\n", out);
	return r;
}

/* ---- edges ---- */

/* The place of a task among those that wait in a segment; UINT32_MAX: it is none of them. */
static uint32_t place_of(const struct clew_segment *segment, uint32_t task)
{
	for (uint32_t i = clew_hop_count(segment); i > 0; i--)
		if (segment->chain[i - 1] == task)
			return i - 1;
	return UINT32_MAX;
}

/* The dependency by which the next task went on. */
static void put_dependency(const struct path *path, struct clew_hop_via via)
{
	FILE *out = path->export->out;

	fputs(" [label=\"", out);
	if (via.type < 0)
		fputs("other end", out);
	else
		clew_print_dot(out, clew_trace_type_name(path->export->trace, (unsigned)via.type));
	if (via.type >= 0 && via.evidence != CLEW_EVIDENCE_EXACT)
		fprintf(out, ", %s", clew_evidence_name(via.evidence));
	fprintf(out, "\"%s]",
		via.type < 0 || via.evidence != CLEW_EVIDENCE_EXACT ? " style=dashed" : "");
}

/* The task went to sleep, and the next segment is about what it waited for. */
static void put_wait(const struct path *path, const struct clew_sleep *sleep)
{
	char name[EXPORT_SEGMENT_SIZE] = "unknown";

	if (sleep)
		export_wait_name(path->export->trace, sleep, name);
	fputs(" [label=\"waits: ", path->export->out);
	clew_print_dot(path->export->out, name);
	fputs("\" style=dotted arrowhead=open]", path->export->out);
}

static void put_edge(const struct path *path, size_t i)
{
	const struct clew_segment *from = &path->why.segments[path->nodes[i].last];
	const struct clew_segment *to = &path->why.segments[path->nodes[i + 1].first];
	uint32_t left = place_of(from, to->task), entered = place_of(to, from->task);
	FILE *out = path->export->out;

	fprintf(out, "\t\to%zus%zu -> o%zus%zu", path->number, i, path->number, i + 1);
	if (from->task == to->task)
		;
	else if (left != UINT32_MAX)
		put_dependency(path, clew_hop_via_behind(from, left));
	else if (entered != UINT32_MAX)
		put_wait(path, clew_hop_sleep(path->export->trace, to, entered));
	else
		fputs(" [style=dotted arrowhead=open]", out);
	fputs(";\n", out);
}

static int put_operation(struct path *path, const struct clew_operation *operation)
{
	const struct clew_trace *trace = path->export->trace;
	char task[EXPORT_TASK_SIZE];
	int r = clew_why_explain(trace, path->export->relations, operation->task, operation->from,
				 operation->to, &path->why);

	if (r >= 0)
		r = make_nodes(path);
	if (r < 0)
		return r;
	fprintf(path->export->out, "\tsubgraph cluster_%zu {\n\t\tlabel=\"", path->number);
	clew_print_dot(path->export->out,
		       export_task_name(trace, operation->task, operation->from, task));
	fprintf(path->export->out, " at +%s, %s\";\n",
		CLEW_OFFSET(operation->from - clew_trace_start(trace),
			    clew_trace_end(trace) - clew_trace_start(trace)),
		CLEW_DURATION(operation->to - operation->from));
	for (size_t i = 0; i < path->count && r >= 0; i++)
		r = put_node(path, i);
	for (size_t i = 0; i + 1 < path->count; i++)
		put_edge(path, i);
	fputs("\t}\n", path->export->out);
	return r;
}

int clew_export_dot(const struct clew_export *export)
{
	int r = 0;

	fputs("digraph clew {\n\tnode [shape=box style=filled "
	      "fillcolor=white fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\"];\n",
	      export->out);
	for (size_t i = 0; i < export->operation_count && r >= 0; i++) {
		struct path path = {.export = export, .number = i};

		r = put_operation(&path, &export->operations[i]);
		free(path.nodes);
		clew_why_done(&path.why);
		export->progress(export->progress_context,
				 (double)(i + 1) / (double)export->operation_count);
	}
	fputs("}\n", export->out);
	return r;
}

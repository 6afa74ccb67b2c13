/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The causal paths of operations as a graph for Graphviz. A node is a segment of a why. Edges lead
 * to what came next in time. Where that is of another task, the edge says what that one waited for,
 * or by which dependency it went on. Dependencies that are not certain are dashed. In an operation
 * of too many segments the short ones of one cause are one node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "export/causes.h"
#include "format/text.h"
#include "words/beside.h"
#include "words/hops.h"
#include "words/segment_text.h"
#include "words/short_name.h"

#include "export/export.h"

/* A segment, or all short ones of a cause. */
struct node {
	const struct clew_segment *first;
	uint64_t ns;
	size_t steps;
	bool others; /* of the causes with the least time, together */
};

struct path {
	const struct clew_export *export;
	size_t number; /* of the operation */
	struct clew_why why;
	uint32_t *node_of; /* each segment's */
	struct node *nodes;
	size_t count;
};

/* Half of the nodes are for the longest segments, half for the causes of the others. */
static size_t own_most(const struct path *path)
{
	return path->why.segment_count <= path->export->most ? path->why.segment_count
							     : path->export->most / 2;
}

/* The time that a cause needs for a node of its own. 0 or -ENOMEM. */
static int least_cause(const struct export_causes *causes, size_t most, uint64_t *ret_least)
{
	const struct export_cause *list = causes->list.data;
	struct clew_why sums = {.segment_count = causes->list.count};
	int r;

	*ret_least = 0;
	if (causes->list.count <= most)
		return 0;
	/* Without the node of all others. */
	sums.segments = calloc(causes->list.count, sizeof(*sums.segments));
	if (!sums.segments)
		return -ENOMEM;
	for (size_t i = 0; i < causes->list.count; i++)
		sums.segments[i].end = list[i].ns;
	r = export_least_length(&sums, most ? most - 1 : 0, ret_least);
	free(sums.segments);
	return r;
}

static uint32_t add_node(struct path *path, struct node node)
{
	path->nodes[path->count] = node;
	return (uint32_t)path->count++;
}

/* Adds a segment to the node of its cause. */
static void add_step(struct path *path, size_t i, const struct export_cause *cause, uint64_t least,
		     uint32_t *node_of_cause, uint32_t *others)
{
	const struct clew_segment *segment = &path->why.segments[i];
	bool is_other = cause->ns < least;
	uint32_t *node = is_other ? others : node_of_cause;

	if (*node == UINT32_MAX)
		*node = add_node(path, (struct node){.first = segment, .others = is_other});
	path->nodes[*node].ns += clew_segment_length(segment);
	path->nodes[*node].steps++;
	path->node_of[i] = *node;
}

static int place_segments(struct path *path, const struct export_causes *causes, uint64_t least,
			  size_t *cause_of)
{
	const struct export_cause *list = causes->list.data;
	uint32_t *node_of_cause = malloc((causes->list.count + 1) * sizeof(*node_of_cause));
	uint32_t others = UINT32_MAX;

	if (!node_of_cause)
		return -ENOMEM;
	memset(node_of_cause, 0xff, (causes->list.count + 1) * sizeof(*node_of_cause));
	for (size_t i = 0; i < path->why.segment_count; i++) {
		const struct clew_segment *segment = &path->why.segments[i];

		if (cause_of[i] == SIZE_MAX)
			path->node_of[i] =
				add_node(path, (struct node){.first = segment,
							     .ns = clew_segment_length(segment),
							     .steps = 1});
		else
			add_step(path, i, &list[cause_of[i]], least, &node_of_cause[cause_of[i]],
				 &others);
	}
	free(node_of_cause);
	return 0;
}

static int make_nodes(struct path *path)
{
	const size_t count = path->why.segment_count, own = own_most(path);
	size_t *cause_of = malloc((count + 1) * sizeof(*cause_of));
	struct export_causes causes = {};
	uint64_t least, least_of_causes;
	int r = export_least_length(&path->why, own, &least);

	path->nodes = calloc(count + 1, sizeof(*path->nodes));
	path->node_of = calloc(count + 1, sizeof(*path->node_of));
	if (!cause_of || !path->nodes || !path->node_of)
		r = -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		cause_of[i] = SIZE_MAX;
		if (clew_segment_length(&path->why.segments[i]) < least)
			r = export_causes_add(&causes, path->export->trace, &path->why.segments[i],
					      &cause_of[i]);
	}
	if (r >= 0)
		r = least_cause(&causes, path->export->most - own, &least_of_causes);
	if (r >= 0)
		r = place_segments(path, &causes, least_of_causes, cause_of);
	export_causes_done(&causes);
	free(cause_of);
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
	const struct clew_segment *segment = node->first;
	char name[CLEW_SHORT_NAME_SIZE], task[EXPORT_TASK_SIZE];
	FILE *out = path->export->out;
	uint64_t whole = path->why.to - path->why.from;
	int r = 0;

	fprintf(out, "\t\to%zus%zu [label=\"", path->number, i);
	if (node->others) {
		fprintf(out, "%zu other short step%s", node->steps, node->steps == 1 ? "" : "s");
	} else {
		export_task_name(path->export->trace, segment->task, segment->end - 1, task);
		clew_print_dot(out, task);
		fputs("\\n", out);
		clew_segment_short_name(path->export->trace, segment, name);
		clew_print_dot(out, name);
	}
	if (node->steps > 1 && !node->others)
		fprintf(out, "\\n%zu short steps", node->steps);
	fprintf(out, "\\n%s, %.1f %%\"", CLEW_DURATION(node->ns),
		whole ? 100. * (double)node->ns / (double)whole : 100.);
	if (node->others) {
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
static void put_dependency(FILE *out, const struct path *path, struct clew_hop_via via)
{
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
static void put_wait(FILE *out, const struct path *path, const struct clew_sleep *sleep)
{
	char name[CLEW_SHORT_NAME_SIZE] = "unknown";

	if (sleep)
		clew_wait_short_name(path->export->trace, sleep, name);
	fputs(" [label=\"waits: ", out);
	clew_print_dot(out, name);
	fputs("\" style=dotted arrowhead=open]", out);
}

static void put_edge(FILE *out, const struct path *path, size_t i)
{
	const struct clew_segment *from = &path->why.segments[i], *to = from + 1;
	uint32_t left = place_of(from, to->task), entered = place_of(to, from->task);

	fprintf(out, "\t\to%zus%u -> o%zus%u", path->number, path->node_of[i], path->number,
		path->node_of[i + 1]);
	if (from->task == to->task)
		;
	else if (left != UINT32_MAX)
		put_dependency(out, path, clew_hop_via_behind(from, left));
	else if (entered != UINT32_MAX)
		put_wait(out, path, clew_hop_sleep(path->export->trace, to, entered));
	else
		fputs(" [style=dotted arrowhead=open]", out);
	fputs(";\n", out);
}

/* An edge that several steps share is there once. */
static int put_edges(const struct path *path)
{
	struct map seen = {};
	int r = 0;

	for (size_t i = 0; i + 1 < path->why.segment_count && r >= 0; i++) {
		uint64_t ends = (uint64_t)path->node_of[i] << 32 | path->node_of[i + 1];
		char *text = NULL;
		size_t size;
		FILE *out;

		if (path->node_of[i] == path->node_of[i + 1])
			continue;
		out = open_memstream(&text, &size);
		if (!out)
			return -ENOMEM;
		put_edge(out, path, i);
		r = fclose(out) ? -ENOMEM : 0;
		if (r >= 0 && !map_get(&seen, ends, (uint32_t)hash_text(HASH_SEED, text))) {
			fputs(text, path->export->out);
			r = map_set(&seen, ends, (uint32_t)hash_text(HASH_SEED, text), 1);
		}
		free(text);
	}
	map_done(&seen);
	return r;
}

static int put_operation(struct path *path, const struct clew_operation *operation)
{
	const struct clew_trace *trace = path->export->trace;
	char task[EXPORT_TASK_SIZE];
	int r = clew_why_operation(trace, path->export->relations, operation, &path->why);

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
	if (r >= 0)
		r = put_edges(path);
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
		free(path.node_of);
		clew_why_done(&path.why);
		export->progress(export->progress_context,
				 (double)(i + 1) / (double)export->operation_count);
	}
	fputs("}\n", export->out);
	return r;
}

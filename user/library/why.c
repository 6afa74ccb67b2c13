/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations and explanations for programs with libclew. */
#include <clew/why.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "answers/why/why_tree.h"
#include "explain/classes.h"
#include "library/internal.h"
#include "words/hops.h"
#include "words/segment_text.h"

struct clew_explanation {
	const struct clew_capture *capture;
	struct clew_why why;
	struct clew_tree tree;
};

static bool is_chosen(void *context, const struct clew_trace_task *task)
{
	const struct clew_why_choice *choice = context;

	return (!choice->tid || choice->tid == task->tid) &&
	       (!choice->pid || choice->pid == task->pid) &&
	       (!choice->comm || !fnmatch(choice->comm, task->comm, 0));
}

int clew_why_slowest(const struct clew_capture *capture, const struct clew_why_choice *choice,
		     size_t most, struct clew_why_operation **ret_operations, size_t *ret_count)
{
	struct clew_why_choice own = {.size = sizeof(own)};
	const struct clew_chosen chosen = {.wants = is_chosen, .context = &own};
	struct clew_operation *found;
	size_t count;
	int r;

	if (choice && choice->size > sizeof(own))
		return -EINVAL;
	if (choice)
		memcpy(&own, choice, choice->size);
	r = clew_classes_slowest(capture->trace, &chosen, own.from,
				 own.to ?: clew_trace_end(capture->trace), most ?: SIZE_MAX, &found,
				 &count);
	if (r < 0)
		return r;
	*ret_operations = calloc(count + 1, sizeof(**ret_operations));
	*ret_count = count;
	for (size_t i = 0; *ret_operations && i < count; i++)
		(*ret_operations)[i] = (struct clew_why_operation){
			.from = found[i].from, .to = found[i].to, .task = found[i].task};
	free(found);
	return *ret_operations ? 0 : -ENOMEM;
}

int clew_explain(const struct clew_capture *capture, uint32_t task, uint64_t from, uint64_t to,
		 struct clew_explanation **ret_explanation)
{
	const struct clew_trace_task *asked =
		task == CLEW_NO_TASK ? NULL : clew_trace_task(capture->trace, task);
	struct clew_explanation *explanation;
	int r;

	if (!asked)
		return -ESRCH;
	from = from < asked->birth ? asked->birth : from;
	to = to > asked->death ? asked->death : to;
	if (to <= from)
		return -EINVAL;
	explanation = calloc(1, sizeof(*explanation));
	if (!explanation)
		return -ENOMEM;
	explanation->capture = capture;
	r = clew_why_explain(capture->trace, capture->relations, task, from, to, &explanation->why);
	if (r < 0) {
		free(explanation);
		return r;
	}
	r = clew_tree_make(capture->trace, capture->relations, &explanation->why, CLEW_TREE_EACH,
			   &explanation->tree);
	if (r < 0) {
		clew_explanation_free(explanation);
		return r;
	}
	*ret_explanation = explanation;
	return 0;
}

void clew_explanation_free(struct clew_explanation *explanation)
{
	if (!explanation)
		return;
	clew_tree_done(&explanation->tree);
	clew_why_done(&explanation->why);
	free(explanation);
}

size_t clew_explanation_segments(const struct clew_explanation *explanation)
{
	return explanation->why.segment_count;
}

int clew_explanation_segment(const struct clew_explanation *explanation, size_t index,
			     struct clew_why_segment *ret_segment)
{
	const struct clew_segment *segment;

	if (index >= explanation->why.segment_count)
		return -ENOENT;
	segment = &explanation->why.segments[index];
	*ret_segment = (struct clew_why_segment){
		.start = segment->start,
		.end = segment->end,
		.task = segment->task,
		.hops = segment->chain_length,
		.kind = segment->kind,
		.type = segment->via_type,
		.evidence = segment->via_evidence,
		.cycle = segment->cycle,
		.blind = segment->sleep && segment->sleep->blind,
	};
	return 0;
}

char *clew_explanation_segment_words(const struct clew_explanation *explanation, size_t index)
{
	const struct clew_capture *capture = explanation->capture;

	if (index >= explanation->why.segment_count)
		return NULL;
	return clew_segment_text(capture->trace, capture->relations,
				 &explanation->why.segments[index], NULL);
}

int clew_explanation_hop(const struct clew_explanation *explanation, size_t index, size_t place,
			 struct clew_why_hop *ret_hop)
{
	const struct clew_segment *segment;
	const struct clew_sleep *sleep;

	if (index >= explanation->why.segment_count ||
	    place >= explanation->why.segments[index].chain_length)
		return -ENOENT;
	segment = &explanation->why.segments[index];
	sleep = clew_hop_sleep(explanation->capture->trace, segment, (uint32_t)place);
	*ret_hop = (struct clew_why_hop){
		.task = segment->chain[place],
		.kind = sleep ? sleep->kind : CLEW_WAIT_UNKNOWN,
		.type = segment->vias[place].type,
		.evidence = segment->vias[place].evidence,
	};
	return 0;
}

size_t clew_explanation_nodes(const struct clew_explanation *explanation)
{
	return explanation->tree.count;
}

int clew_explanation_node(const struct clew_explanation *explanation, size_t index,
			  struct clew_why_node *ret_node)
{
	const struct clew_tree_node *node;

	if (index >= explanation->tree.count)
		return -ENOENT;
	node = &explanation->tree.nodes[index];
	*ret_node = (struct clew_why_node){
		.ns = node->ns,
		.parent = node->parent == CLEW_TREE_ROOT ? CLEW_WHY_ROOT : node->parent,
		.depth = node->depth,
		.leaf = node->leaf,
	};
	return 0;
}

char *clew_explanation_node_words(const struct clew_explanation *explanation, size_t index)
{
	char *words = NULL;
	size_t size;
	FILE *out = index < explanation->tree.count ? open_memstream(&words, &size) : NULL;

	if (!out)
		return NULL;
	clew_tree_print_words(out, explanation->capture->trace, &explanation->tree,
			      &explanation->tree.nodes[index]);
	if (fclose(out) == 0)
		return words;
	free(words);
	return NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of a why as a tree.
 *
 * Segments with equal hops and an equal cause become one group; the words of a
 * group are made once. Nodes are merged by their words.
 */
#include "answers/why/why_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/why/causes.h"
#include "answers/why/details.h"
#include "answers/why/largest.h"
#include "base/hash.h"
#include "base/map.h"
#include "words/hops.h"
#include "words/segment_text.h"
#include "words/task.h"

struct grouped {
	uint64_t key;
	const struct clew_segment *segment;
};

/* A task that the name in a node's phrase stands for. */
struct named {
	uint32_t node, task;
};

struct build {
	const struct clew_trace *trace;
	const struct clew_relations *relations;
	enum clew_tree_detail detail;
	struct clew_tree *tree;
	size_t room;
	struct map children; /* (hash of the words, parent) to node */
	struct named *named;
	size_t named_count, named_room;
	struct vector parts; /* struct clew_node_part, of a broad tree */
};

static uint64_t mix_text(uint64_t key, const char *text)
{
	for (; *text; text++)
		key = hash_mix(key, (unsigned char)*text);
	return hash_mix(key, 0);
}

/* ---- nodes ---- */

static bool by_program(const struct build *build, bool ready)
{
	return build->detail == CLEW_TREE_BROAD || (ready && build->detail == CLEW_TREE_TASKS);
}

static uint64_t words_key(const struct build *build, const struct clew_phrase *phrase, bool ready)
{
	/* A candidate may be wrong: its time is not added to that of others. */
	uint64_t key = hash_mix(mix_text(mix_text(1, phrase->before), phrase->after),
				phrase->evidence == CLEW_EVIDENCE_CANDIDATE);

	if (phrase->task == CLEW_NO_TASK)
		return key;
	if (by_program(build, ready))
		return mix_text(hash_mix(key, 1),
				clew_trace_comm_at(build->trace, phrase->task, phrase->at));
	return hash_mix(hash_mix(key, 2), phrase->task);
}

static int add_named(struct build *build, uint32_t node, uint32_t task)
{
	if (build->named_count == build->named_room) {
		size_t room = build->named_room ? 2 * build->named_room : 64;
		struct named *named = reallocarray(build->named, room, sizeof(*named));

		if (!named)
			return -ENOMEM;
		build->named = named;
		build->named_room = room;
	}
	build->named[build->named_count++] = (struct named){node, task};
	return 0;
}

static int append(struct build *build, struct clew_tree_node node)
{
	struct clew_tree *tree = build->tree;

	if (tree->count == build->room) {
		size_t room = build->room ? 2 * build->room : 64;
		struct clew_tree_node *nodes =
			reallocarray(tree->nodes, room, sizeof(*tree->nodes));

		if (!nodes)
			return -ENOMEM;
		tree->nodes = nodes;
		build->room = room;
	}
	tree->nodes[tree->count++] = node;
	return 0;
}

/*
 * Adds time to the child of *parent with these words, which becomes *parent. Takes
 * the phrase.
 */
static int add_time(struct build *build, uint32_t *parent, struct clew_phrase *phrase,
		    const struct clew_segment *longest, uint64_t ns, bool leaf, bool ready)
{
	struct clew_tree *tree = build->tree;
	uint64_t key = hash_mix(words_key(build, phrase, ready), leaf);
	uint64_t *found = map_get(&build->children, key, *parent);
	uint32_t task = phrase->task, node = found ? (uint32_t)*found : (uint32_t)tree->count;
	int r = 0;

	if (found) {
		struct clew_tree_node *same = &tree->nodes[node];

		same->ns += ns;
		same->phrase.partly |= same->phrase.evidence != phrase->evidence;
		if (phrase->evidence != CLEW_EVIDENCE_EXACT)
			same->phrase.evidence = phrase->evidence;
		if (clew_segment_length(longest) > clew_segment_length(same->longest))
			same->longest = longest;
		/* The text has one name for a task, the last one that it had meanwhile. */
		if (phrase->at > same->phrase.at)
			same->phrase.at = phrase->at;
		clew_phrase_done(phrase);
	} else {
		r = append(build, (struct clew_tree_node){
					  .ns = ns,
					  .phrase = *phrase,
					  .longest = longest,
					  .parent = *parent,
					  .depth = *parent == CLEW_TREE_ROOT
							   ? 0
							   : tree->nodes[*parent].depth + 1,
					  .place = UINT32_MAX,
					  .leaf = leaf,
					  .ready = ready && !leaf});
		if (r < 0)
			clew_phrase_done(phrase);
		else
			r = map_set(&build->children, key, *parent, node);
	}
	if (r >= 0 && task != CLEW_NO_TASK)
		r = add_named(build, node, task);
	*parent = node;
	return r;
}

/* Notes that a broad node has a group; those of ready tasks say all that is known. */
static int note_part(struct build *build, struct clew_node_part part)
{
	return build->detail == CLEW_TREE_BROAD ? clew_largest_add(&build->parts, &part) : 0;
}

/* Adds the spans that were suspended behind so many tasks of the chain. */
static int add_job_hops(struct build *build, uint32_t *parent, const struct clew_segment *segment,
			const struct clew_job_hop *hop, uint32_t place, uint64_t ns)
{
	struct clew_phrase phrase = {.after = strdup(""), .task = CLEW_NO_TASK};
	int r;

	if (!hop || hop->place < place) {
		clew_phrase_done(&phrase);
		return 0;
	}
	r = add_job_hops(build, parent, segment, hop->up, place, ns);
	if (r < 0 || hop->place != place) {
		clew_phrase_done(&phrase);
		return r;
	}
	phrase.before = clew_job_hop_text(build->trace, hop);
	if (phrase.before && phrase.after)
		return add_time(build, parent, &phrase, segment, ns, false, false);
	clew_phrase_done(&phrase);
	return -ENOMEM;
}

static int add_hops(struct build *build, uint32_t *parent, struct clew_node_part part)
{
	const struct clew_segment *segment = part.longest;
	struct clew_phrase phrase;
	int r = 0;

	r = add_job_hops(build, parent, segment, segment->job_hops, 0, part.ns);
	for (uint32_t i = 0; i < clew_hop_count(segment) && r >= 0; i++) {
		r = clew_hop_phrase(build->trace, build->relations, segment, i,
				    build->detail == CLEW_TREE_BROAD, &phrase);
		if (r >= 0)
			r = add_time(build, parent, &phrase, segment, part.ns, false, false);
		part.node = *parent;
		part.place = i;
		if (r >= 0)
			build->tree->nodes[*parent].place = i;
		if (r >= 0)
			r = note_part(build, part);
		if (r >= 0)
			r = add_job_hops(build, parent, segment, segment->job_hops, i + 1, part.ns);
	}
	return r;
}

/* Adds the node above those who had the CPU of a ready task. */
static int add_ready(struct build *build, uint32_t *parent, const struct clew_segment *segment,
		     uint64_t ns)
{
	int nice = clew_nice_at(build->trace, segment->task, segment->start);
	struct clew_phrase phrase = {.after = strdup(""), .task = CLEW_NO_TASK};
	char words[64] = "was ready to run but had no CPU";

	if (nice)
		snprintf(words, sizeof(words), "was ready to run (nice %d) but had no CPU", nice);
	phrase.before = strdup(words);
	if (phrase.before && phrase.after)
		return add_time(build, parent, &phrase, segment, ns, false, true);
	clew_phrase_done(&phrase);
	return -ENOMEM;
}

/* Appends what is counted of running and ready segments to their words. */
static int add_running(const struct build *build, struct clew_phrase *phrase,
		       const struct clew_segment *const *same, size_t count)
{
	phrase->after = clew_details_append(phrase->after, build->trace, same, count);
	if (phrase->after)
		return 0;
	clew_phrase_done(phrase);
	return -ENOMEM;
}

/* Adds the segments of a group: `same` has `count` of them. */
static int add_group(struct build *build, const struct clew_segment *const *same, size_t count)
{
	const struct clew_segment *longest = same[0];
	bool ready = same[0]->kind == CLEW_SEGMENT_RUNQUEUE, broad = by_program(build, ready);
	uint32_t parent = CLEW_TREE_ROOT;
	struct clew_node_part part;
	struct clew_phrase phrase;
	struct clew_beside beside;
	uint64_t ns = 0;
	int r;

	for (size_t i = 0; i < count; i++) {
		ns += clew_segment_length(same[i]);
		if (clew_segment_length(same[i]) > clew_segment_length(longest))
			longest = same[i];
	}
	part = (struct clew_node_part){
		.place = UINT32_MAX, .ns = ns, .same = same, .count = count, .longest = longest};
	r = add_hops(build, &parent, part);
	if (r >= 0 && ready && build->detail != CLEW_TREE_EACH)
		r = add_ready(build, &parent, longest, ns);
	if (r >= 0)
		r = clew_beside_find(build->trace, same, count, &beside);
	if (r >= 0)
		r = clew_leaf_phrase(build->trace, build->relations, longest, &beside, broad,
				     &phrase);
	if (r >= 0 && !broad)
		r = add_running(build, &phrase, same, count);
	if (r >= 0)
		r = add_time(build, &parent, &phrase, longest, ns, true, ready);
	part.node = parent;
	if (r >= 0 && !ready)
		r = note_part(build, part);
	return r;
}

/* ---- the words of ready tasks ---- */

/* Words below "was ready to run but had no CPU", instead of those that a leaf has alone. */
static int shorten(struct clew_tree_node *node)
{
	const struct clew_segment *segment = node->longest;
	const char *words = node->phrase.task != CLEW_NO_TASK ? "its CPU was busy with "
			    : segment->by == CLEW_NO_TASK     ? "an idle CPU was about to run it"
			    : segment->by == UINT32_MAX	      ? "who had the CPU is unknown"
							      : "it was just leaving its CPU";
	char *copy = strdup(words);

	if (!copy)
		return -ENOMEM;
	free(node->phrase.before);
	node->phrase.before = copy;
	return 0;
}

/* A ready node takes the place of its only leaf, which then has no time. */
static void take_place(struct clew_tree_node *node, struct clew_tree_node *leaf)
{
	clew_phrase_done(&node->phrase);
	node->phrase = leaf->phrase;
	node->longest = leaf->longest;
	node->tasks = leaf->tasks;
	node->leaf = true;
	node->ready = false;
	leaf->phrase = (struct clew_phrase){.task = CLEW_NO_TASK};
	leaf->ns = 0;
}

static int settle_ready(struct clew_tree *tree)
{
	uint32_t *children = calloc(tree->count + 1, sizeof(*children));
	int r = children ? 0 : -ENOMEM;

	for (size_t i = 0; i < tree->count && r >= 0; i++)
		if (tree->nodes[i].parent != CLEW_TREE_ROOT)
			children[tree->nodes[i].parent]++;
	for (size_t i = 0; i < tree->count && r >= 0; i++) {
		struct clew_tree_node *node = &tree->nodes[i], *parent;

		parent = node->parent != CLEW_TREE_ROOT ? &tree->nodes[node->parent] : NULL;
		if (!parent || !parent->ready)
			continue;
		if (children[node->parent] == 1)
			take_place(parent, node);
		else
			r = shorten(node);
	}
	free(children);
	return r;
}

/* ---- order ---- */

static int by_node(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static void count_tasks(struct build *build)
{
	if (build->named_count)
		qsort(build->named, build->named_count, sizeof(*build->named), by_node);
	for (size_t i = 0; i < build->named_count; i++)
		if (!i || by_node(&build->named[i - 1], &build->named[i]))
			build->tree->nodes[build->named[i].node].tasks++;
}

/* A node while the nodes are put in order. */
struct placed {
	uint64_t ns;
	uint32_t parent, index;
};

static int by_parent(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Puts each node with time behind its parent, the largest of siblings first. Children of a
 * parent are next to each other in `placed`; those of the root are the last.
 */
static int put_in_order(struct clew_tree *tree)
{
	struct placed *placed = calloc(tree->count + 1, sizeof(*placed));
	struct clew_tree_node *nodes = calloc(tree->count + 1, sizeof(*nodes));
	uint32_t *first = calloc(tree->count + 1, sizeof(*first));
	uint32_t *stack = calloc(tree->count + 1, sizeof(*stack));
	uint32_t *moved = calloc(tree->count + 1, sizeof(*moved));
	size_t top = 0, count = 0, kept = 0;

	if (!placed || !nodes || !first || !stack || !moved) {
		free(placed);
		free(nodes);
		free(first);
		free(stack);
		free(moved);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < tree->count; i++)
		if (tree->nodes[i].ns)
			placed[kept++] =
				(struct placed){tree->nodes[i].ns, tree->nodes[i].parent, i};
	qsort(placed, kept, sizeof(*placed), by_parent);
	/* Where the children of each begin; from the back, so that the first one is found last. */
	for (size_t i = kept; i > 0; i--)
		first[placed[i - 1].parent == CLEW_TREE_ROOT ? tree->count : placed[i - 1].parent] =
			(uint32_t)i;
	if (kept)
		stack[top++] = first[tree->count];
	/* A place on the stack is 1 + an index of `placed`, 0 none. */
	while (top) {
		uint32_t at = stack[--top], index, parent;

		if (!at)
			continue;
		index = placed[at - 1].index;
		parent = placed[at - 1].parent;
		moved[index] = (uint32_t)count;
		nodes[count] = tree->nodes[index];
		if (parent != CLEW_TREE_ROOT)
			nodes[count].parent = moved[parent];
		count++;
		if (at < kept && placed[at].parent == parent)
			stack[top++] = at + 1;
		if (first[index])
			stack[top++] = first[index];
	}
	free(tree->nodes);
	tree->nodes = nodes;
	tree->count = count;
	free(placed);
	free(first);
	free(stack);
	free(moved);
	return 0;
}

/* ---- making it ---- */

static int by_key(const void *a, const void *b)
{
	const struct grouped *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

static uint64_t group_key(const struct clew_trace *trace, const struct clew_relations *relations,
			  const struct clew_segment *segment)
{
	uint64_t key = clew_cause_key(trace, relations, segment);

	for (uint32_t i = 0; i < clew_hop_count(segment); i++)
		key = hash_mix(key, clew_hop_key(trace, segment, i));
	for (const struct clew_job_hop *hop = segment->job_hops; hop; hop = hop->up)
		key = hash_mix(hash_mix(key, (uintptr_t)hop->job), (uintptr_t)hop->waker);
	return key;
}

/* Segments of one key; `from` and `to` are places in the list that is sorted by it. */
struct group {
	const struct clew_segment *first;
	size_t from, to;
};

static int by_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Finds the groups in order of time. Groups of equal time are printed in this order. */
static size_t find_groups(const struct grouped *grouped, size_t count, struct group *groups)
{
	size_t found = 0;

	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && grouped[to].key == grouped[from].key;)
			to++;
		groups[found++] = (struct group){grouped[from].segment, from, to};
	}
	if (found)
		qsort(groups, found, sizeof(*groups), by_first);
	return found;
}

static int add_segments(struct build *build, const struct clew_why *why)
{
	const size_t count = why->segment_count;
	struct grouped *grouped = calloc(count + 1, sizeof(*grouped));
	struct group *groups = calloc(count + 1, sizeof(*groups));
	const struct clew_segment **same = calloc(count + 1, sizeof(*same));
	int r = grouped && groups && same ? 0 : -ENOMEM;
	size_t found;

	for (size_t i = 0; r >= 0 && i < count; i++)
		grouped[i] = (struct grouped){
			group_key(build->trace, build->relations, &why->segments[i]),
			&why->segments[i]};
	if (r >= 0)
		qsort(grouped, count, sizeof(*grouped), by_key);
	for (size_t i = 0; r >= 0 && i < count; i++)
		same[i] = grouped[i].segment;
	found = r >= 0 ? find_groups(grouped, count, groups) : 0;
	for (size_t i = 0; r >= 0 && i < found; i++)
		r = add_group(build, same + groups[i].from, groups[i].to - groups[i].from);
	/* Parts refer to `same`. */
	if (r >= 0)
		r = clew_largest_append(build->trace, &build->parts, build->tree->nodes);
	free(groups);
	free(grouped);
	free(same);
	return r;
}

int clew_tree_make(const struct clew_trace *trace, const struct clew_relations *relations,
		   const struct clew_why *why, enum clew_tree_detail detail,
		   struct clew_tree *ret_tree)
{
	struct build build = {.trace = trace,
			      .relations = relations,
			      .detail = detail,
			      .tree = ret_tree,
			      .parts = {.item = sizeof(struct clew_node_part)}};
	int r;

	*ret_tree = (struct clew_tree){.total = why->to - why->from};
	r = add_segments(&build, why);
	if (r >= 0) {
		count_tasks(&build);
		r = settle_ready(ret_tree);
	}
	if (r >= 0)
		r = put_in_order(ret_tree);
	map_done(&build.children);
	free(build.named);
	vector_done(&build.parts);
	if (r < 0)
		clew_tree_done(ret_tree);
	return r;
}

void clew_tree_done(struct clew_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		clew_phrase_done(&tree->nodes[i].phrase);
	free(tree->nodes);
	*tree = (struct clew_tree){};
}

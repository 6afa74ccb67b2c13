/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words about the largest part of a broad node. */
#include "answers/why/largest.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/why/details.h"
#include "words/describe.h"
#include "words/hops.h"
#include "words/link.h"
#include "words/source_file.h"

/* The words for a part, and its time. */
struct told {
	char *text;
	uint64_t ns;
};

int clew_largest_add(struct vector *parts, const struct clew_node_part *part)
{
	int r = vector_reserve(parts, parts->count + 1);

	if (r >= 0)
		((struct clew_node_part *)parts->data)[parts->count++] = *part;
	return r;
}

static int by_node(const void *left, const void *right)
{
	const struct clew_node_part *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->same < b->same ? -1 : a->same > b->same;
}

static void print_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (sleep && sleep->kind != CLEW_WAIT_SLEEP && clew_waits_for_object(sleep))
		clew_print_hop_wait(out, trace, sleep);
}

/* Prints what a part of a node is about; nothing where the node's words say all that is known. */
static void print_part(FILE *out, const struct clew_trace *trace, const struct clew_node_part *part)
{
	const struct clew_segment *segment = part->longest;
	struct object_description description;
	struct clew_object object;
	struct clew_hop_via via;

	if (part->place != UINT32_MAX) {
		via = clew_hop_via_behind(segment, part->place);
		if (via.type != CLEW_EDGE_EXIT)
			print_wait(out, trace, clew_hop_sleep(trace, segment, part->place));
		else
			clew_print_source_file(
				out, "(",
				clew_trace_task(trace, clew_hop_next(segment, part->place)));
	} else if (segment->link) {
		object = clew_link_object(segment->link);
		object_describe(trace, &object, NULL, &description);
		fputs(description.name, out);
	} else if (segment->kind != CLEW_SEGMENT_RUNNING &&
		   segment->kind != CLEW_SEGMENT_RUNQUEUE) {
		print_wait(out, trace, segment->sleep);
	}
}

static int longest_first(const void *left, const void *right)
{
	const struct told *a = left, *b = right;

	return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : strcmp(a->text, b->text);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(((const struct told *)left)->text, ((const struct told *)right)->text);
}

/* The kind of wait in the words of a broad node; NULL: it has none. */
static const char *kind_told(const struct clew_trace *trace, const struct clew_node_part *part)
{
	const struct clew_segment *segment = part->longest;
	const struct clew_sleep *sleep;

	if (part->place == UINT32_MAX)
		return segment->link ? NULL : clew_wait_kind_name(segment->kind);
	sleep = clew_hop_sleep(trace, segment, part->place);
	return sleep ? clew_wait_kind_name(sleep->kind) : NULL;
}

/* Puts `words` in the place of the last `kind` of a text, which is freed. */
static bool replace(char **text, const char *kind, const char *words)
{
	char *at = NULL, *next = *text, *made;

	while ((next = strstr(next, kind)))
		at = next++;
	if (!at ||
	    asprintf(&made, "%.*s%s%s", (int)(at - *text), *text, words, at + strlen(kind)) < 0)
		return false;
	free(*text);
	*text = made;
	return true;
}

/* Tells what all of a node has in common, in the place of its kind, or what most of it has. */
static int tell(struct clew_phrase *phrase, const char *kind, bool all, const char *text)
{
	char *after;

	if (all && kind &&
	    (replace(&phrase->after, kind, text) ||
	     (phrase->task == CLEW_NO_TASK && replace(&phrase->before, kind, text))))
		return 0;
	if (all && text[0] == '(') {
		if (asprintf(&after, "%s %s", phrase->after, text) < 0)
			return -ENOMEM;
	} else if (asprintf(&after, "%s, %s of it %s", phrase->after, all ? "all" : "most", text) <
		   0) {
		return -ENOMEM;
	}
	free(phrase->after);
	phrase->after = after;
	return 0;
}

/* `parts` are those of one node. */
static int tell_largest(const struct clew_trace *trace, const struct clew_node_part *parts,
			size_t count, struct clew_tree_node *node)
{
	struct told *told = calloc(count, sizeof(*told));
	size_t kept = 0;
	int r = told ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r >= 0; i++) {
		size_t size;
		FILE *out = open_memstream(&told[i].text, &size);

		if (!out) {
			r = -ENOMEM;
			continue;
		}
		print_part(out, trace, &parts[i]);
		r = fclose(out) ? -ENOMEM : 0;
		told[i].ns = parts[i].ns;
	}
	if (r >= 0) {
		qsort(told, count, sizeof(*told), by_text);
		for (size_t i = 1; i < count; i++) {
			if (!strcmp(told[kept].text, told[i].text)) {
				told[kept].ns += told[i].ns;
				free(told[i].text);
			} else {
				told[++kept] = told[i];
			}
		}
		kept++;
		qsort(told, kept, sizeof(*told), longest_first);
		if (told[0].text[0] && 2 * told[0].ns >= node->ns)
			r = tell(&node->phrase, kind_told(trace, parts), told[0].ns == node->ns,
				 told[0].text);
	}
	for (size_t i = 0; told && i < (r < 0 && !kept ? count : kept); i++)
		free(told[i].text);
	free(told);
	return r;
}

/* The functions of all samples of a running node. */
static int tell_functions(const struct clew_trace *trace, const struct clew_node_part *parts,
			  size_t count, struct clew_tree_node *node)
{
	const struct clew_segment **all;
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += parts[i].count;
	all = calloc(total + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	total = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < parts[i].count; k++)
			all[total++] = parts[i].same[k];
	node->phrase.after = clew_details_append(node->phrase.after, trace, all, total);
	free(all);
	return node->phrase.after ? 0 : -ENOMEM;
}

int clew_largest_append(const struct clew_trace *trace, struct vector *parts,
			struct clew_tree_node *nodes)
{
	struct clew_node_part *all = parts->data;
	int r = 0;

	if (parts->count)
		qsort(all, parts->count, sizeof(*all), by_node);
	for (size_t from = 0, to; from < parts->count && r >= 0; from = to) {
		struct clew_tree_node *node = &nodes[all[from].node];
		bool running = node->leaf && node->longest->kind == CLEW_SEGMENT_RUNNING;

		for (to = from + 1; to < parts->count && all[to].node == all[from].node;)
			to++;
		r = (running ? tell_functions : tell_largest)(trace, all + from, to - from, node);
	}
	return r;
}

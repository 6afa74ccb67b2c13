/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why each of the slowest operations took so long: one sentence, the time as an outline, and the
 * steps folded away.
 */
#include <errno.h>
#include <stdlib.h>

#include "answers/why/why_steps.h"
#include "answers/why/why_text.h"
#include "format/text.h"
#include "page/internal.h"
#include "words/task.h"

#define LINES 30 /* of an outline, with those around it that a terminal has */
#define WIDTH 100

static int put_outline(struct page *page, const struct page_operation *operation)
{
	const struct clew_why_view view = {.lines = LINES, .width = WIDTH};
	struct document *document = &page->document;
	const struct clew_why *why = &operation->why;
	struct clew_told told = {};
	struct clew_tree tree;
	size_t left_count, told_count;
	uint64_t left;
	int r = clew_why_make_tree(page->trace, page->report->relations, why, &view, &tree, &left,
				   &left_count);

	if (r < 0)
		return r;
	r = clew_tree_tell(page->trace, &tree, &told, 1, &told_count);
	if (r >= 0 && told_count) {
		document_put(document, "<p class=\"told\">");
		document_say(document, "%u %%: %s.", clew_percent(told.ns, why->to - why->from),
			     told.text);
		document_put(document, "</p>\n");
	}
	free(told.text);
	document_put(document, "<ul class=\"outline\">\n");
	for (size_t i = 0; i < tree.count; i++) {
		const struct clew_tree_node *node = &tree.nodes[i];
		bool cause = !node->leaf && !node->ready;

		if (!node->shown)
			continue;
		document_put(document,
			     "<li%s style=\"--depth:%u\"><b>%s</b><i class=\"k%u\"></i><span>",
			     node->longest->cycle ? " class=\"cycle\"" : "", node->depth,
			     CLEW_DURATION(node->ns),
			     cause ? PAGE_CLASS_COUNT : page_class_of_kind(node->longest->kind));
		clew_tree_print_words(document_words(document), page->trace, &tree, node);
		document_put(document, "</span></li>\n");
	}
	if (left && left_count)
		document_put(document,
			     "<li><b>%s</b><i></i><span>in %zu smaller parts</span></li>\n",
			     CLEW_DURATION(left), left_count);
	document_put(document, "</ul>\n");
	clew_tree_done(&tree);
	return r;
}

static void put_command(struct page *page, const struct page_operation *operation)
{
	const struct clew_operation *what = &operation->operation;
	const struct clew_trace_task *task = clew_trace_task(page->trace, what->task);
	struct document *document = &page->document;

	if (!task)
		return;
	document_put(document, "<p class=\"command\">As text: <code>clew why ");
	clew_print_safe(document_words(document), page->options->name);
	document_say(document, " --tid %u --from %llu --to %llu", task->tid,
		     (unsigned long long)what->from, (unsigned long long)what->to);
	document_put(document, "</code></p>\n");
}

static int put_operation(struct page *page, size_t number)
{
	const struct page_operation *operation = &page->operations[number];
	const struct clew_operation *what = &operation->operation;
	struct document *document = &page->document;
	uint64_t length = page->report->to - clew_trace_start(page->trace);
	int r;

	document_put(document, "<details class=\"why\" id=\"op%zu\"%s><summary>", number + 1,
		     number ? "" : " open");
	document_say(document, "Why ");
	clew_print_task(document_words(document), page->trace, what->task, what->to);
	document_say(document, " took %s, at +%s", CLEW_DURATION(what->to - what->from),
		     CLEW_OFFSET(what->from - clew_trace_start(page->trace), length));
	document_put(document, "</summary>\n");
	page_put_bar(page, operation->sums, true);
	r = put_outline(page, operation);
	if (operation->why.unknown_ns)
		document_put(document, "<p>%s of it cannot be followed in this capture.</p>\n",
			     CLEW_DURATION(operation->why.unknown_ns));
	if (clew_trace_gaps(page->trace, what->from, what->to, NULL))
		document_put(document,
			     "<p class=\"bad\">Records were lost in this time: what ended a wait "
			     "may be wrong or missing.</p>\n");
	if (r < 0)
		return r;
	document_put(document,
		     "<details class=\"steps\"><summary>%zu steps in order</summary><pre>",
		     operation->why.segment_count);
	r = clew_print_steps(document_words(document), page->trace, page->report->relations,
			     &operation->why, false);
	document_put(document, "</pre></details>\n");
	put_command(page, operation);
	document_put(document, "</details>\n");
	return r;
}

int page_put_why(struct page *page)
{
	int r = 0;

	document_put(&page->document, "<section id=\"why\" class=\"card\">\n");
	for (size_t i = 0; i < page->operation_count && r >= 0; i++)
		r = put_operation(page, i);
	document_put(&page->document, "</section>\n");
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slowest operations as a list, and how long all of them took as a histogram. */
#include "format/text.h"
#include "page/internal.h"
#include "words/task.h"

#define HEIGHT 56 /* pixels of the histogram's bars */

static void put_histogram(struct page *page)
{
	const struct page_histogram *histogram = &page->histogram;
	struct document *document = &page->document;
	size_t most = 0;

	if (histogram->count < 2 || histogram->least == histogram->greatest)
		return;
	for (unsigned i = 0; i < PAGE_BUCKETS; i++)
		most = histogram->counts[i] > most ? histogram->counts[i] : most;
	document_put(
		document,
		"<div class=\"spread\"><svg class=\"histogram\" viewBox=\"0 0 %u %u\" role=\"img\" "
		"preserveAspectRatio=\"none\" aria-label=\"%zu operations from %s to %s, half "
		"of them at most %s\">",
		PAGE_BUCKETS * 10, HEIGHT, histogram->count, CLEW_DURATION(histogram->least),
		CLEW_DURATION(histogram->greatest), CLEW_DURATION(histogram->p50));
	for (unsigned i = 0; i < PAGE_BUCKETS; i++) {
		double height = HEIGHT * (double)histogram->counts[i] / (double)most;

		if (!histogram->counts[i])
			continue;
		/* Few of them are seen, too. */
		height = height < 2 ? 2 : height;
		document_put(document,
			     "<rect x=\"%u\" y=\"%.1f\" width=\"9\" height=\"%.1f\"><title>%zu "
			     "operations</title></rect>",
			     i * 10, HEIGHT - height, height, histogram->counts[i]);
	}
	document_put(document,
		     "</svg><div class=\"axis\"><span>%s</span><span>logarithmic; half of them "
		     "&le; %s</span><span>%s</span></div></div>\n",
		     CLEW_DURATION(histogram->least), CLEW_DURATION(histogram->p50),
		     CLEW_DURATION(histogram->greatest));
}

void page_put_slowest(struct page *page)
{
	struct document *document = &page->document;

	if (!page->operation_count)
		return;
	document_put(document, "<section class=\"card slowest\"><h2>");
	if (page->threads)
		document_say(document, "No operations; the longest lives of its threads");
	else
		document_say(document, "The slowest of %zu operations", page->histogram.count);
	document_put(document,
		     "</h2>\n<table id=\"slowest\"><col class=\"n\"><col class=\"b\"><col>");
	for (size_t i = 0; i < page->operation_count; i++) {
		const struct clew_operation *what = &page->operations[i].operation;

		document_put(document,
			     "<tr><td class=\"n\"><a href=\"#op%zu\">%s</a></td><td class=\"w\">",
			     i + 1, CLEW_DURATION(what->to - what->from));
		page_put_bar(page, page->operations[i].sums, false);
		document_put(document, "</td><td>");
		clew_print_task_name(document_words(document), page->trace, what->task, what->to);
		document_put(document, "</td></tr>\n");
	}
	document_put(document, "</table>\n");
	put_histogram(page);
	document_put(document, "</section>\n");
}
